//! The numbers of the breaker.

use std::time::Duration;

use resilience_policy::Window;

use super::super::advice::{Number, Refused, Suggestion, Verdict, round_up, written};
use super::super::evidence::Evidence;
use super::super::statistics::{chance_of_at_least, count, needed};
use super::{CHANCE, Desk, EVIDENCE, STALE_SECONDS, ceil, figure, instances, is_near, whole_seconds};

impl Desk<'_> {
    pub(super) fn breaker(&mut self, timeout: Option<Duration>) {
        let now = self.now.and_then(|now| now.breaker.clone());
        let Some(timeout) = timeout else {
            self.advice.verdict = Verdict::Thin;
            self.advice.because = "a breaker needs a timeout, and for that there is too little evidence".into();
            return;
        };
        let per = self.evidence.per_instance();
        let minimum = self.minimum(self.failure_rate(), per);
        self.window(per, minimum, timeout);
        if now.is_none() {
            self.push(Suggestion {
                key: "breaker.failure_rate",
                value: Number::Rate(0.5),
                old: None,
                reason: format!(
                    "half, as is built in: in health {} % of {} results fail here",
                    figure(self.evidence.failing_in_health * 100.0),
                    self.evidence.answers,
                ),
                short: format!("{} % fail in health", figure(self.evidence.failing_in_health * 100.0)),
                evidence: vec![("failing_in_health", self.evidence.failing_in_health)],
            });
        }
        self.slow(timeout);
        self.cooldown(timeout, per);
        self.in_flight();
    }

    /// As many results as make an opening by chance rare; `Err` with the least there can be where none do.
    pub(super) fn minimum_for(&self, rate: Option<f64>) -> Result<u32, u32> {
        let least = rate.map_or(EVIDENCE, |rate| EVIDENCE.max(ceil(1.0 / rate) + 1));
        (least..=200)
            .step_by(10)
            .find(|minimum| self.chance(rate, *minimum) < CHANCE)
            .ok_or(least)
    }

    /// How likely it is that so many results trip by chance, in health.
    fn chance(&self, rate: Option<f64>, minimum: u32) -> f64 {
        let p = self.evidence.failing_in_health;
        rate.map_or(0.0, |rate| {
            chance_of_at_least(ceil(rate * f64::from(minimum)), minimum, p)
        })
    }

    /// The rate that failures trip at: the policy's, or the built-in one.
    pub(super) fn failure_rate(&self) -> Option<f64> {
        let breaker = self.now.and_then(|now| now.breaker.as_ref());
        breaker.map_or(Some(0.5), |breaker| breaker.failure_rate)
    }

    fn minimum(&mut self, rate: Option<f64>, per: f64) -> u32 {
        let p = self.evidence.failing_in_health;
        let (Ok(minimum) | Err(minimum)) = self.minimum_for(rate);
        if self.minimum_for(rate).is_err() {
            self.advice.notes.push(format!(
                "{} % of the results fail in what passes for health: a rate of {} cannot tell that from sickness, so \
                 count on the bulkhead and mend the dependency first",
                figure(p * 100.0),
                figure(rate.unwrap_or(0.5)),
            ));
        }
        self.minimum_is(minimum, rate, per)
    }

    fn minimum_is(&mut self, minimum: u32, rate: Option<f64>, per: f64) -> u32 {
        let (p, chance) = (self.evidence.failing_in_health, self.chance(rate, minimum));
        let now = self.now.and_then(|now| now.breaker.as_ref());
        let suggestion = Suggestion {
            key: "breaker.minimum_calls",
            value: Number::Count(minimum),
            old: now.map(|now| now.minimum_calls.to_string()),
            reason: format!(
                "{} % of the results fail in health: of {minimum}, a share of {} or more does so by chance once in {}",
                figure(p * 100.0),
                figure(rate.unwrap_or(1.0)),
                if chance < 1e-12 {
                    "10¹² looks or fewer".into()
                } else {
                    format!("{:.0} looks", 1.0 / chance)
                },
            ),
            short: format!("{} % fail in health", figure(p * 100.0)),
            evidence: vec![("failing_in_health", p), ("chance", chance)],
        };
        let window = now.map(|now| now.window);
        let old = now
            .map(|now| now.minimum_calls)
            .filter(|old| *old >= minimum && *old <= minimum * 2 && f64::from(*old) <= per * STALE_SECONDS);
        match (old, window) {
            (Some(old), Some(_)) => {
                self.keep(&suggestion);
                old
            }
            _ => self.suggest(suggestion, minimum),
        }
    }

    /// Five seconds of calls, in calls: that means the same at noon and at night.
    fn window(&mut self, per: f64, minimum: u32, timeout: Duration) {
        let calls = ceil(per * 5.0).clamp(EVIDENCE, 200).max(minimum);
        // In tens, as far as they do not reach back too far.
        let round = if calls > 20 { calls.div_ceil(10) * 10 } else { calls };
        let calls = if f64::from(round) <= per * STALE_SECONDS {
            round
        } else {
            calls
        };
        let spans = f64::from(calls) / per;
        let now = self.now.and_then(|now| now.breaker.as_ref()).map(|now| now.window);
        let suggestion = Suggestion {
            key: "breaker.window",
            value: Number::Calls(calls),
            old: now.map(|now| now.to_string()),
            reason: format!(
                "{} calls/s an instance ({} in {} s on {}): {calls} calls are {} s of them; at least {EVIDENCE} make a \
                 rate, and they reach back less than ten minutes",
                figure(per),
                self.evidence.calls,
                figure(self.evidence.span_s),
                instances(self.evidence.instances),
                figure(spans),
            ),
            short: format!("{} s at {} calls/s an instance", figure(spans), figure(per)),
            evidence: vec![
                ("calls_per_second_per_instance", per),
                ("span_s", self.evidence.span_s),
                ("window_spans_s", spans),
            ],
        };
        let fits = match now {
            Some(Window::Calls(now)) => is_near(f64::from(now), f64::from(calls)) && now >= minimum,
            Some(Window::Time(time)) => {
                let held = time.as_secs_f64() * per;
                held >= f64::from(minimum.max(EVIDENCE)) && time >= timeout
            }
            None => false,
        };
        if fits {
            self.keep(&suggestion);
        } else {
            self.push(suggestion);
        }
    }

    /// Above what health is like, below what is cut anyway.
    fn slow(&mut self, timeout: Duration) {
        let Evidence {
            answers, median, p99, ..
        } = *self.evidence;
        if self.evidence.p99_bound.is_none() {
            let need = needed(0.99);
            self.advice.refused.push(Refused {
                key: "breaker.slow_after",
                reason: format!("{answers} answers are here, {need} are needed to say what is not slow"),
                have: count(answers),
                need: count(need),
            });
            return;
        }
        let mut slow = round_up((median * 2).max(p99.mul_f64(1.2)));
        if slow >= timeout {
            let below = timeout.mul_f64(0.8);
            if below < median * 2 {
                self.advice.notes.push(format!(
                    "no `slow_after`: there is no room between twice the median of {} and the timeout of {}",
                    written(median),
                    written(timeout),
                ));
                return;
            }
            slow = below;
        }
        let now = self.now.and_then(|now| now.breaker.as_ref());
        let old = now.and_then(|now| now.slow_after);
        let suggestion = Suggestion {
            key: "breaker.slow_after",
            value: Number::Time(slow),
            old: old.map(written),
            reason: format!(
                "twice the median of {}, or 1.2 × p99 of {}, whichever is longer, below the timeout: health is not slow, \
                 and slowness is seen before it times out",
                written(median),
                written(p99),
            ),
            short: format!("median {}, p99 {}", written(median), written(p99)),
            evidence: vec![("median_s", median.as_secs_f64()), ("p99_s", p99.as_secs_f64())],
        };
        let kept =
            old.is_some_and(|old| is_near(old.as_secs_f64(), slow.as_secs_f64()) && old >= median * 2 && old < timeout);
        if kept {
            self.keep(&suggestion);
        } else {
            self.push(suggestion);
        }
        if now.is_none_or(|now| now.slow_rate.is_none() && now.bad_rate.is_none()) {
            self.push(Suggestion {
                key: "breaker.slow_rate",
                value: Number::Rate(0.5),
                old: None,
                reason: "half of the calls slow is no accident where one in a hundred is in health".into(),
                short: "1 % or less in health".into(),
                evidence: vec![("p99_s", p99.as_secs_f64())],
            });
        }
    }

    /// Long enough to spare somebody, short enough to notice.
    fn cooldown(&mut self, timeout: Duration, per: f64) {
        let gap = Duration::from_secs_f64(1.0 / per);
        let now = self.now.and_then(|now| now.breaker.as_ref());
        let constant = now.is_some_and(|now| now.cooldown_factor <= 1.0);
        // One that does not grow has to be long enough from the start.
        let most = if constant {
            timeout * 10
        } else {
            Duration::from_secs(60)
        };
        let least = if constant { timeout * 10 } else { timeout.max(gap) };
        let time = (timeout * 10).min(most).max(Duration::from_secs(5));
        let time = whole_seconds(time.max(least).max(gap * 10));
        let outages = match self.evidence.outages {
            0 => String::new(),
            _ => format!(
                "; the trace has {}, {} s together",
                crate::check::plural(self.evidence.outages, "sick stretch", "sick stretches"),
                figure(self.evidence.sick_s)
            ),
        };
        let suggestion = Suggestion {
            key: "breaker.cooldown",
            value: Number::Time(time),
            old: now.map(|now| written(now.cooldown)),
            reason: format!(
                "ten timeouts of {}, within 5 s and a minute, and ten gaps of {} s between calls, so that not every \
                 call is a probe{outages}",
                written(timeout),
                figure(gap.as_secs_f64()),
            ),
            short: format!("ten timeouts of {}", written(timeout)),
            evidence: vec![
                ("timeout_s", timeout.as_secs_f64()),
                ("seconds_between_calls", gap.as_secs_f64()),
                ("outages", count(self.evidence.outages)),
                ("sick_s", self.evidence.sick_s),
            ],
        };
        let kept = now.is_some_and(|now| {
            is_near(now.cooldown.as_secs_f64(), time.as_secs_f64()) && now.cooldown >= least.max(gap)
        });
        if kept {
            return self.keep(&suggestion);
        }
        self.push(suggestion);
        let max = now.map(|now| now.cooldown_max).filter(|max| *max < time);
        if let Some(max) = max {
            let longer = time * 10;
            self.push(Suggestion {
                key: "breaker.cooldown_max",
                value: Number::Time(longer),
                old: Some(written(max)),
                reason: "ten cooldowns: it may not be shorter than one".into(),
                short: "ten cooldowns".into(),
                evidence: vec![("cooldown_s", time.as_secs_f64())],
            });
        }
    }

    /// A breaker that watches attempts in flight may not trip in health.
    fn in_flight(&mut self) {
        let now = self.now.and_then(|now| now.breaker.as_ref()?.in_flight);
        let need = self.evidence.per_instance() * self.evidence.p99.as_secs_f64();
        if let Some(now) = now.filter(|now| f64::from(*now) <= 1.5 * need) {
            let more = ceil(2.0 * need) + 1;
            self.push(Suggestion {
                key: "breaker.in_flight",
                value: Number::Count(more),
                old: Some(now.to_string()),
                reason: format!(
                    "health alone keeps {} attempts running; twice that is trouble",
                    figure(need)
                ),
                short: format!("twice the {} of health", figure(need)),
                evidence: vec![("slots_needed", need)],
            });
        }
    }
}
