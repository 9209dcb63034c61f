//! Measures, prints the table, and writes it to `docs/`.
//!
//! `--quick` takes a tenth of the samples; `--out DIR` writes somewhere else.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, fs};

use benches::measure::{measure, measure_shared};
use benches::peers::{clock, sentinel};
use benches::report::Frame;
use benches::targets::{Seen, judge};
use benches::{chart, machine, ours, report, rows};
use resilience_runtime::Policy;

mod elsewhere;

const ROUNDS: u32 = 400;
const SHARED_ROUNDS: u32 = 200;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Options { quick, out } = Options::read()?;
    // With it, sentinel-core takes a backtrace for every rejection, which would not be fair.
    if env::var_os("RUST_BACKTRACE").is_some() {
        let status = Command::new(env::current_exe()?)
            .args(env::args_os().skip(1))
            .env_remove("RUST_BACKTRACE")
            .status()?;
        return Ok(if status.success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    let (rounds, shared_rounds) = if quick {
        (ROUNDS / 10, SHARED_ROUNDS / 10)
    } else {
        (ROUNDS, SHARED_ROUNDS)
    };
    let (machine, before) = (machine::Machine::read(), machine::load());

    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()?;
    let _context = tokio.enter();
    let (idle_bytes, policy_bytes) = idle_bytes();
    let (runtime, loading) = ours::runtime(ours::IDLE);
    runtime.install()?;
    sentinel::load();
    let (coarse, precise) = (clock(true), clock(false));

    let start = Instant::now();
    let mut groups = rows::groups(&runtime, &coarse, &precise);
    for row in groups.iter_mut().flat_map(|group| &mut group.rows) {
        row.prepare(count);
    }
    measure(&mut groups, rounds);
    let mut shared = rows::threads::rows(&runtime, &coarse);
    measure_shared(&mut shared, shared_rounds, tokio.handle());

    // Last, because a listener can be heard by all rows after it.
    rows::events::listen();
    let mut events = [rows::events::group(&runtime)];
    for row in &mut events[0].rows {
        row.prepare(count);
    }
    measure(&mut events, rounds);
    groups.extend(events);
    groups.push(elsewhere::observed(rounds)?);

    let mut seen = Seen::default();
    seen.add(&groups);
    seen.add_shared(&shared);
    let frame = Frame {
        machine,
        load: (before, machine::load()),
        rounds: (rounds, shared_rounds),
        seconds: start.elapsed().as_secs(),
        loaded: loading.as_secs_f64() * 1e3,
        idle_bytes,
        policy_bytes,
    };
    let text = report::markdown(&frame, &judge(&seen, idle_bytes), &groups, &shared);
    println!("{text}");
    fs::create_dir_all(&out)?;
    fs::write(out.join("benchmarks.md"), text)?;
    fs::write(out.join("benchmarks.svg"), chart::svg(&frame.machine, &groups, &shared))?;
    println!("\nwritten to {}", out.display());
    Ok(ExitCode::SUCCESS)
}

struct Options {
    quick: bool,
    out: PathBuf,
}

impl Options {
    fn read() -> Result<Self, String> {
        let mut options = Self {
            quick: false,
            out: Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs"),
        };
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match &*argument {
                "--quick" => options.quick = true,
                "--out" => options.out = arguments.next().ok_or("`--out` needs a directory")?.into(),
                other => {
                    return Err(format!(
                        "unknown argument `{other}`: known are `--quick` and `--out DIR`"
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// Allocations of this thread.
fn count(work: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(work).count_total
}

/// What one idle dependency holds in a runtime, its share of the policy included, and what the policy alone holds.
fn idle_bytes() -> (f64, f64) {
    (held(ours::runtime), held(|idle| Policy::from_toml(&ours::policy(idle))))
}

#[allow(clippy::cast_precision_loss)] // some megabytes
fn held<T>(make: impl Fn(usize) -> T) -> f64 {
    let held = |idle| {
        let mut kept = None;
        let seen = allocation_counter::measure(|| kept = Some(make(idle)));
        drop(kept);
        seen.bytes_current as f64
    };
    (held(ours::IDLE) - held(0)) / ours::IDLE as f64
}
