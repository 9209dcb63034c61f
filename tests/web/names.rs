//! No text that a client may get names a dependency, an operation, a host or a file of ours.

#![allow(clippy::unused_async)] // a fallback is async

use std::fmt::Write as _;
use std::io;

use axum::body::to_bytes;
use axum::response::{IntoResponse, Response};
use resilience_runtime::tower::DegradedLayer;
use resilience_runtime::{
    Classify, Failure, Mode, Outcome, Override, Reason, Rejection, Runtime, breaker, bulkhead, fallback, testing,
};
use tower_layer::Layer;
use tower_service::Service;

use crate::kit::{Script, parse, secs};

/// What is searched for: its name, and every other word that begins with `zz`.
const POLICY: &str = r#"
version = 1
[dependency.seatmap]
fail = "open"
about = "zzabout"
agreed = "zzagreed"
timeout = "1s"
deadline = "2s"
throttle = "dependency"
breaker.cooldown = "30s"
bulkhead.max_concurrent = 1
fallback.max_stale = "5m"
[dependency.seatmap.operation.zzhall]
timeout = "2s"
"#;

/// A client error as they are: with the host, the port and a file in it.
#[derive(Debug)]
struct ClientError(Outcome);

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cannot reach zzhost.internal:5432 with /etc/zzfile.pem")
    }
}

impl Classify for ClientError {
    fn classify(&self) -> Outcome {
        self.0
    }
}

fn outcomes() -> Vec<Outcome> {
    use resilience_runtime::FailureKind::{Connect, Other, Protocol, Server, Timeout};
    let mut all: Vec<_> = [Timeout, Connect, Server, Protocol, Other].map(Outcome::Failure).into();
    all.extend([Outcome::Success, Outcome::Business, Outcome::Ignored]);
    all.extend([None, Some(secs(7))].map(|retry_after| Outcome::Throttled { retry_after }));
    all
}

/// Status line, headers and body.
async fn text(response: Response) -> String {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, 4096).await.unwrap();
    format!(
        "{} {:?} {}",
        parts.status,
        parts.headers,
        String::from_utf8(body.to_vec()).unwrap()
    )
}

fn assert_clean(text: &str, from: &str) {
    for word in [
        "seatmap",
        "zz",
        ".toml",
        ".rs",
        "127.0.0.1",
        "localhost",
        "://",
        "/etc",
        "5432",
    ] {
        assert!(!text.contains(word), "`{word}` from {from} in: {text}");
    }
}

#[tokio::test]
async fn sc_r03_no_text_of_a_rejection_names_anything_of_ours() {
    for dependency in ["seatmap", "seatmap.zzhall"] {
        for reason in Reason::ALL {
            for wait in [None, Some(secs(30))] {
                let rejection = testing::rejection(dependency, *reason, wait);
                let failure: Failure<io::Error> = rejection.clone().into();
                let mut shown = format!("{rejection} {failure} {}", io::Error::from(rejection.clone()));
                let _ = write!(shown, " {reason} {}", reason.as_str());
                assert!(std::error::Error::source(&rejection).is_none());
                shown.push_str(&text(rejection.into_response()).await);
                shown.push_str(&text(failure.into_response()).await);
                assert_clean(&shown, &format!("{reason}"));
            }
        }
    }
}

#[tokio::test]
async fn sc_r03_no_response_to_a_failed_call_repeats_what_the_client_said() {
    for outcome in outcomes() {
        let shown = text(Failure::Error(ClientError(outcome)).into_response()).await;
        assert_clean(&shown, &format!("{outcome:?}"));
    }
}

type Answer = Result<u32, Failure<io::Error>>;

macro_rules! forms {
    ($($name:ident: $($form:meta),+;)+) => {
        $(
            #[breaker("seatmap")]
            #[bulkhead]
            $(#[$form])+
            async fn $name(script: &Script) -> Answer {
                script.run().await.map_err(|_| io::Error::other("zzhost.internal refused"))?;
                Ok(1)
            }
        )+

        /// One call of each function.
        async fn each(script: &Script) -> Vec<(&'static str, Answer)> {
            vec![$((stringify!($name), $name(script).await)),+]
        }
    };
}

async fn spare(_: &Script) -> Answer {
    Ok(2)
}

async fn dry(_: &Script) -> Answer {
    Err(io::Error::other("zzspare.internal is down").into())
}

async fn told(_: &Script, _: Failure<Failure<io::Error>>) -> Answer {
    Ok(3)
}

fn refusal(rejection: Rejection) -> Failure<io::Error> {
    rejection.into()
}

forms! {
    by_value: fallback(value = 0);
    by_path: fallback(spare);
    by_dry_path: fallback(dry);
    by_with: fallback(with = told);
    by_stale: fallback(stale(shared));
    by_stale_and_value: fallback(stale(shared)), fallback(value = 0);
    by_refusal: fallback(refuse = refusal);
    by_none: fallback(none = "zzreason");
}

/// A service that makes one call of each function and answers as a handler would.
#[derive(Clone)]
struct Handler(Script);

impl Service<()> for Handler {
    type Response = http::Response<String>;
    type Error = std::convert::Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>>>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let script = self.0.clone();
        Box::pin(async move {
            let mut shown = String::new();
            for (form, answer) in each(&script).await {
                match answer {
                    Ok(value) => {
                        let _ = write!(shown, "{value} ");
                    }
                    Err(failure) => {
                        // `Display` of a call's own error is the client library's; only a rejection's may be sent.
                        if let Some(rejection) = failure.rejection() {
                            shown.push_str(&rejection.to_string());
                        }
                        let response = text(failure.into_response()).await;
                        assert_clean(&response, form);
                        shown.push_str(&response);
                    }
                }
            }
            Ok(http::Response::new(shown))
        })
    }
}

async fn serve(script: &str) -> String {
    let response = DegradedLayer::new()
        .layer(Handler(Script::new(script)))
        .call(())
        .await
        .unwrap();
    format!("{:?} {}", response.headers(), response.body())
}

#[tokio::test(start_paused = true)]
async fn sc_r03_whatever_happens_under_whatever_form_nothing_of_ours_gets_out() {
    for steps in ["F", "C", "T", "H", "X", "O", "Q30s", "I"] {
        let runtime = Runtime::new(parse(POLICY));
        assert_clean(&runtime.scope(serve(steps)).await, steps);
    }
    let runtime = Runtime::new(parse(POLICY));
    runtime
        .scope(async {
            testing::trip("seatmap");
            assert_clean(&serve("S").await, "open");
            testing::reset("seatmap");
            let mut isolate = Override::new(Mode::Isolate, "zzby", "zzwhy", secs(60));
            isolate.answer = Some("zzanswer".to_owned());
            runtime.set_mode("seatmap", isolate).unwrap();
            let shown = serve("S").await;
            assert!(
                shown.contains("not available at the moment, try again in 60 s"),
                "{shown}"
            );
            assert_clean(&shown, "isolated");
        })
        .await;
}
