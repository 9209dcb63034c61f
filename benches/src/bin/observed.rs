//! Measures the rows of a service that is watched, and prints them for `bench`.
//!
//! A dependency with many calls leaves the telling to a thread that comes by four times a second, so the rows warm up
//! for as long first.

use std::error::Error;
use std::time::{Duration, Instant};

use benches::measure::{Group, measure};
use benches::{ours, rows};

/// Longer than it takes to be known as busy.
const WARM: Duration = Duration::from_millis(600);

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().nth(1).ok_or("how many rounds?")?.parse()?;
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()?;
    let _context = tokio.enter();
    rows::observed::listen();
    let (runtime, _) = ours::runtime(0);
    runtime.install()?;
    let _kept = runtime.keep_metrics();
    let mut groups = [Group {
        title: "",
        note: "",
        rows: rows::observed::rows(&runtime),
    }];
    let warm = Instant::now();
    while warm.elapsed() < WARM {
        for row in &mut groups[0].rows {
            row.prepare(|work| allocation_counter::measure(work).count_total);
        }
    }
    measure(&mut groups, rounds);
    for row in &groups[0].rows {
        let samples: Vec<_> = row.samples.all().iter().map(f64::to_string).collect();
        println!("{}\t{}\t{}\t{}", row.id, row.name, row.allocations, samples.join(","));
    }
    Ok(())
}
