//! Instructions a call, counted by valgrind: a budget that no noise touches.
//!
//! `count` runs each row of `budget.toml` twice under callgrind, with different numbers of calls, and fails if a row
//! takes more than 5 % above its budget. `count --bless` writes what it saw as the new budget.
//!
//! With the feature `metrics` a Prometheus recorder is installed, as in a service, and a row may take 30 % more than its
//! budget: what is watched may not cost what it watches.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

use benches::ours::{self, guard};
use benches::work::{NowAndThen, answer, finish};

/// A row above its budget by more than this fails.
const TOLERANCE: f64 = if cfg!(feature = "metrics") { 0.30 } else { 0.05 };

/// The two numbers of calls; what is not a call is the same in both and falls out.
const CALLS: (u32, u32) = (20_000, 120_000);

/// Before the counted calls: the windows are full, and each thread has its counters.
const WARM: u32 = 1_000;

/// What is counted, in the order of the table.
const ROWS: &[(&str, &str)] = &[
    ("alone", "breaker, accepted"),
    ("slow", "breaker, slow calls watched, accepted"),
    ("slow-mixed", "the same, one call in a hundred fails"),
    ("room", "bulkhead"),
    ("three", "breaker + bulkhead + timeout, slow calls watched"),
    ("open", "rejection when open"),
    ("alone-fn", "annotated function: breaker, accepted"),
    ("three-fn", "annotated function: breaker + bulkhead + timeout"),
    ("repeat-fn", "annotated function: the same, and retry"),
];

const HEAD: &str = "\
# Instructions a call, counted by `cargo run --release --manifest-path benches/Cargo.toml --no-default-features --bin count`, which fails more
# than 5 % above. Rows may only grow with a reason in the commit; `-- --bless` writes what it sees.

[instructions]
";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => compare(&count_all()?),
        ["--bless"] if cfg!(feature = "metrics") => Err("the budget is that without `metrics`".into()),
        ["--bless"] => bless(&count_all()?),
        ["--run", row, calls] => run(row, calls.parse()?),
        _ => Err("unknown arguments: none, or `--bless`".into()),
    }
}

type Counts = BTreeMap<&'static str, f64>;

fn count_all() -> Result<Counts, Box<dyn Error>> {
    ROWS.iter().map(|(row, _)| Ok((*row, count(row)?))).collect()
}

/// Instructions of one call.
fn count(row: &str) -> Result<f64, Box<dyn Error>> {
    let (few, many) = (under_callgrind(row, CALLS.0)?, under_callgrind(row, CALLS.1)?);
    Ok((many - few) / f64::from(CALLS.1 - CALLS.0))
}

fn under_callgrind(row: &str, calls: u32) -> Result<f64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        // Fair, or the thread that keeps the metrics never gets its turn.
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--fair-sched=yes"])
        // Only what `counted_calls` does: making a runtime, and its clock, takes another number of instructions
        // every time.
        .args(["--collect-atstart=no", "--toggle-collect=*counted_calls*"])
        .arg(env::current_exe()?)
        .args(["--run", row, &calls.to_string()])
        .output()
        .map_err(|error| format!("valgrind does not run ({error}): install it"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, collected) = collected
        .filter(|_| output.status.success())
        .ok_or_else(|| format!("`{row}`: {said}"))?;
    Ok(collected.trim().parse()?)
}

fn compare(counts: &Counts) -> Result<ExitCode, Box<dyn Error>> {
    let text = fs::read_to_string(budget())?;
    let table: toml::Table = text.parse()?;
    let mut over = false;
    println!("| call | instructions | budget | |\n| --- | ---: | ---: | --- |");
    for (row, name) in ROWS {
        let seen = counts[row];
        let allowed = table
            .get("instructions")
            .and_then(|rows| rows.get(row))
            .and_then(toml::Value::as_float);
        let allowed = allowed.ok_or_else(|| format!("budget.toml lacks `{row}`: add it with `--bless`"))?;
        let share = seen / allowed - 1.0;
        let too_many = share > TOLERANCE;
        over |= too_many;
        let verdict = if too_many { "**over**" } else { "within" };
        println!(
            "| {name} | {seen:.1} | {allowed:.1} | {verdict}, {:+.1} % |",
            share * 100.0
        );
    }
    Ok(if over { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn bless(counts: &Counts) -> Result<ExitCode, Box<dyn Error>> {
    let rows = ROWS
        .iter()
        .map(|(row, name)| format!("{row:<10} = {:<7} # {name}\n", format!("{:.1}", counts[row])));
    let text = rows.fold(HEAD.to_owned(), |text, row| text + &row);
    fs::write(budget(), &text)?;
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}

fn budget() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("budget.toml")
}

/// What runs under valgrind.
fn run(row: &str, calls: u32) -> Result<ExitCode, Box<dyn Error>> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let _context = tokio.enter();
    #[cfg(feature = "metrics")]
    metrics::set_global_recorder(metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder())?;
    let (runtime, _) = ours::runtime(0);
    runtime.install()?;
    #[cfg(feature = "metrics")]
    let _kept = runtime.keep_metrics();
    match row {
        "alone-fn" => both(calls, || finish(ours::alone(false)).is_ok()),
        "three-fn" => both(calls, || finish(ours::three(false)).is_ok()),
        "repeat-fn" => both(calls, || finish(ours::repeat(false)).is_ok()),
        "open" => {
            let guard = ours::open(&runtime, "refused");
            both(calls, || finish(guard.call_once(answer(false))).is_ok());
        }
        "slow-mixed" => {
            let guard = guard(&runtime, row);
            let mut turn = NowAndThen::default();
            both(calls, || finish(guard.call_once(answer(turn.fails()))).is_ok());
        }
        _ => {
            let guard = guard(&runtime, row);
            both(calls, || ours::call(&guard));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn both<T>(calls: u32, mut call: impl FnMut() -> T) {
    for _ in 0..WARM {
        black_box(call());
    }
    // Long enough for who keeps the metrics to see how many there are.
    let warmed = std::time::Instant::now();
    while cfg!(feature = "metrics") && warmed.elapsed() < std::time::Duration::from_secs(2) {
        black_box(call());
    }
    counted_calls(calls, call);
}

/// Callgrind collects while this runs; it knows it by its name.
#[inline(never)]
fn counted_calls<T>(calls: u32, mut call: impl FnMut() -> T) {
    for _ in 0..calls {
        black_box(call());
    }
}
