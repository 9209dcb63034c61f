//! What a reload costs those who call meanwhile: the time of single calls through one guard, with and without somebody who
//! puts a policy of a thousand dependencies in force ten times a second.

use std::error::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use benches::ours::{self, guard};
use resilience_runtime::Policy;

/// Dependencies beside those of the file.
const IDLE: usize = 1_000;
/// How long each round lasts.
const ROUND: Duration = Duration::from_secs(10);
/// Between two reloads, their reading included.
const EVERY: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let _context = tokio.enter();
    let (runtime, _) = ours::runtime(IDLE);
    let guard = guard(&runtime, "three");
    // Two texts that differ in a number, so that each reload has something to do.
    let one = ours::policy(IDLE);
    let other = one.replacen("max_concurrent = 20", "max_concurrent = 21", 1);

    println!(
        "| calls while | calls | p50 ns | p99 ns | p99.9 ns | longest µs | reloads |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for reloading in [false, true, false, true] {
        let (stop, reloads) = (AtomicBool::new(false), AtomicU32::new(0));
        let mut took = std::thread::scope(|scope| {
            if reloading {
                let (runtime, stop, reloads, texts) = (&runtime, &stop, &reloads, [&one, &other]);
                scope.spawn(move || {
                    for text in texts.iter().cycle() {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let began = Instant::now();
                        let policy = Policy::from_toml(text).expect("the benchmark's own text");
                        runtime.reload(policy).expect("it names what the one before names");
                        reloads.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(EVERY.saturating_sub(began.elapsed()));
                    }
                });
            }
            let began = Instant::now();
            let mut took = Vec::with_capacity(1 << 26);
            while began.elapsed() < ROUND && took.len() < took.capacity() {
                let call = Instant::now();
                black_box(ours::call(&guard));
                took.push(u32::try_from(call.elapsed().as_nanos()).unwrap_or(u32::MAX));
            }
            stop.store(true, Ordering::Relaxed);
            took
        });
        took.sort_unstable();
        let at = |per_mille: usize| took[(took.len() - 1) * per_mille / 1_000];
        println!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            if reloading {
                "a policy is read and put in force"
            } else {
                "nothing else happens"
            },
            took.len(),
            at(500),
            at(990),
            at(999),
            at(1_000) / 1_000,
            reloads.load(Ordering::Relaxed),
        );
    }
    Ok(())
}
