//! What is told of errors and values when somebody prints them.

use std::error::Error as _;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime};

use resilience_runtime::{
    Failure, Mode, Override, Policy, Reason, ReloadError, Runtime, State, breaker, bulkhead, degraded, fallback,
    init_from, testing,
};

use crate::kit::{self, FarError, Script, parse, secs};
use crate::stand::Stand;

const BAD: &str = "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = 30\n";

#[test]
fn an_error_of_a_policy_prints_the_same_words_as_display_as_debug_and_whatever_it_is_wrapped_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resilience.toml");
    std::fs::write(&file, BAD).unwrap();
    let words = Policy::read(&file).unwrap_err().to_string();
    assert!(
        words.contains("resilience.toml:4:11") && words.contains("30s"),
        "{words}"
    );
    let init = init_from(&file).unwrap_err();
    assert_eq!((init.to_string(), format!("{init:?}")), (words.clone(), words.clone()));
    assert_eq!(
        (init.faults().len(), init.functions().len(), init.circles().len()),
        (1, 0, 0)
    );
    let reload = ReloadError::from(Policy::read(&file).unwrap_err());
    assert_eq!((reload.to_string(), format!("{reload:?}")), (words.clone(), words));
    assert_eq!((reload.faults()[0].line(), reload.missing().len()), (Some(4), 0));
}

#[test]
fn a_reload_that_loses_what_is_used_says_what_and_where() {
    let (runtime, _guard) = kit::guard("timeout = \"1s\"");
    let error = runtime
        .reload(parse("version = 1\n[dependency.fat]\nfail = \"open\"\n"))
        .unwrap_err();
    let [missing] = error.missing() else { panic!("{error}") };
    assert_eq!(
        (missing.dependency(), missing.table(), missing.function()),
        ("far", None, None)
    );
    assert!(error.to_string().contains("lost what is in use"), "{error}");
    assert!(error.to_string().contains("a guard in use names `far`"), "{error}");
    assert!(error.to_string().contains("did you mean `fat`?"), "{error}");
    assert!(error.faults().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_hand_that_is_refused_says_why_and_of_whom() {
    let far = Stand::new("timeout = \"1s\"");
    let hand = || Override::new(Mode::Isolate, "ann", "drill", secs(60));
    let unknown = far.runtime.set_mode("fra", hand()).unwrap_err();
    assert!(unknown.unknown_dependency().is_some());
    assert!(unknown.to_string().contains("did you mean `far`?"), "{unknown}");
    let past = Override {
        until: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
        ..hand()
    };
    let past = far.runtime.set_mode("far", past).unwrap_err();
    assert!(past.unknown_dependency().is_none());
    assert_eq!(past.to_string(), "the override's `until` has passed already");
}

#[tokio::test(start_paused = true)]
async fn a_test_that_names_what_is_not_there_is_told_so() {
    let far = Stand::new("timeout = \"1s\"");
    far.runtime
        .scope(async {
            let told = |act: &dyn Fn()| {
                let panic = catch_unwind(AssertUnwindSafe(act)).unwrap_err();
                panic.downcast_ref::<String>().unwrap().clone()
            };
            let told_of_breaker = told(&|| testing::trip("far"));
            assert!(
                told_of_breaker.contains("`far` has no breaker; add [dependency.far.breaker]"),
                "{told_of_breaker}"
            );
            for act in [
                (&|| testing::trip("fra")) as &dyn Fn(),
                &|| testing::reset("fra"),
                &|| assert_eq!(testing::state("fra"), State::Open),
                &|| assert_eq!(testing::in_flight("fra"), 7),
            ] {
                assert!(told(act).contains("did you mean `far`?"));
            }
        })
        .await;
}

#[bulkhead("seatmap")]
#[breaker]
#[fallback(value = 7)]
async fn seats(body: &Script) -> Result<usize, FarError> {
    body.run().await
}

#[tokio::test(start_paused = true)]
async fn what_is_printed_while_debugging_names_the_dependency_and_not_the_arguments() {
    let text = "version = 1\n[dependency.seatmap]\nfail = \"open\"\nlabel = \"seats\"\ntimeout = \"1s\"\nbreaker = {}\nbulkhead.max_concurrent = 1\n";
    let runtime = Runtime::new(parse(text));
    let printed = format!("{runtime:?}");
    let snapshot = runtime.snapshot();
    assert!(
        printed.contains(&snapshot.policy.hash) && printed.contains(&snapshot.instance),
        "{printed}"
    );
    let guard = runtime.guard("seatmap").unwrap();
    assert_eq!(guard.dependency(), "seatmap");
    let once = guard.call_once(async { Ok::<_, FarError>(()) });
    assert!(format!("{once:?}").contains("seatmap"), "{once:?}");
    let collect = degraded::collect(seats_of(runtime));
    assert!(format!("{collect:?}").starts_with("Collect"));
    let (answer, served) = collect.await;
    assert_eq!(answer.unwrap(), 7);
    let [served] = &served[..] else { panic!("{served:?}") };
    for word in ["seatmap", "seats", "value", "server"] {
        assert!(format!("{served:?}").contains(word), "{served:?}");
    }
}

async fn seats_of(runtime: Runtime) -> Result<usize, FarError> {
    runtime.scope(async { seats(&Script::new("F")).await }).await
}

#[derive(Debug)]
struct Wrapped(std::io::Error);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn a_failure_has_the_source_of_what_it_carries() {
    let failure = Failure::Error(Wrapped(std::io::Error::other("the disk")));
    assert_eq!(failure.source().unwrap().to_string(), "the disk");
    let rejection = testing_rejection();
    assert!(Failure::<Wrapped>::Rejected(rejection).source().is_none());
}

fn testing_rejection() -> resilience_runtime::Rejection {
    let (runtime, _guard) = kit::guard("timeout = \"1s\"");
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(runtime.scope(async { testing::rejection("far", Reason::Open, None) }))
}

#[test]
fn the_words_of_states_are_those_of_json() {
    let words: Vec<_> = [State::Closed, State::Open, State::HalfOpen]
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(words, ["closed", "open", "half_open"]);
}

#[tokio::test(start_paused = true)]
async fn a_recorded_event_prints_its_name_and_its_fields() {
    let far = Stand::new("timeout = \"1s\"\nbreaker = {}");
    let ((), events) = testing::record(far.trip()).await;
    let printed = events[0].to_string();
    assert!(printed.starts_with("breaker.transition "), "{printed}");
    assert!(
        printed.contains(" dependency=far") && printed.contains(" cause=trip"),
        "{printed}"
    );
}
