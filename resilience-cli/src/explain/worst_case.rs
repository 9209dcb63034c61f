//! The longest that a call can take, moment by moment: as text here, as a picture in `picture_of_time`.

use std::fmt::Write as _;
use std::time::Duration;

use resilience_policy::{Dependency, Fail, format_duration as time, pauses};

/// More attempts than this are summed up.
const SHOWN: usize = 8;

/// What a call is doing for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Waiting,
    Attempt,
    Pause,
}

/// One stretch of the line, or a remark between two.
pub(super) enum Moment {
    Step {
        doing: Doing,
        what: String,
        from: Duration,
        takes: Duration,
    },
    Remark {
        what: String,
        at: Duration,
    },
}

/// The whole line.
pub(super) struct Line {
    pub(super) moments: Vec<Moment>,
    pub(super) deadline: Option<Duration>,
    /// When the call ends at the latest; nothing where no bound ends it.
    pub(super) ends: Option<Duration>,
    /// What a fallback may take beyond that.
    pub(super) fallback: Option<Duration>,
    now: Duration,
    over: bool,
}

/// A call that waits as long as it may, whose every attempt times out, and whose pauses are the longest.
pub(super) fn line(dependency: &Dependency) -> Line {
    let mut line = Line {
        moments: Vec::new(),
        deadline: dependency.deadline,
        ends: None,
        // A fallback that only refuses takes no time.
        fallback: (dependency.fail == Fail::Open).then_some(dependency.fallback.timeout),
        now: Duration::ZERO,
        over: false,
    };
    if let Some(bulkhead) = dependency.bulkhead.as_ref().filter(|bulkhead| bulkhead.max_waiting > 0) {
        line.step(Doing::Waiting, "waits for a slot", bulkhead.max_wait);
    }
    let Some(timeout) = dependency.timeout else {
        line.remark("attempt 1 begins; no timeout ends it");
        line.ends = dependency.deadline;
        if let Some(deadline) = dependency.deadline {
            line.now = deadline;
            line.remark("the deadline ends the call");
        }
        return line;
    };
    line.attempts(timeout, &pauses(dependency));
    if !line.over {
        line.remark("the caller has its answer, or its fallback begins");
    }
    line.ends = Some(line.now);
    line
}

impl Line {
    fn attempts(&mut self, timeout: Duration, pauses: &[Duration]) {
        let attempts = pauses.len() + 1;
        for attempt in 1..=attempts {
            if attempt == SHOWN + 1 && attempts > SHOWN + 1 {
                let rest: Duration = pauses[attempt - 1..].iter().sum();
                let left = u32::try_from(attempts - attempt + 1).unwrap_or(u32::MAX);
                let what = format!("attempts {attempt} to {attempts} and their pauses");
                self.step(Doing::Attempt, &what, rest + timeout.saturating_mul(left));
                return;
            }
            self.step(Doing::Attempt, &format!("attempt {attempt}"), timeout);
            let Some(pause) = pauses.get(attempt - 1) else { return };
            // A pause that would reach the deadline is not begun.
            if self.deadline.is_some_and(|end| self.now + *pause >= end) {
                if !self.over {
                    self.remark("no further pause fits before the deadline: the last result is returned");
                    self.over = true;
                }
                return;
            }
            self.step(Doing::Pause, "pause", *pause);
        }
    }

    fn remark(&mut self, what: &str) {
        self.moments.push(Moment::Remark {
            what: what.to_owned(),
            at: self.now,
        });
    }

    fn step(&mut self, doing: Doing, what: &str, takes: Duration) {
        if self.over {
            return;
        }
        let (what, from) = (format!("{what} ({})", time(takes)), self.now);
        let left = self.deadline.map_or(takes, |end| takes.min(end.saturating_sub(from)));
        self.moments.push(Moment::Step {
            doing,
            what,
            from,
            takes: left,
        });
        self.now += takes;
        if let Some(end) = self.deadline.filter(|end| self.now > *end) {
            self.now = end;
            self.remark("the deadline ends the call");
            self.over = true;
        }
    }

    /// One line for each moment.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for moment in &self.moments {
            let (at, what) = match moment {
                Moment::Step { what, from, .. } => (from, what),
                Moment::Remark { what, at } => (at, what),
            };
            let _ = writeln!(text, "  {:>9}  {what}", time(*at));
        }
        if let Some(more) = self.fallback {
            let _ = writeln!(
                text,
                "  {:>9}  a fallback of `path` or `with` may take {} more",
                "",
                time(more)
            );
        }
        text
    }
}
