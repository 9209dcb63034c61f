//! What is shown while it runs: a block that is redrawn on a terminal, lines elsewhere.

use std::io::{self, IsTerminal, Write as _};
use std::time::Duration;

use resilience_runtime::DependencySnapshot;

use crate::book::{Cells, Source};
use crate::guards::Guards;
use crate::incident::Phase;
use crate::paint::Paint;
use crate::service::{Route, Twin};
use crate::watch::Reasons;

/// What there is to tell of one second.
pub(crate) struct Second {
    pub(crate) at: Duration,
    pub(crate) guards: Guards,
    pub(crate) cells: Cells,
    /// Of the guarded twin, by route.
    pub(crate) rejected: [Reasons; 3],
    /// Requests inside the service, by twin and route.
    pub(crate) held: [[usize; 3]; 2],
}

/// How the run is told while it goes on.
pub(crate) struct Live {
    terminal: bool,
    quiet: bool,
    paint: Paint,
    drawn: usize,
}

impl Live {
    /// `quiet` keeps standard output for the document that comes at the end.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            terminal: io::stdout().is_terminal(),
            quiet,
            paint: Paint::of_stdout(),
            drawn: 0,
        }
    }

    pub(crate) fn phase(&mut self, phase: Phase) -> io::Result<()> {
        let title = self.paint.bold(&format!("── {}: {}", phase.name(), phase.about()));
        if self.terminal {
            return self.lines(&[String::new(), title]);
        }
        self.lines(&[String::new(), title, heading()])
    }

    /// Lines that stay.
    pub(crate) fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() { Ok(()) } else { self.draw(lines, 0) }
    }

    /// On a terminal it takes the place of the second before.
    pub(crate) fn second(&mut self, second: &Second) -> io::Result<()> {
        let mut block = Vec::new();
        if self.terminal {
            block.push(self.paint.dim(&heading()));
        }
        block.extend(Route::ALL.map(|route| self.row(second, route)));
        let stays_until_next = if self.terminal { block.len() } else { 0 };
        self.draw(&block, stays_until_next)
    }

    fn row(&self, second: &Second, route: Route) -> String {
        let guard = second.guards.of(route);
        let cell = |twin: Twin| &second.cells[twin as usize][route as usize];
        let held = |twin: Twin| second.held[twin as usize][route as usize];
        let (guarded, without) = (cell(Twin::Guarded), cell(Twin::Unguarded));
        format!(
            "{:3.0} s  {:<8} {} {:>5} {:>5} {:>5} {:>5} {} {:>8} {:>8} {:>5} │ {:>5} {} {:>8} {:>8} {:>5} │ {}",
            second.at.as_secs_f64(),
            route.dependency(),
            self.paint.state(&guard.map_or_else(String::new, state), 10),
            guard.map_or_else(String::new, slots),
            guarded.from(Source::Primary),
            guarded.from(Source::Fallback),
            guarded.from(Source::Stale),
            self.paint.errors(guarded.from(Source::Error), 5),
            millis(guarded.percentile(50)),
            millis(guarded.percentile(99)),
            held(Twin::Guarded),
            without.from(Source::Primary),
            self.paint.errors(without.from(Source::Error), 5),
            millis(without.percentile(50)),
            millis(without.percentile(99)),
            held(Twin::Unguarded),
            counts(&second.rejected[route as usize]).join(", "),
        )
    }

    /// In place of what was drawn last and does not stay.
    fn draw(&mut self, lines: &[String], drawn: usize) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut out = lines.join("\n");
        if self.terminal {
            // Up so many lines and away with all below. A line too long is cut: wrapped, it would count as two.
            let up = if self.drawn == 0 {
                String::new()
            } else {
                format!("\x1b[{}A\x1b[J", self.drawn)
            };
            out = format!("{up}\x1b[?7l{out}\x1b[?7h");
        }
        self.drawn = drawn;
        writeln!(io::stdout(), "{out}")
    }
}

fn heading() -> String {
    format!(
        "{:5}  {:<8} {:<10} {:>5} {:>5} {:>5} {:>5} {:>5} {:>8} {:>8} {:>5} │ {:>5} {:>5} {:>8} {:>8} {:>5} │ {}",
        "",
        "",
        "state",
        "slots",
        "prim",
        "fall",
        "stale",
        "error",
        "p50",
        "p99",
        "held", //
        "alone",
        "error",
        "p50",
        "p99",
        "held",
        "rejected",
    )
}

/// Each reason with its count.
pub(crate) fn counts(reasons: &Reasons) -> Vec<String> {
    reasons
        .iter()
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect()
}

/// The operator's mode where it rules; else the breaker's state, and how much longer it is open.
fn state(guard: &DependencySnapshot) -> String {
    match (guard.mode, guard.state, guard.retry_after) {
        ("enforce", Some("open"), Some(left)) => format!("open {left:.1}s"),
        ("enforce", state, _) => state.unwrap_or("-").to_owned(),
        (mode, ..) => mode.to_owned(),
    }
}

fn slots(guard: &DependencySnapshot) -> String {
    let limit = guard.limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string());
    format!("{}/{limit}", guard.in_flight)
}

/// Milliseconds, with a decimal where it says something.
pub(crate) fn millis(took: Option<Duration>) -> String {
    match took.map(|took| took.as_secs_f64() * 1e3) {
        None => "-".to_owned(),
        Some(millis) if millis < 10.0 => format!("{millis:.1} ms"),
        Some(millis) => format!("{millis:.0} ms"),
    }
}
