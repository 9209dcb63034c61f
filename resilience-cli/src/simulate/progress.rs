//! A bar for those who wait at a terminal. It says nothing to a file or a pipe, nor of what takes a moment.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(1);
const WIDTH: usize = 40;

/// How far a run is.
pub(super) struct Progress {
    began: Instant,
    watched: bool,
    shown: AtomicBool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            watched: std::io::stderr().is_terminal(),
            shown: AtomicBool::new(false),
        }
    }

    /// Draws the bar anew.
    pub(super) fn tell(&self, share: f64) {
        if self.watched && self.began.elapsed() >= PATIENCE {
            self.shown.store(true, Ordering::Relaxed);
            draw(&bar(share));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.load(Ordering::Relaxed) {
            // What comes next begins on a clean line.
            draw(&" ".repeat(WIDTH + 8));
            draw("");
        }
    }
}

fn bar(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // of 40
    let done = (share * WIDTH as f64) as usize;
    format!(
        "[{}{}] {:3.0} %",
        "#".repeat(done),
        " ".repeat(WIDTH - done),
        share * 100.0
    )
}

fn draw(text: &str) {
    let mut err = std::io::stderr();
    // A terminal that went away is nobody who waits.
    let _ = write!(err, "\r{text}").and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn the_bar_fills_from_nothing_to_all() {
        assert_eq!(bar(-0.1), format!("[{}]   0 %", " ".repeat(40)));
        assert_eq!(bar(0.5), format!("[{}{}]  50 %", "#".repeat(20), " ".repeat(20)));
        assert_eq!(bar(2.0), format!("[{}] 100 %", "#".repeat(40)));
    }
}
