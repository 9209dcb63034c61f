//! Stagedoor: what a refused caller is told, and that it is true.

use resilience_runtime::{Failure, Reason, Rejection, available, testing};

use crate::kit::{Clock, Gate, LAST_TWENTY, Script, call, calls, guard, ms, secs, settle, state};

/// What a `Retry-After` header would say: whole seconds, rounded up.
fn header(rejection: &Rejection) -> u64 {
    u64::try_from(rejection.retry_after().unwrap().as_nanos().div_ceil(1_000_000_000)).unwrap()
}

fn refused<T: std::fmt::Debug>(result: Result<T, Failure<crate::kit::FarError>>) -> Rejection {
    match result {
        Err(Failure::Rejected(rejection)) => rejection,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn sd_r15_a_refused_checkout_is_told_what_is_left_of_the_cooldown() {
    let (_, guard) = guard(LAST_TWENTY);
    let script = Script::new("F");
    let clock = Clock::start();
    calls(&guard, &script, 20).await;
    clock.at(ms(6_600)).await;
    let rejection = refused(guard.call(|| script.run()).await);
    assert_eq!((rejection.retry_after(), header(&rejection)), (Some(ms(23_400)), 24));
    assert!(rejection.to_string().contains("24"), "{rejection}");
}

#[tokio::test(start_paused = true)]
async fn sd_r20_refused_and_timed_out_are_told_apart_by_type() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new("H");
    let cut = refused(guard.call(|| script.run()).await);
    assert_eq!((cut.reason(), cut.retry_after()), (Reason::TimedOut, None));
    runtime.scope(async { testing::trip("far") }).await;
    let open = refused(guard.call(|| script.run()).await);
    assert_eq!((open.reason(), open.retry_after()), (Reason::Open, Some(secs(30))));
    // An exhausted retry ends as what its last attempt was.
    let (_, patient) = crate::kit::guard("timeout = \"1s\"\nretry.max_attempts = 3\nretry.backoff = \"0s\"");
    let last = refused(patient.call(|| script.run()).await);
    assert_eq!((last.reason(), script.starts()), (Reason::TimedOut, 4));
}

#[tokio::test(start_paused = true)]
async fn sd_r21_every_header_obeyed_meets_a_trial_within_a_second() {
    let (_, guard) = guard(LAST_TWENTY);
    let script = Script::new("F");
    let clock = Clock::start();
    calls(&guard, &script, 20).await;
    let mut told = 0;
    for moment in (0..30_000).step_by(137) {
        clock.at(ms(moment)).await;
        let back = clock.now() + secs(header(&refused(guard.call(|| script.run()).await)));
        assert!(
            (secs(30)..secs(31)).contains(&back),
            "told at {moment} ms to come back at {back:?}"
        );
        told += 1;
    }
    assert_eq!((told, script.starts()), (219, 20));
}

#[tokio::test(start_paused = true)]
async fn sd_r30_the_refusal_carries_the_exact_time_until_half_open() {
    let (_, guard) = guard(LAST_TWENTY);
    let script = Script::new("20*F S");
    let clock = Clock::start();
    calls(&guard, &script, 20).await;
    clock.at(ms(12_345)).await;
    let rejection = refused(guard.call(|| script.run()).await);
    let reopens = clock.now() + rejection.retry_after().unwrap();
    assert_eq!(reopens, secs(30));
    clock.at(reopens).await;
    assert_eq!(call(&guard, &script).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn sd_r43_while_a_trial_runs_the_others_are_told_what_is_left_of_it() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new("20*F H");
    let clock = Clock::start();
    calls(&guard, &script, 20).await;
    clock.at(secs(33)).await;
    let (trial, body) = (guard.clone(), script.clone());
    let trial = tokio::spawn(async move { call(&trial, &body).await });
    settle().await;
    clock.at(ms(33_500)).await;
    let rejection = refused(guard.call(|| script.run()).await);
    assert_eq!(
        (rejection.reason(), rejection.retry_after()),
        (Reason::ProbesBusy, Some(ms(2_500)))
    );
    assert_eq!(header(&rejection), 3);
    assert_eq!(state(&runtime), "half_open");
    clock.at(ms(35_999)).await;
    assert_eq!(header(&refused(guard.call(|| script.run()).await)), 1, "never nothing");
    assert_eq!(trial.await.unwrap(), "timed_out");
}

#[tokio::test(start_paused = true)]
async fn sd_r43_nobody_is_told_to_come_back_in_no_time_even_as_the_trial_ends() {
    let (runtime, guard) = guard(LAST_TWENTY);
    runtime.scope(async { testing::trip("far") }).await;
    tokio::time::sleep(secs(30)).await;
    // Whoever waits for the same moment first is woken first: before the trial knows that its time is up.
    let (clock, early) = (Clock::start(), guard.clone());
    let at_the_end = clock.at(secs(3));
    let told = tokio::spawn(async move {
        at_the_end.await;
        refused(early.call(|| async { Ok::<(), crate::kit::FarError>(()) }).await)
    });
    settle().await;
    let trial = tokio::spawn(async move { call(&guard, &Script::new("H")).await });
    let rejection = told.await.unwrap();
    assert_eq!(trial.await.unwrap(), "timed_out");
    assert_eq!(
        (clock.now(), rejection.reason(), header(&rejection)),
        (secs(3), Reason::ProbesBusy, 1)
    );
    assert!(rejection.to_string().contains("in 1 s"), "{rejection}");
}

#[tokio::test(start_paused = true)]
async fn sc_r03_what_a_client_may_see_names_nothing_and_what_we_see_names_all() {
    let (runtime, guard) = guard(&format!("label = \"payments\"\n{LAST_TWENTY}"));
    runtime.scope(async { testing::trip("far") }).await;
    let script = Script::new("S");
    let rejection = refused(guard.call(|| script.run()).await);
    let shown = rejection.to_string();
    assert!(!shown.contains("far") && !shown.contains("payments"), "{shown}");
    assert_eq!((rejection.dependency(), rejection.label()), ("far", Some("payments")));
    assert!(format!("{rejection:?}").contains("far"), "{rejection:?}");
}

#[tokio::test(start_paused = true)]
async fn mb_r19_the_button_knows_before_the_card_number_is_typed_and_takes_nothing() {
    let (runtime, guard) = guard(&format!("{LAST_TWENTY}bulkhead.max_concurrent = 1"));
    let gate = Gate::new("S");
    runtime
        .clone()
        .scope(async move {
            assert!(available("far"));
            let mut held = Box::pin(guard.call(|| gate.run()));
            assert!(crate::kit::poll_once(held.as_mut()).is_pending());
            assert!(!available("far"), "no slot");
            drop(held);
            testing::trip("far");
            assert!(!available("far"), "open");
            tokio::time::sleep(secs(30)).await;
            for _ in 0..10 {
                assert!(available("far"), "asking takes no trial");
            }
            assert!(!available("nobody"), "an unknown name");
        })
        .await;
    assert_eq!(state(&runtime), "half_open");
}
