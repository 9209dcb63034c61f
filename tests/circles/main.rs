//! A fallback that leads back to the dependency that failed keeps the process from starting. In a binary of its own: what
//! is linked here is refused for every runtime that is installed.

#![allow(clippy::unused_async)] // a fallback is async

use resilience_runtime::{Failure, Policy, Runtime, bulkhead, fallback, timeout};

type Answer = Result<u32, Failure<std::io::Error>>;

/// By two functions: the seat map from the replica, and the replica's report from the seat map.
#[timeout("seatmap")]
#[fallback(from_report)]
#[fallback(none = "no map")]
async fn map(show: u32) -> Answer {
    Ok(show)
}

#[timeout("replica")]
#[fallback(with = self::further::from_map)]
async fn from_report(show: u32) -> Answer {
    Ok(show)
}

mod further {
    use super::{Answer, Failure, bulkhead, fallback};

    #[bulkhead("seatmap")]
    #[fallback(none = "the end")]
    pub(super) async fn from_map(show: u32, _: Failure<Failure<std::io::Error>>) -> Answer {
        Ok(show)
    }
}

/// At once, by a method.
struct Hall;

impl Hall {
    #[timeout("replica")]
    #[fallback(Self::again)]
    async fn report(&self) -> Answer {
        Ok(1)
    }

    #[timeout("replica")]
    #[fallback(value = 0)]
    async fn again(&self) -> Answer {
        Ok(2)
    }
}

/// None: another dependency's function, and a function of ours that only has the name of a guarded one.
struct Lobby;

impl Lobby {
    #[timeout("seatmap")]
    #[fallback(Self::again)]
    async fn seats(&self) -> Answer {
        Ok(1)
    }

    async fn again(&self) -> Answer {
        Ok(3)
    }
}

mod elsewhere {
    use super::{Answer, fallback, timeout};

    #[timeout("seatmap")]
    #[fallback(map)]
    pub(super) async fn seats(_: u32) -> Answer {
        Ok(1)
    }

    async fn map(_: u32) -> Answer {
        Ok(4)
    }
}

#[tokio::test]
async fn a_fallback_that_leads_back_is_refused_at_install_with_the_path() {
    let policy = Policy::from_toml(
        "version = 1\n[defaults]\ntimeout = \"1s\"\n[dependency.seatmap]\nfail = \"open\"\nbulkhead.max_concurrent = 1\n\
         [dependency.replica]\nfail = \"open\"\n",
    )
    .unwrap();
    let runtime = Runtime::new(policy);
    let refused = runtime.install().unwrap_err();
    let ways: Vec<_> = refused
        .circles()
        .iter()
        .map(|circle| (circle.dependencies().join(" → "), circle.functions().join(" → ")))
        .collect();
    let expected = [
        ("replica → replica", "circles::Hall::report → circles::Hall::again"),
        (
            "seatmap → replica → seatmap",
            "circles::map → circles::from_report → circles::further::from_map",
        ),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(by, way)| ((*by).to_owned(), (*way).to_owned()))
        .collect();
    assert_eq!(ways, expected);
    let shown = refused.to_string();
    assert!(
        shown.contains("leads back to what failed: seatmap → replica → seatmap"),
        "{shown}"
    );
    assert!(shown.contains("tests/circles/main.rs:"), "{shown}");
    assert!(!shown.contains("elsewhere") && !shown.contains("Lobby"), "{shown}");

    // A scope is not a start: what is guarded works, for tests of the one function.
    let answers = runtime
        .scope(async {
            (
                map(1).await,
                Hall.report().await,
                Lobby.seats().await,
                elsewhere::seats(1).await,
            )
        })
        .await;
    assert_eq!(
        answers.0.unwrap() + answers.1.unwrap() + answers.2.unwrap() + answers.3.unwrap(),
        4
    );
}
