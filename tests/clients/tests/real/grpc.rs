//! tonic: codes, pushback, and what is left when there is no answer.

use std::time::{Duration, Instant};

use resilience_runtime::{Classify, Failure, Outcome, breaker, fallback, retry};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use crate::far::{Far, ask, send};
use crate::{CONNECT, PROTOCOL, SERVER, TIMEOUT};

fn class(answer: Result<String, Status>) -> Outcome {
    answer.unwrap_err().classify()
}

#[tokio::test]
async fn codes_from_a_real_server_count_as_the_http_status_for_them() {
    let far = Far::start();
    let channel = far.channel();
    assert_eq!(ask(&channel, "0").await.unwrap(), "well");
    for number in [3, 5, 6, 7, 9, 10, 11, 16] {
        assert_eq!(
            class(ask(&channel, &number.to_string()).await),
            Outcome::Business,
            "{number}"
        );
    }
    for number in [2, 12, 13, 14, 15] {
        assert_eq!(class(ask(&channel, &number.to_string()).await), SERVER, "{number}");
    }
    assert_eq!(class(ask(&channel, "1").await), Outcome::Ignored);
    assert_eq!(class(ask(&channel, "4").await), TIMEOUT);
    assert_eq!(
        class(ask(&channel, "8").await),
        Outcome::Throttled { retry_after: None }
    );
}

#[tokio::test]
async fn pushback_arrives_with_the_status() {
    let far = Far::start();
    let channel = far.channel();
    let told = Outcome::Throttled {
        retry_after: Some(Duration::from_millis(250)),
    };
    assert_eq!(class(ask(&channel, "8 250").await), told);
    assert_eq!(class(ask(&channel, "14 250").await), told);
    assert_eq!(class(ask(&channel, "13 250").await), SERVER);
    assert_eq!(class(ask(&channel, "14 -1").await), SERVER);
}

#[tokio::test]
async fn nobody_listening_is_connect_by_either_way_of_connecting() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{free}")).unwrap();
    let error = endpoint.connect().await.unwrap_err();
    assert_eq!(error.classify(), CONNECT);
    let answer = ask(&endpoint.connect_lazy(), "0").await;
    assert_eq!(answer.as_ref().unwrap_err().code(), Code::Unavailable);
    assert_eq!(class(answer), CONNECT);
}

#[tokio::test]
async fn a_server_that_dies_under_a_call_is_connect() {
    let far = Far::start();
    let channel = far.channel();
    ask(&channel, "0").await.unwrap();
    let call = tokio::spawn({
        let channel = channel.clone();
        async move { ask(&channel, "hang").await }
    });
    // The call has reached the server once a later one on the same connection was answered.
    ask(&channel, "0").await.unwrap();
    drop(far);
    assert_eq!(class(call.await.unwrap()), CONNECT);
}

#[tokio::test]
async fn a_server_that_hangs_runs_into_the_clients_own_timeout() {
    let far = Far::start();
    let mut request = Request::new("hang".to_owned());
    request.set_timeout(Duration::from_millis(50));
    assert_eq!(class(send(&far.channel(), request).await), TIMEOUT);
}

#[tokio::test]
async fn what_does_not_speak_http_2_is_no_business_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello, who is there?").await;
        }
    });
    let channel = Endpoint::from_shared(address).unwrap().connect_lazy();
    let class = class(ask(&channel, "0").await);
    assert!([CONNECT, PROTOCOL].contains(&class), "{class:?}");
}

#[breaker("far")]
#[retry]
#[fallback(none = "the caller asks again")]
async fn guarded(channel: &Channel, for_what: &str) -> Result<String, Failure<Status>> {
    Ok(ask(channel, for_what).await?)
}

#[tokio::test]
async fn a_guarded_call_comes_back_when_it_was_told_to_and_not_before() {
    let far = Far::start();
    let channel = far.channel();
    let began = Instant::now();
    let error = guarded(&channel, "8 300").await.unwrap_err();
    assert_eq!(error.into_error().unwrap().code(), Code::ResourceExhausted);
    assert!(
        began.elapsed() >= Duration::from_millis(300),
        "two attempts, 300 ms apart"
    );
    // Throttled counts neither way: what follows is served as if nothing had been.
    assert_eq!(guarded(&channel, "0").await.unwrap(), "well");
}
