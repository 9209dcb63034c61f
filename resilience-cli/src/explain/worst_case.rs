//! The longest that a call can take, moment by moment.

use std::fmt::Write as _;
use std::time::Duration;

use resilience_policy::{Dependency, Fail, format_duration as time, pauses};

/// More attempts than this are summed up.
const SHOWN: usize = 8;

/// One line for each moment, until the deadline or the last attempt's end.
pub(super) fn time_line(dependency: &Dependency) -> String {
    let mut line = Line {
        now: Duration::ZERO,
        end: dependency.deadline,
        text: String::new(),
        over: false,
    };
    if let Some(bulkhead) = dependency.bulkhead.as_ref().filter(|bulkhead| bulkhead.max_waiting > 0) {
        line.step("waits for a slot", bulkhead.max_wait);
    }
    let pauses = pauses(dependency);
    let attempts = pauses.len() + 1;
    for attempt in 1..=attempts {
        let Some(timeout) = dependency.timeout else {
            line.say(&format!("attempt {attempt} begins; no timeout ends it"));
            break;
        };
        if attempt == SHOWN + 1 && attempts > SHOWN + 1 {
            let rest: Duration = pauses[attempt - 1..].iter().sum();
            let left = u32::try_from(attempts - attempt + 1).unwrap_or(u32::MAX);
            line.step(
                &format!("attempts {attempt} to {attempts} and their pauses"),
                rest + timeout.saturating_mul(left),
            );
            break;
        }
        line.step(&format!("attempt {attempt}"), timeout);
        if let Some(pause) = pauses.get(attempt - 1) {
            // A pause that would reach the deadline is not begun.
            if line.end.is_some_and(|end| line.now + *pause >= end) {
                if !line.over {
                    line.say("no further pause fits before the deadline: the last result is returned");
                    line.over = true;
                }
                break;
            }
            line.step("pause", *pause);
        }
    }
    if !line.over {
        line.say("the caller has its answer, or its fallback begins");
    }
    // A fallback that only refuses takes no time.
    if dependency.fail == Fail::Open {
        let _ = writeln!(
            line.text,
            "  {:>9}  a fallback of `path` or `with` may take {} more",
            "",
            time(dependency.fallback.timeout)
        );
    }
    line.text
}

struct Line {
    now: Duration,
    end: Option<Duration>,
    text: String,
    over: bool,
}

impl Line {
    fn say(&mut self, what: &str) {
        let _ = writeln!(self.text, "  {:>9}  {what}", time(self.now));
    }

    fn step(&mut self, what: &str, takes: Duration) {
        if self.over {
            return;
        }
        self.say(&format!("{what} ({})", time(takes)));
        self.now += takes;
        if let Some(end) = self.end.filter(|end| self.now > *end) {
            self.now = end;
            self.say("the deadline ends the call");
            self.over = true;
        }
    }
}
