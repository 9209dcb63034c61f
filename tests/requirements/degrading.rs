//! What a caller gets instead: who decided it, what bounds it, and how anybody sees that it happened.

use std::time::Duration;

use resilience_runtime::testing::{self, record};
use resilience_runtime::{
    Failure, Freshness, Mode, Override, Policy, Reason, Rejection, Runtime, Served, breaker, bulkhead, degraded,
    fallback,
};

use crate::kit::{Clock, FarError, Gate, Script, ms, parse, secs};

fn open(lines: &str) -> Runtime {
    Runtime::new(parse(&format!(
        "version = 1\n[defaults]\ntimeout = \"1s\"\nbreaker = {{ window = \"4 calls\", cooldown_jitter = 0.0 }}\n\
         bulkhead.max_concurrent = 10\n[dependency.seatmap]\nfail = \"open\"\n{lines}\n"
    )))
}

fn failures(runtime: &Runtime) -> Option<u64> {
    runtime
        .snapshot()
        .dependency("seatmap")
        .unwrap()
        .fallbacks
        .get("value")
        .copied()
}

#[breaker("seatmap")]
#[fallback(stale(key = article))]
#[fallback(none = "no stock is shown")]
async fn stock(script: &Script, article: u32) -> Result<Served<(u32, usize)>, FarError> {
    script.run().await.map(|run| Served::fresh((article, run)))
}

#[tokio::test(start_paused = true)]
async fn rt_r03_fb_r03_the_last_known_stock_is_shown_with_its_age_and_within_its_bound() {
    open("fallback.max_stale = \"4h\"")
        .scope(async {
            let script = Script::new("S F");
            assert_eq!(stock(&script, 7).await.unwrap().freshness, Freshness::Fresh);
            let clock = Clock::start();
            for (at, shown) in [(secs(60), true), (secs(4 * 3_600), true), (secs(4 * 3_600 + 1), false)] {
                clock.at(at).await;
                testing::reset("seatmap");
                let answer = stock(&script, 7)
                    .await
                    .ok()
                    .map(|served| (served.value, served.freshness));
                assert_eq!(
                    answer,
                    shown.then_some(((7, 1), Freshness::Stale { age: at })),
                    "{at:?}"
                );
            }
            assert!(stock(&script, 8).await.is_err(), "of another article nothing is known");
        })
        .await;
}

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "the order stays pending; the buyer decides whether to try again")]
async fn charge(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

#[tokio::test(start_paused = true)]
async fn rt_r06_rt_r07_a_charge_is_refused_at_once_and_is_not_kept_for_later() {
    let runtime = Runtime::new(parse(
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"3s\"\nbreaker = {}\n\
         bulkhead = { max_concurrent = 1, max_waiting = 10, max_wait = \"1s\" }\n",
    ));
    runtime
        .scope(async {
            let script = Script::new("S/500ms");
            let clock = Clock::start();
            let (running, refused) = tokio::join!(charge(&script), async {
                testing::trip("payrail");
                // All slots are taken and there would be a line: who would be refused in the end does not stand in it.
                (charge(&script).await, clock.now())
            });
            assert_eq!(
                (running, refused),
                (Ok(1), (Err(FarError::Rejected("open")), Duration::ZERO))
            );
            tokio::time::advance(secs(1_200)).await;
            assert_eq!(script.starts(), 1, "twenty minutes later nothing was charged");
        })
        .await;
}

#[breaker("seatmap")]
#[fallback(value = ())]
async fn track(script: &Script) -> Result<(), FarError> {
    script.run().await.map(|_| ())
}

#[tokio::test(start_paused = true)]
async fn rt_r13_telemetry_is_dropped_in_silence_and_counted() {
    let runtime = open("");
    runtime
        .scope(async {
            let script = Script::new("F H P");
            assert_eq!((track(&script).await, track(&script).await), (Ok(()), Ok(())));
            assert_eq!(failures(&runtime), Some(2));
            assert!((runtime.snapshot().dependency("seatmap").unwrap().degraded_ratio - 1.0).abs() < 1e-9);
        })
        .await;
}

#[test]
fn rt_r16_sc_r05_there_is_no_silent_default_for_who_fails_open() {
    for (text, key) in [
        (
            "version = 1\n[dependency.login]\ntimeout = \"1s\"\n",
            "dependency.login.fail",
        ),
        (
            "version = 1\n[defaults]\nfail = \"open\"\n[dependency.login]\ntimeout = \"1s\"\n",
            "defaults.fail",
        ),
        (
            "version = 1\n[template.t]\nfail = \"open\"\n[dependency.login]\ninherits = \"t\"\ntimeout = \"1s\"\n",
            "template.t.fail",
        ),
    ] {
        let refused = Policy::from_toml(text).unwrap_err();
        assert!(refused.faults().iter().any(|fault| fault.key() == key), "{refused}");
    }
}

async fn from_elsewhere(_: &Script, elsewhere: &Gate) -> Result<usize, FarError> {
    elsewhere.run().await
}

#[breaker("seatmap")]
#[fallback(from_elsewhere)]
#[fallback(value = 0)]
async fn seats(script: &Script, elsewhere: &Gate) -> Result<usize, FarError> {
    let _ = elsewhere;
    script.run().await
}

#[tokio::test(start_paused = true)]
async fn fb_r04_fb_r09_a_slow_fallback_is_cut_by_its_own_time_and_told_with_the_first_cause() {
    open("fallback.timeout = \"200ms\"")
        .scope(async {
            let (script, shut) = (Script::new("C"), Gate::new("S"));
            let clock = Clock::start();
            let (answer, events) = record(seats(&script, &shut)).await;
            assert_eq!((answer, clock.now()), (Ok(0), ms(200)));
            let failed: Vec<_> = events
                .iter()
                .filter(|event| event.name() == "fallback.failed")
                .collect();
            assert_eq!(failed.len(), 1);
            let field = |name| failed[0].field(name);
            assert_eq!((field("kind"), field("first")), (Some("path"), Some("connect")));
            assert_eq!((failed[0].dependency(), field("function")), ("seatmap", Some("seats")));
            // The first cause is what the answer that came after it is told by, too.
            let (_, parts) = degraded::collect(seats(&script, &shut)).await;
            assert_eq!((parts[0].kind(), parts[0].reason()), ("value", "connect"));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn fb_r09_the_error_of_a_fallback_does_not_hide_that_the_breaker_was_open() {
    open("")
        .scope(async {
            testing::trip("seatmap");
            let broken = Gate::new("F");
            broken.open(1);
            let (answer, events) = record(seats(&Script::new("S"), &broken)).await;
            assert_eq!(answer, Ok(0));
            let failed = events.iter().find(|event| event.name() == "fallback.failed").unwrap();
            assert_eq!(
                (failed.field("first"), failed.field("why")),
                (Some("open"), Some("it returned an error"))
            );
        })
        .await;
}

async fn from_memory(_: &Script) -> Result<usize, FarError> {
    tokio::task::yield_now().await;
    Ok(0)
}

#[breaker("seatmap")]
#[fallback(from_memory)]
#[fallback(none = "no map is drawn")]
async fn hall(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

#[breaker("seatmap")]
#[fallback(from_memory)]
#[fallback(none = "no map is drawn")]
async fn stage(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

#[tokio::test(start_paused = true)]
async fn tw_r03_a_fallback_that_ran_speaks_for_no_other_functions() {
    let runtime = open("mode = \"isolate\"");
    runtime
        .scope(async {
            let untried = || {
                let seatmap = runtime.snapshot().dependency("seatmap").unwrap().clone();
                let here = |function: &&str| {
                    let is = |path: &str| path.ends_with(&format!("degrading::{function}"));
                    let mut untried = seatmap.untried.iter();
                    untried.any(|one| is(&one.function) && (one.kind, one.path) == ("path", Some("from_memory")))
                };
                (
                    ["hall", "stage"].into_iter().filter(here).collect::<Vec<_>>(),
                    seatmap.never_ran,
                )
            };
            let script = Script::new("S");
            assert_eq!(untried().0, ["hall", "stage"]);
            assert_eq!(hall(&script).await, Ok(0));
            let (left, kinds) = untried();
            assert_eq!(left, ["stage"]);
            assert!(!kinds.contains(&"path"), "of the kind one has run: {kinds:?}");
            assert_eq!(stage(&script).await, Ok(0));
            assert_eq!((untried().0.len(), script.starts()), (0, 0));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn fb_r05_tw_r03_an_isolated_dependency_exercises_its_fallback_and_one_that_never_ran_is_named() {
    let runtime = open("");
    runtime
        .scope(async {
            let never = || runtime.snapshot().dependency("seatmap").unwrap().never_ran.clone();
            assert!(never().contains(&"value") && never().contains(&"path"), "{:?}", never());
            let isolate = Override::new(Mode::Isolate, "ops", "drill", secs(60));
            runtime.set_mode("seatmap", isolate).unwrap();
            let (script, elsewhere) = (Script::new("S"), Gate::new("S"));
            elsewhere.open(1);
            assert_eq!(
                (seats(&script, &elsewhere).await, track(&script).await),
                (Ok(1), Ok(()))
            );
            assert_eq!(script.starts(), 0);
            assert!(
                !never().contains(&"value") && !never().contains(&"path"),
                "{:?}",
                never()
            );
            assert!(never().contains(&"stale"), "{:?}", never());
            runtime.clear_mode("seatmap").unwrap();
            assert_eq!(track(&script).await, Ok(()));
            assert_eq!(script.starts(), 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn fb_r06_faults_are_injected_only_where_the_whole_runtime_allows_it() {
    let chaos = "chaos = { failure = 1.0, latency = \"300ms\", latency_share = 1.0 }";
    for (switch, starts) in [("", 5), ("[runtime]\nchaos = false", 5), ("[runtime]\nchaos = true", 0)] {
        open(&format!("{chaos}\n{switch}"))
            .scope(async {
                let script = Script::new("S");
                for _ in 0..5 {
                    track(&script).await.unwrap();
                }
                assert_eq!(script.starts(), starts, "{switch}");
            })
            .await;
    }
    let late = "chaos = { failure = 0.0, latency = \"300ms\", latency_share = 1.0 }\n[runtime]\nchaos = true";
    open(late)
        .scope(async {
            let (clock, script) = (Clock::start(), Script::new("S"));
            track(&script).await.unwrap();
            assert_eq!((clock.now(), script.starts()), (ms(300), 1));
        })
        .await;
}

#[allow(clippy::needless_pass_by_value)] // `refuse` hands the rejection over
fn typed(rejection: Rejection) -> FarError {
    FarError::Throttled(rejection.retry_after())
}

async fn queue(_: &Script) -> Result<usize, FarError> {
    tokio::task::yield_now().await;
    Ok(202)
}

#[breaker("seatmap")]
#[fallback(stale(shared))]
#[fallback(value = 0)]
async fn cached_or_default(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

#[breaker("seatmap")]
#[fallback(queue)]
async fn queued(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

#[breaker("seatmap")]
#[fallback(refuse = typed)]
async fn refused(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

#[tokio::test(start_paused = true)]
async fn fb_r11_the_four_kinds_cached_default_queued_and_typed_error() {
    open("")
        .scope(async {
            let script = Script::new("S");
            testing::trip("seatmap");
            assert_eq!(cached_or_default(&script).await, Ok(0));
            testing::reset("seatmap");
            assert_eq!(cached_or_default(&script).await, Ok(1));
            testing::trip("seatmap");
            assert_eq!(cached_or_default(&script).await, Ok(1));
            assert_eq!(queued(&script).await, Ok(202));
            assert_eq!(refused(&script).await, Err(FarError::Throttled(Some(secs(30)))));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn tw_r04_refusals_are_counted_by_dependency_and_reason() {
    let runtime = Runtime::new(parse(
        "version = 1\n[dependency.near]\nfail = \"closed\"\nbulkhead.max_concurrent = 1\n\
         [dependency.far]\nfail = \"closed\"\ntimeout = \"1s\"\nbreaker = {}\n",
    ));
    runtime
        .scope(async {
            let (near, far) = (runtime.guard("near").unwrap(), runtime.guard("far").unwrap());
            let script = Script::new("S/1s");
            let (_, refused) = tokio::join!(crate::kit::call(&near, &script), crate::kit::call(&near, &script));
            assert_eq!(refused, Reason::BulkheadFull.as_str());
            testing::trip("far");
            for _ in 0..2 {
                let answer: Result<(), Failure<FarError>> = far.call_once(async { Ok(()) }).await;
                assert!(answer.is_err());
            }
            let snapshot = runtime.snapshot();
            let count = |name: &str, reason: &str| snapshot.dependency(name).unwrap().rejections.get(reason).copied();
            assert_eq!(
                (count("near", "bulkhead_full"), count("far", "open")),
                (Some(1), Some(2))
            );
        })
        .await;
}
