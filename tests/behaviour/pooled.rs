//! Breakers too quiet to judge alone, judged on what all instances counted: eight runtimes that tell each
//! other what they counted, as instances do through a store.

use std::time::Duration;

use resilience_runtime::testing::record;
use resilience_runtime::{Guard, Runtime};
use tokio::time::sleep;

use crate::kit::{Clock, FarError, Script, call, calls, parse, runtime, secs, seen};

fn state(runtime: &Runtime) -> &'static str {
    runtime.snapshot().dependency("far").unwrap().state.unwrap()
}

/// One exchange of all with all.
fn exchange(fleet: &[Runtime]) {
    let said: Vec<_> = fleet.iter().map(Runtime::counted).collect();
    for runtime in fleet {
        runtime.pool(&said);
    }
}

/// A shop with an order every 50 s, dealt over eight processes; its payment provider hangs from 14:05 to 15:35, and each
/// call that reaches it waits the whole timeout of 10 s.
struct Shop {
    fleet: Vec<Runtime>,
    guards: Vec<Guard>,
    pooled: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Evening {
    /// Calls that waited ten seconds for nothing.
    waited: usize,
    /// Those until the first breaker was seen open.
    until_opening: usize,
    refused: usize,
    served: usize,
    /// How many were open when the outage ended.
    open_at_the_end: usize,
    /// From the outage's end until all were closed, in minutes.
    all_closed_after: Option<u64>,
}

impl Shop {
    const OUTAGE: Duration = Duration::from_secs(3_600);
    const OVER: Duration = Duration::from_secs(3_600 + 5_400);
    const END: Duration = Duration::from_secs(4 * 3_600);

    fn open(pooled: bool) -> Self {
        let numbers = r#"
            timeout = "10s"
            breaker.window = "15m"
            breaker.minimum_calls = 10
            breaker.cooldown = "30m"
            breaker.cooldown_max = "30m"
            breaker.cooldown_jitter = 0.0
        "#;
        let fleet: Vec<Runtime> = (0..8).map(|_| runtime(numbers)).collect();
        let guards = fleet.iter().map(|runtime| runtime.guard("far").unwrap()).collect();
        Self { fleet, guards, pooled }
    }

    async fn evening(&self) -> Evening {
        let clock = Clock::start();
        let mut seen = Evening::default();
        let (mut running, mut opened) = (Vec::new(), false);
        for second in (0..Self::END.as_secs()).step_by(5) {
            if second % 50 == 0 {
                self.look(clock.now(), &mut opened, &mut seen);
                let order = usize::try_from(second / 50).unwrap();
                running.push(tokio::spawn(order_of(self.guards[order % 8].clone(), clock.now())));
            }
            if self.pooled {
                exchange(&self.fleet);
            }
            clock.at(secs(second + 5)).await;
        }
        for call in running {
            match call.await.unwrap() {
                "ok" => seen.served += 1,
                "open" => seen.refused += 1,
                "timed_out" => seen.waited += 1,
                other => panic!("`{other}`"),
            }
        }
        seen
    }

    fn look(&self, now: Duration, opened: &mut bool, seen: &mut Evening) {
        let open = self.fleet.iter().filter(|runtime| state(runtime) != "closed").count();
        if !*opened {
            seen.until_opening = self.fleet.iter().map(cut).sum();
        }
        *opened |= open > 0;
        if now == Self::OVER {
            seen.open_at_the_end = open;
        }
        if now >= Self::OVER && open == 0 && seen.all_closed_after.is_none() {
            seen.all_closed_after = Some((now.as_secs() - Self::OVER.as_secs()) / 60);
        }
    }
}

async fn order_of(guard: Guard, now: Duration) -> &'static str {
    let takes = if (Shop::OUTAGE..Shop::OVER).contains(&now) {
        secs(3_600)
    } else {
        secs(1)
    };
    let body = || async move {
        sleep(takes).await;
        Ok::<_, FarError>(())
    };
    seen(&guard.call(body).await)
}

/// Attempts that were cut by their timeout so far.
fn cut(runtime: &Runtime) -> usize {
    let attempts = &runtime.snapshot().dependencies["far"].attempts;
    usize::try_from(attempts["timeout"]).unwrap()
}

/// Each process has two calls in its window, and needs ten: all 108 orders of the outage wait.
#[tokio::test(start_paused = true)]
async fn eight_quiet_processes_never_open_alone() {
    let seen = Shop::open(false).evening().await;
    let nothing = Evening {
        waited: 108,
        until_opening: 108,
        served: 180,
        all_closed_after: Some(0),
        ..Evening::default()
    };
    assert_eq!(seen, nothing);
}

/// Eighteen calls of all processes are in the window: with the ninth failure half of them failed, all eight have seen one
/// of these, and open. After that only probes of their own wait, and close them.
#[tokio::test(start_paused = true)]
async fn eight_quiet_processes_open_together_at_the_ninth_failure_and_close_by_their_own_probes() {
    let seen = Shop::open(true).evening().await;
    let expected = Evening {
        waited: 25,
        until_opening: 9,
        refused: 100,
        served: 163,
        open_at_the_end: 8,
        all_closed_after: Some(20),
    };
    assert_eq!(seen, expected);
}

/// A runtime with a window of time that needs 16 results, and its guard.
fn quiet(lines: &str) -> (Runtime, Guard) {
    let runtime = runtime(&format!(
        "timeout = \"1s\"\nbreaker.window = \"10m\"\nbreaker.minimum_calls = 16\nbreaker.cooldown = \"30s\"\nbreaker.cooldown_jitter = 0.0\n{lines}"
    ));
    let guard = runtime.guard("far").unwrap();
    (runtime, guard)
}

#[tokio::test(start_paused = true)]
async fn mb_r09_eight_calls_of_each_of_two_are_one_window_of_sixteen() {
    let ((here, guard), (there, other)) = (quiet(""), quiet(""));
    calls(&guard, &Script::new("C C C C C S S S"), 8).await;
    calls(&other, &Script::new("C C S S S S C C"), 8).await;
    let ((), events) = record(async { here.pool(&[there.counted()]) }).await;
    let snapshot = here.snapshot();
    let far = snapshot.dependency("far").unwrap();
    assert_eq!((far.state, far.cause), (Some("open"), Some("failure_rate")));
    let opened = far.opened.clone().unwrap();
    assert_eq!((opened.calls, opened.failure_rate), (16, Some(9.0 / 16.0)));
    let pooled = opened.pooled.unwrap();
    let of = |results: resilience_runtime::ResultsSnapshot| (results.failed, results.calls);
    assert_eq!(
        (of(pooled.own), of(pooled.fleet), pooled.instances),
        ((5, 8), (9, 16), 2)
    );
    assert_eq!(opened.threshold.unwrap().key, "breaker.failure_rate");
    let told: Vec<_> = events.iter().filter_map(|event| event.field("evidence")).collect();
    assert_eq!(told, ["own 5 of 8, fleet of 2 instances 9 of 16"]);
    assert_eq!(state(&there), "closed", "nobody opens anybody else's");
    let json = serde_json::to_value(opened.pooled).unwrap();
    assert_eq!(json["fleet"]["failed"], 9);
}

#[tokio::test(start_paused = true)]
async fn what_others_see_alone_opens_nothing() {
    let ((here, guard), (there, other)) = (quiet(""), quiet(""));
    let mut fleet = vec![here, there];
    calls(&other, &Script::new("C C C C C C C C C C C C C C C"), 15).await;
    exchange(&fleet);
    calls(&guard, &Script::new("S S S"), 3).await;
    exchange(&fleet);
    assert_eq!(state(&fleet[0]), "closed");
    let others = fleet[0].snapshot().dependency("far").unwrap().others.clone().unwrap();
    assert_eq!(
        (others.results.calls, others.results.failed, others.instances.len()),
        (15, 15, 1)
    );
    // The first of its own that fails is enough, as soon as it is looked at again.
    assert_eq!(call(&guard, &Script::new("C")).await, "connect");
    assert_eq!(state(&fleet[0]), "closed", "a call looks at its own window alone");
    exchange(&fleet);
    assert_eq!(state(&fleet[0]), "open");
    assert_eq!(call(&guard, &Script::new("S")).await, "open");
    assert_eq!(
        state(&fleet.pop().unwrap()),
        "open",
        "sixteen calls, three of them good"
    );
}

#[tokio::test(start_paused = true)]
async fn own_probes_close_and_what_others_counted_before_is_over() {
    let ((here, guard), (there, other)) = (quiet(""), quiet(""));
    let fleet = [here, there];
    let clock = Clock::start();
    calls(&other, &Script::new("C C C C C C C C C C C C C C C"), 15).await;
    calls(&guard, &Script::new("C"), 1).await;
    exchange(&fleet);
    assert_eq!(state(&fleet[0]), "open");
    clock.at(secs(31)).await;
    exchange(&fleet);
    assert_eq!(call(&guard, &Script::new("S")).await, "ok");
    assert_eq!(state(&fleet[0]), "closed");
    calls(&guard, &Script::new("C"), 1).await;
    exchange(&fleet);
    let far = fleet[0].snapshot();
    let far = far.dependency("far").unwrap();
    assert_eq!((far.state, far.calls), (Some("closed"), 1));
    assert!(far.others.is_none(), "all of it was counted before");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_gone_leaves_what_was_heard_until_it_is_too_old() {
    let ((here, guard), (there, other)) = (quiet(""), quiet(""));
    let clock = Clock::start();
    calls(&other, &Script::new("C C C C C C C C C C C C C C C"), 15).await;
    here.pool(&[there.counted()]);
    clock.at(secs(9 * 60)).await;
    calls(&guard, &Script::new("C"), 1).await;
    here.pool(&[]);
    assert_eq!(state(&here), "open");

    let ((here, guard), (there, other)) = (quiet(""), quiet(""));
    let clock = Clock::start();
    calls(&other, &Script::new("C C C C C C C C C C C C C C C"), 15).await;
    here.pool(&[there.counted()]);
    clock.at(secs(10 * 60)).await;
    calls(&guard, &Script::new("C"), 1).await;
    here.pool(&[]);
    assert_eq!(state(&here), "closed");
}

#[tokio::test(start_paused = true)]
async fn whoever_goes_back_to_its_own_window_forgets_the_others() {
    let ((here, guard), (there, other)) = (quiet(""), quiet(""));
    calls(&other, &Script::new("C C C C C C C C C C C C C C C"), 15).await;
    here.pool(&[there.counted()]);
    here.unpool();
    calls(&guard, &Script::new("C"), 1).await;
    here.pool(&[]);
    assert_eq!(state(&here), "closed");
}

#[tokio::test(start_paused = true)]
async fn observe_says_what_would_have_opened_and_off_judges_nothing() {
    for (mode, expected) in [("observe", "open"), ("off", "closed")] {
        let ((here, guard), (there, other)) = (quiet(&format!("mode = \"{mode}\"")), quiet(""));
        calls(&other, &Script::new("C C C C C C C C C C C C C C C"), 15).await;
        calls(&guard, &Script::new("C"), 1).await;
        here.pool(&[there.counted()]);
        assert_eq!(state(&here), expected, "{mode}");
        assert_eq!(call(&guard, &Script::new("S")).await, "ok", "{mode}");
    }
}

/// Whether it was said meanwhile that nothing reads the fleet, at each of these seconds.
async fn unread(text: &str, attended: bool, seconds: &[u64]) -> Vec<usize> {
    let runtime = Runtime::new(parse(text));
    if attended {
        runtime.pool(&[]);
    }
    let clock = Clock::start();
    let mut said = Vec::new();
    for second in seconds {
        clock.at(secs(*second)).await;
        let (_snapshot, events) = record(async { runtime.snapshot() }).await;
        said.push(events.iter().filter(|event| event.name() == "fleet.unread").count());
    }
    said
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_nothing_meets_is_said_once_and_not_too_soon() {
    let fleet = "version = 1\nfleet.redis = \"redis://a/\"\n";
    assert_eq!(unread(fleet, false, &[0, 9, 10, 11, 60]).await, [0, 0, 1, 0, 0]);
    assert_eq!(unread(fleet, true, &[0, 60]).await, [0, 0]);
    assert_eq!(unread("version = 1\n", false, &[0, 60]).await, [0, 0]);
}
