//! Classes of outcome, and what is safe when calls are left or overlap.

use std::io;

use resilience_runtime::{Classify, Failure, FailureKind, Outcome, Rejection};

use crate::kit::{FarError, LAST_TWENTY, Script, call, guard, ms, poll_once, slots, state, window};

#[derive(Debug, Classify)]
enum PayError {
    #[classify(business)]
    Declined,
    #[classify(timeout)]
    TooLate,
    #[classify(connect)]
    Refused,
    #[classify(server)]
    Status(#[allow(dead_code)] u16), // read by nobody here: its class is what counts
    #[classify(protocol)]
    Garbled,
    #[classify(other)]
    Odd,
    #[classify(throttled)]
    Busy,
    #[classify(throttled(retry_after = 0))]
    BusyFor(std::time::Duration),
    #[classify(ignored)]
    Nested,
    #[classify(transparent)]
    Io(io::Error),
    #[classify(with = by_status)]
    Raw { status: u16 },
}

#[allow(clippy::trivially_copy_pass_by_ref)] // `with` hands every field over by reference
fn by_status(status: &u16) -> Outcome {
    if *status < 500 {
        Outcome::Business
    } else {
        Outcome::Failure(FailureKind::Server)
    }
}

#[test]
fn gm_r02_every_error_is_in_one_of_the_classes_where_it_is_declared() {
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let table = [
        (PayError::Declined, Outcome::Business),
        (PayError::TooLate, Outcome::Failure(FailureKind::Timeout)),
        (PayError::Refused, Outcome::Failure(FailureKind::Connect)),
        (PayError::Status(502), Outcome::Failure(FailureKind::Server)),
        (PayError::Garbled, Outcome::Failure(FailureKind::Protocol)),
        (PayError::Odd, Outcome::Failure(FailureKind::Other)),
        (PayError::Busy, Outcome::Throttled { retry_after: None }),
        (
            PayError::BusyFor(ms(30)),
            Outcome::Throttled {
                retry_after: Some(ms(30)),
            },
        ),
        (PayError::Nested, Outcome::Ignored),
        (PayError::Io(refused()), Outcome::Failure(FailureKind::Connect)),
        (PayError::Raw { status: 404 }, Outcome::Business),
        (PayError::Raw { status: 503 }, Outcome::Failure(FailureKind::Server)),
    ];
    for (error, expected) in table {
        assert_eq!(error.classify(), expected, "{error:?}");
    }
    assert_eq!(Failure::Error(PayError::Declined).classify(), Outcome::Business);
}

#[tokio::test(start_paused = true)]
async fn gm_r02_a_rejection_is_ignored_however_it_is_wrapped() {
    let (runtime, guard) = guard("timeout = \"1s\"\nbreaker.window = \"20 calls\"");
    runtime.scope(async { resilience_runtime::testing::trip("far") }).await;
    let Err(Failure::Rejected(rejection)) = guard.call(|| async { Ok::<(), FarError>(()) }).await else {
        panic!("open")
    };
    let again: Rejection = rejection.clone();
    assert_eq!(rejection.classify(), Outcome::Ignored);
    assert_eq!(Failure::<FarError>::Rejected(rejection).classify(), Outcome::Ignored);
    assert_eq!(PayError::Io(io::Error::from(again)).classify(), Outcome::Ignored);
}

#[tokio::test(start_paused = true)]
async fn gm_r25_a_call_may_be_left_at_any_of_its_polls() {
    let lines = format!(
        "{LAST_TWENTY}bulkhead.max_concurrent = 1\nretry.max_attempts = 3\nretry.backoff = \"0s\"\nretry.budget_floor = 10000.0"
    );
    let (runtime, guard) = guard(&lines);
    // Each attempt takes ten polls; the first two of a call fail.
    let steps = |attempt: usize| async move {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        if attempt < 2 {
            Err(FarError::Failed(FailureKind::Server))
        } else {
            Ok(attempt)
        }
    };
    let mut results = 0;
    for polls in 0..50 {
        let mut attempts = 0;
        let mut left = Box::pin(guard.call(|| {
            attempts += 1;
            steps(attempts - 1)
        }));
        let ended = (0..polls).any(|_| poll_once(left.as_mut()).is_ready());
        drop(left);
        assert_eq!(ended, polls > 30, "{polls}");
        assert_eq!((slots(&runtime), state(&runtime)), ((0, 0), "closed"), "{polls}");
        // Attempts that ended are counted, the one that was left is not.
        results += attempts.saturating_sub(usize::from(!ended));
        assert_eq!(window(&runtime) as usize, results.min(20), "{polls}");
        if results > 8 {
            runtime.scope(async { resilience_runtime::testing::reset("far") }).await;
            results = 0;
        }
    }
    assert_eq!(call(&guard, &Script::new("S")).await, "ok");
}
