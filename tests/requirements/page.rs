//! A product page with catalogue, reviews and recommendations, beside a checkout that needs none of them.

use std::time::Duration;

use resilience_runtime::{Guard, Runtime, breaker, bulkhead, fallback, testing};
use tokio::task::JoinHandle;

use crate::kit::{Clock, FarError, Gate, Script, ms, parse, secs, settle, spawn_all, tally, together};

/// How a page was answered, and how long it took.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Duration,
    took: Duration,
    degraded: bool,
}

/// 20 pages and 30 checkouts a second for a minute; reviews take 8 s instead of 100 ms from the tenth second on.
async fn minute<P, C>(page: impl Fn() -> P, checkout: impl Fn() -> C) -> (Vec<JoinHandle<Seen>>, Vec<JoinHandle<Seen>>)
where
    P: Future<Output = Seen> + Send + 'static,
    C: Future<Output = Seen> + Send + 'static,
{
    let clock = Clock::start();
    let (mut pages, mut checkouts) = (Vec::new(), Vec::new());
    for tick in 0..60 * 60_u64 {
        clock.at(Duration::from_nanos(tick * 1_000_000_000 / 60)).await;
        if tick % 3 == 0 {
            pages.push(tokio::spawn(page()));
        }
        if tick % 2 == 0 {
            checkouts.push(tokio::spawn(checkout()));
        }
    }
    clock.at(secs(60)).await;
    (pages, checkouts)
}

/// Those that had ended, by the end of the minute.
async fn ended(calls: Vec<JoinHandle<Seen>>) -> Vec<Seen> {
    let mut all = Vec::new();
    for call in calls {
        if call.is_finished() {
            all.push(call.await.unwrap());
        } else {
            call.abort();
        }
    }
    all
}

async fn takes(time: Duration) -> Result<(), FarError> {
    tokio::time::sleep(time).await;
    Ok(())
}

/// How long reviews take now.
fn reviews_take(clock: Clock) -> Duration {
    if clock.now() < secs(10) { ms(100) } else { secs(8) }
}

fn last_ten_seconds(seen: &[Seen]) -> usize {
    seen.iter().filter(|seen| seen.at + seen.took >= secs(50)).count()
}

#[tokio::test(start_paused = true)]
async fn pp_r01_with_one_pool_for_everything_slow_reviews_take_the_checkout_along() {
    let runtime = Runtime::new(parse(
        "version = 1\n[dependency.workers]\nfail = \"closed\"\nbulkhead.max_concurrent = 100\n\
         bulkhead.max_waiting = 100000\nbulkhead.max_wait = \"24h\"\n",
    ));
    let workers = runtime.guard("workers").unwrap();
    let clock = Clock::start();
    let in_pool = |time: fn(Clock) -> Duration| {
        let workers = workers.clone();
        move || {
            let (workers, at) = (workers.clone(), clock.now());
            async move {
                workers.call_once(async { takes(time(clock)).await }).await.unwrap();
                Seen {
                    at,
                    took: clock.now().saturating_sub(at),
                    degraded: false,
                }
            }
        }
    };
    let full = tokio::spawn({
        let runtime = runtime.clone();
        async move {
            while runtime.snapshot().dependency("workers").unwrap().in_flight < 100 {
                tokio::time::sleep(ms(10)).await;
            }
            clock.now()
        }
    });
    let page = in_pool(|clock| ms(130) + reviews_take(clock));
    let (_, checkouts) = minute(page, in_pool(|_| ms(200))).await;
    let checkouts = ended(checkouts).await;
    // 20 pages a second stay for 8 s: the pool is full 4.6 s after the slowing.
    let full = full.await.unwrap();
    assert!((ms(14_400)..=ms(14_800)).contains(&full), "{full:?}");
    let sold = last_ten_seconds(&checkouts);
    assert!(sold <= 232, "{sold} of 300 in the last ten seconds");
    let worst = checkouts.iter().map(|seen| seen.took).max().unwrap();
    assert!(worst > secs(8), "{worst:?}");
}

const POOLS: &str = r#"
version = 1
[dependency.catalog]
fail = "closed"
bulkhead.max_concurrent = 40
[dependency.reviews]
fail = "open"
bulkhead.max_concurrent = 10
[dependency.recs]
fail = "open"
bulkhead.max_concurrent = 5
[dependency.checkout]
fail = "closed"
bulkhead.max_concurrent = 45
"#;

#[derive(Clone)]
struct Pools {
    catalog: Guard,
    reviews: Guard,
    recs: Guard,
    checkout: Guard,
    clock: Clock,
}

impl Pools {
    async fn page(self) -> Seen {
        let at = self.clock.now();
        self.catalog.call_once(takes(ms(50))).await.unwrap();
        let reviews = self.reviews.call_once(takes(reviews_take(self.clock))).await;
        let recs = self.recs.call_once(takes(ms(80))).await;
        Seen {
            at,
            took: self.clock.now().saturating_sub(at),
            degraded: reviews.is_err() || recs.is_err(),
        }
    }

    async fn sell(self) -> Seen {
        let at = self.clock.now();
        self.checkout.call_once(takes(ms(200))).await.unwrap();
        Seen {
            at,
            took: self.clock.now().saturating_sub(at),
            degraded: false,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pp_r02_pp_r03_pp_r04_pp_r05_pools_of_40_10_and_5_let_the_reviews_starve_alone() {
    let runtime = Runtime::new(parse(POOLS));
    let guard = |name: &str| runtime.guard(name).unwrap();
    let pools = Pools {
        catalog: guard("catalog"),
        reviews: guard("reviews"),
        recs: guard("recs"),
        checkout: guard("checkout"),
        clock: Clock::start(),
    };
    let (pages, checkouts) = minute(|| pools.clone().page(), || pools.clone().sell()).await;
    let (pages, checkouts) = (ended(pages).await, ended(checkouts).await);
    let snapshot = runtime.snapshot();
    let of = |name: &str| snapshot.dependency(name).unwrap();
    let refused = |name: &str| of(name).rejections.get("bulkhead_full").copied().unwrap_or_default();
    assert_eq!(
        (of("catalog").limit, of("reviews").limit, of("recs").limit),
        (Some(40), Some(10), Some(5))
    );
    assert_eq!((refused("catalog"), refused("checkout")), (0, 0));
    assert!((912..=950).contains(&refused("reviews")), "{}", refused("reviews"));
    let degraded = pages.iter().filter(|seen| seen.degraded).count();
    assert!((910..=948).contains(&degraded), "{degraded} of {} pages", pages.len());
    let sold = last_ten_seconds(&checkouts);
    assert!((297..=303).contains(&sold), "{sold}");
    assert_eq!(checkouts.iter().map(|seen| seen.took).max(), Some(ms(200)));
    let worst = pages.iter().map(|seen| seen.took).max().unwrap();
    assert!((ms(8_080)..=ms(8_180)).contains(&worst), "{worst:?}");
}

#[breaker("seatmap")]
#[bulkhead]
#[fallback(value = 0)]
async fn enhancing(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

fn one_slot(lines: &str) -> Runtime {
    Runtime::new(parse(&format!(
        "version = 1\n[dependency.seatmap]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker.window = \"4 calls\"\n\
         bulkhead.max_concurrent = 1\n{lines}\n"
    )))
}

#[tokio::test(start_paused = true)]
async fn pp_r06_a_part_that_is_refused_costs_no_time_where_the_part_itself_would_cost_eight_seconds() {
    one_slot("")
        .scope(async {
            let script = Script::new("S/900ms");
            let clock = Clock::start();
            let (slow, refused) = tokio::join!(enhancing(&script), async {
                let answer = enhancing(&script).await;
                (answer, clock.now())
            });
            assert_eq!((slow, refused), (Ok(1), (Ok(0), Duration::ZERO)));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn pp_r07_no_compartment_queues_unless_told_to_and_never_without_a_bound() {
    let runtime = one_slot("");
    assert_eq!(runtime.snapshot().dependency("seatmap").unwrap().max_waiting, Some(0));
    let endless = resilience_runtime::Policy::from_toml(
        "version = 1\n[dependency.seatmap]\nfail = \"open\"\nbulkhead = { max_concurrent = 1, max_waiting = 10, max_wait = \"48h\" }\n",
    );
    assert_eq!(
        endless.unwrap_err().faults()[0].key(),
        "dependency.seatmap.bulkhead.max_wait"
    );
}

#[tokio::test(start_paused = true)]
async fn pp_r08_a_part_that_only_enhances_never_gives_its_error_to_the_page() {
    for steps in ["F", "C", "T", "X", "O", "H", "I", "Q5s"] {
        one_slot("")
            .scope(async {
                let script = Script::new(steps);
                for _ in 0..6 {
                    assert_eq!(enhancing(&script).await, Ok(0), "{steps}");
                }
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn pp_r09_any_named_resource_can_have_walls_and_tenants_have_slots_of_their_own() {
    let kinds = ["threads", "connections", "queue", "instances", "webhooks"];
    let tables = kinds.map(|kind| format!("[dependency.{kind}]\nfail = \"closed\"\nbulkhead.max_concurrent = 2\n"));
    let tables = tables.concat();
    let runtime = Runtime::new(parse(&format!("version = 1\n{tables}")));
    for kind in kinds {
        let guard = runtime.guard(kind).unwrap();
        let gate = Gate::new("S");
        let answers = together((0..3).map(|number| {
            let (guard, gate) = (guard.clone(), gate.clone());
            async move {
                let answer = guard.call_once(gate.run());
                if number == 2 {
                    gate.open(2);
                }
                crate::kit::seen(&answer.await)
            }
        }))
        .await;
        assert_eq!(tally(&answers).get("bulkhead_full"), Some(&1), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn pp_r10_breaker_and_bulkhead_together_are_bounded_and_do_not_pay_for_failure() {
    let calls = |lines: &str| {
        let lines = lines.to_owned();
        async move {
            let (_, guard) = crate::kit::guard(&format!("timeout = \"3s\"\n{lines}"));
            let script = Script::new("H");
            let mut buyers = Vec::new();
            for _ in 0..100 {
                let (guard, script) = (guard.clone(), script.clone());
                let calls = (0..20).map(move |_| {
                    let (guard, script) = (guard.clone(), script.clone());
                    async move { crate::kit::call(&guard, &script).await }
                });
                buyers.extend(spawn_all(calls).await);
                tokio::time::sleep(ms(100)).await;
            }
            settle().await;
            (script.starts(), script.peak())
        }
    };
    let breaker = "breaker = { window = \"20 calls\", cooldown = \"30s\" }";
    let bulkhead = "bulkhead.max_concurrent = 20";
    let alone = calls(breaker).await;
    assert!(
        alone.1 >= 600,
        "a breaker alone lets three seconds of calls in before it knows: {alone:?}"
    );
    let alone = calls(bulkhead).await;
    assert!(
        alone.1 == 20 && alone.0 >= 60,
        "a bulkhead alone goes on paying, slot by slot: {alone:?}"
    );
    let both = calls(&format!("{breaker}\n{bulkhead}")).await;
    assert!(both.1 == 20 && both.0 <= 40, "{both:?}");
}

#[tokio::test(start_paused = true)]
async fn pp_r11_delay_error_and_hang_are_made_up_for_a_test_without_a_network() {
    let runtime = one_slot("");
    runtime
        .scope(async {
            let script = Script::new("S/400ms F H");
            let clock = Clock::start();
            assert_eq!((enhancing(&script).await, clock.now()), (Ok(1), ms(400)));
            assert_eq!((enhancing(&script).await, clock.now()), (Ok(0), ms(400)));
            assert_eq!((enhancing(&script).await, clock.now()), (Ok(0), ms(1_400)));
            testing::trip("seatmap");
            assert_eq!((enhancing(&script).await, script.starts()), (Ok(0), 3));
        })
        .await;
    let chaos = one_slot("chaos = { failure = 1.0 }\n[runtime]\nchaos = true");
    chaos
        .scope(async {
            let script = Script::new("S");
            assert_eq!((enhancing(&script).await, script.starts()), (Ok(0), 0));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn pp_r12_a_thousand_calls_at_once_run_the_same_each_time() {
    async fn run() -> Vec<&'static str> {
        let (_, guard) = crate::kit::guard(
            "timeout = \"1s\"\nbulkhead = { max_concurrent = 10, max_waiting = 100, max_wait = \"300ms\" }\nbreaker = {}",
        );
        let script = Script::new("S/100ms F/100ms S/100ms H");
        let calls = together((0..1_000).map(|_| {
            let (guard, script) = (guard.clone(), script.clone());
            async move { crate::kit::call(&guard, &script).await }
        }));
        calls.await
    }
    let first = run().await;
    assert_eq!(first, run().await);
    assert_eq!(tally(&first).values().sum::<usize>(), 1_000);
}
