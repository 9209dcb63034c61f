//! Sums that hold whatever happens, and a number of series that the policy alone decides.

use std::time::{Duration, Instant};

use metrics_exporter_prometheus::PrometheusHandle;
use resilience_runtime::{FailureKind, Runtime, testing};

use crate::exposition::{Page, recorder};
use crate::kit::{self, FarError};
use crate::names::EVERY_LAYER;

const CALLS: usize = 4_000;

/// The one test that has threads, and so the process's recorder; the names are its own.
#[test]
fn met_12_outcomes_sum_to_the_calls_under_a_random_mix_and_no_call_adds_a_series() {
    let recorder = recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).unwrap();
    let lines = EVERY_LAYER
        .replace("cooldown = \"10s\"", "cooldown = \"5ms\"")
        .replace("timeout = \"1s\"", "timeout = \"20ms\"");
    let runtime = Runtime::new(kit::parse(&format!(
        "version = 1\n[dependency.mixed]\nfail = \"closed\"\n{lines}\n"
    )));
    let guard = runtime.guard("mixed").unwrap();
    let before = Page::of(&handle).series();
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .unwrap();
    tokio.block_on(async {
        let calls: Vec<_> = (0..CALLS)
            .map(|number| {
                let guard = guard.clone();
                tokio::spawn(async move {
                    let chance = fastrand::u8(..100);
                    let call = guard.call(move || async move {
                        match chance {
                            0..50 => {}
                            50..60 => tokio::time::sleep(Duration::from_micros(200)).await,
                            60..62 => std::future::pending::<()>().await,
                            62..64 => std::panic::resume_unwind(Box::new("as chance has it")),
                            64..70 => return Err(FarError::Business),
                            70..73 => return Err(FarError::Throttled(None)),
                            73..76 => return Err(FarError::Ignored),
                            _ if number % 3 == 0 => return Err(FarError::Failed(FailureKind::Connect)),
                            _ => {}
                        }
                        Ok(())
                    });
                    if chance % 7 == 0 {
                        let _ = tokio::time::timeout(Duration::from_micros(100), call).await;
                    } else {
                        let _ = call.await;
                    }
                })
            })
            .collect();
        for call in calls {
            // Some panic, as they were told to.
            let _ = call.await;
        }
    });
    let page = Page::of(&handle);
    let mixed = [("dependency", "mixed")];
    let outcomes = page.sum("resilience_calls_total", &mixed);
    let snapshot = runtime.snapshot();
    let read = snapshot.dependency("mixed").unwrap();
    #[allow(clippy::cast_precision_loss)] // a few thousand
    let (calls, told) = (CALLS as f64, read.outcomes.values().sum::<u64>() as f64);
    // A call that was dropped before it was ever polled did not begin.
    assert!(outcomes <= calls && outcomes > calls * 0.8, "{outcomes} of {calls}");
    assert!(
        (outcomes - told).abs() < 1e-9,
        "{outcomes}, and the snapshot says {told}"
    );
    assert_eq!(Page::of(&handle).series(), before, "no call adds a series");
    let by_reason = page.sum("resilience_rejections_total", &mixed);
    let cut = page.sum("resilience_rejections_total", &[mixed[0], ("reason", "timed_out")]);
    let rejected = page.sum("resilience_calls_total", &[mixed[0], ("outcome", "rejected")]);
    assert!(
        (by_reason - cut - rejected).abs() < 1e-9,
        "{by_reason} {cut} {rejected}"
    );
    let attempts = page.sum("resilience_attempts_total", &mixed);
    let left = page.sum("resilience_attempts_total", &[mixed[0], ("outcome", "cancelled")]);
    assert!((attempts - left - page.measured("mixed")).abs() < 1e-9);
    for gauge in ["in_flight", "waiting"] {
        assert_eq!(page.get(&format!("resilience_bulkhead_{gauge}"), &mixed), Some(0.0));
    }
    what_only_the_clock_moves_is_seen_while_somebody_keeps_the_metrics(&runtime, &handle, &tokio);
}

fn what_only_the_clock_moves_is_seen_while_somebody_keeps_the_metrics(
    runtime: &Runtime,
    handle: &PrometheusHandle,
    tokio: &tokio::runtime::Runtime,
) {
    tokio.block_on(runtime.scope(async {
        testing::reset("mixed");
        testing::trip("mixed");
    }));
    let open = || Page::of(handle).get("resilience_breaker_open_seconds", &[("dependency", "mixed")]);
    let told = open();
    assert_eq!(open(), told, "nobody calls any more");
    let kept = runtime.keep_metrics();
    let until = Instant::now() + Duration::from_secs(30);
    while open() == told {
        assert!(Instant::now() < until, "nobody came by");
        std::thread::yield_now();
    }
    drop(kept);
}
