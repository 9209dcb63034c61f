//! The rules, one function a number. Each says what it rests on, and refuses where that is too little.

mod breaker;
mod room;

use std::time::Duration;

use resilience_policy::Dependency;
use resilience_policy::reference::Id;

use super::advice::{Advice, Kept, Number, Refused, Suggestion, Verdict, round_up, written};
use super::evidence::Evidence;
use super::statistics::{count, needed};

/// A rate of calls is believed from so many calls over so long a time.
const RATE_CALLS: usize = 20;
const RATE_SECONDS: f64 = 10.0;
/// Room that the lints want above Little's law.
const HEADROOM: f64 = 1.2;
/// Results older than this say little about now; fewer than that little about a rate.
const STALE_SECONDS: f64 = 600.0;
const EVIDENCE: u32 = 20;
/// An opening by chance alone is to be rarer than this, each time the window is looked at.
const CHANCE: f64 = 1e-6;
/// From this share of the calls on, answers that are a no are what goes wrong with a dependency.
const BUSINESS_SHARE: f64 = 0.1;

/// Works out what the evidence says for a dependency, beside what the policy says now.
pub(super) fn advise(evidence: &Evidence, now: Option<&Dependency>) -> Advice {
    let mut desk = Desk {
        evidence,
        now,
        advice: Advice {
            verdict: Verdict::Breaker,
            because: String::new(),
            suggestions: Vec::new(),
            kept: Vec::new(),
            refused: Vec::new(),
            notes: Vec::new(),
            drop_breaker: false,
        },
    };
    desk.judge();
    let timeout = desk.timeout();
    if desk.advice.verdict == Verdict::Breaker {
        desk.breaker(timeout);
    }
    desk.slots();
    desk.deadline(timeout);
    desk.traffic();
    desk.remarks();
    let place = |key: &str| Id::ALL.iter().position(|id| id.key().path == key);
    desk.advice.suggestions.sort_by_key(|suggestion| place(suggestion.key));
    desk.advice
}

struct Desk<'a> {
    evidence: &'a Evidence,
    now: Option<&'a Dependency>,
    advice: Advice,
}

impl Desk<'_> {
    fn rate_is_known(&self) -> bool {
        self.evidence.calls >= RATE_CALLS && self.evidence.span_s >= RATE_SECONDS
    }

    /// Whether there is a breaker here at all.
    fn judge(&mut self) {
        let Evidence {
            calls,
            business,
            throttled,
            span_s,
            ..
        } = *self.evidence;
        if !self.rate_is_known() {
            self.advice.verdict = Verdict::Thin;
            self.advice.because = format!(
                "{calls} calls in {} s are too few to say how often it is called",
                figure(span_s)
            );
            self.refuse_rate("breaker.window");
            self.refuse_rate("breaker.minimum_calls");
            self.refuse_rate("breaker.cooldown");
            return;
        }
        let per = self.evidence.per_instance();
        let held = per * STALE_SECONDS;
        let has_breaker = self.now.is_some_and(|now| now.breaker.is_some());
        let (Ok(wanted) | Err(wanted)) = self.minimum_for(self.failure_rate());
        if held < f64::from(wanted) {
            self.advice.verdict = Verdict::BulkheadOnly;
            self.advice.drop_breaker = has_breaker;
            let failing = match wanted {
                EVIDENCE => String::new(),
                _ => format!(
                    ", where {} % fail in health,",
                    figure(self.evidence.failing_in_health * 100.0)
                ),
            };
            self.advice.because = format!(
                "no breaker here, a bulkhead: {} calls/s an instance are {} in ten minutes, and a rate over fewer than \
                 {wanted}{failing} says nothing; a breaker could sit where the calls of all {} instances pass, at a gateway",
                figure(per),
                figure(held),
                self.evidence.instances,
            );
            return;
        }
        let no_failure = self.evidence.failed() == 0 && throttled == 0;
        if no_failure && count(business) >= BUSINESS_SHARE * count(calls) {
            self.advice.verdict = Verdict::BulkheadOnly;
            self.advice.drop_breaker = has_breaker;
            self.advice.because = format!(
                "no breaker here, a bulkhead: all {business} calls that went wrong are business, answers of a \
                 dependency at work, which no breaker counts; what it can do to this service is to become slow",
            );
            return;
        }
        self.advice.because = format!(
            "a breaker and a bulkhead: {} calls/s an instance are evidence enough",
            figure(per)
        );
    }

    fn refuse_rate(&mut self, key: &'static str) {
        let (calls, span) = (self.evidence.calls, self.evidence.span_s);
        let few = calls < RATE_CALLS;
        self.advice.refused.push(Refused {
            key,
            reason: format!(
                "it rests on the calls a second: {calls} calls over {} s are here, {RATE_CALLS} calls over \
                 {RATE_SECONDS} s are needed",
                figure(span)
            ),
            have: if few { count(calls) } else { span },
            need: if few { count(RATE_CALLS) } else { RATE_SECONDS },
        });
    }

    /// The percentile of an acceptable share of false timeouts, plus padding.
    fn timeout(&mut self) -> Option<Duration> {
        let now = self.now.and_then(|now| now.timeout);
        let Evidence { answers, median, .. } = *self.evidence;
        let (name, factor, seen, bound) = match (self.evidence.p999_bound, self.evidence.p99_bound) {
            (Some(bound), _) => ("p99.9", 1.5, self.evidence.p999, bound),
            (None, Some(bound)) => ("p99", 2.0, self.evidence.p99, bound),
            (None, None) => {
                let need = needed(0.99);
                self.advice.refused.push(Refused {
                    key: "timeout",
                    reason: format!(
                        "{answers} answers are here, {need} are needed: only the longest of {need} lies above p99 with \
                         a confidence of 95 %"
                    ),
                    have: count(answers),
                    need: count(need),
                });
                return now;
            }
        };
        let time = round_up(bound.mul_f64(factor).max(median * 4).max(Duration::from_millis(1)));
        let cut = self.evidence.failures.get("timeout").copied().unwrap_or(0);
        let censored = if cut > 0 {
            format!("; {cut} calls were cut by a timeout already, and how long those would have taken is unknown")
        } else {
            String::new()
        };
        let suggestion = Suggestion {
            key: "timeout",
            value: Number::Time(time),
            old: now.map(written),
            reason: format!(
                "{factor} × {name} of {answers} answers ({}; with 95 % confidence not above {}), and not below four \
                 medians of {}: the percentile is the share of good answers given up, the rest is padding (Amazon \
                 Builders' Library, \"Timeouts, retries and backoff with jitter\"){censored}",
                written(seen),
                written(bound),
                written(median),
            ),
            short: format!("{factor} × {name} of {answers} answers, {}", written(bound)),
            evidence: vec![
                ("answers", count(answers)),
                ("median_s", median.as_secs_f64()),
                ("percentile_s", seen.as_secs_f64()),
                ("bound_s", bound.as_secs_f64()),
                ("timed_out", count(cut)),
            ],
        };
        let kept = now.filter(|now| is_near(now.as_secs_f64(), time.as_secs_f64()));
        Some(match kept {
            Some(now) => {
                self.keep(&suggestion);
                now
            }
            None => self.suggest(suggestion, time),
        })
    }

    fn remarks(&mut self) {
        let evidence = self.evidence;
        if evidence.never_well {
            self.advice.notes.push(
                "more than half of the calls are in stretches that look sick: there is no telling what health is, so \
                 nothing was left out; take a trace of a good day"
                    .into(),
            );
        } else if evidence.outages > 0 {
            self.advice.notes.push(format!(
                "{} s in {} look sick (a median above twice the usual one, or a quarter of failures): left out of the \
                 latencies",
                figure(evidence.sick_s),
                crate::check::plural(evidence.outages, "stretch", "stretches"),
            ));
        }
        if evidence.rejected > 0 {
            self.advice.notes.push(format!(
                "{} calls were refused by the policy of that time, or left by their callers before: what they would have met is unknown",
                evidence.rejected
            ));
        }
        if evidence.keys > 2 && evidence.busiest_key > 0.5 {
            self.advice.notes.push(format!(
                "one of {} keys makes {} % of the calls: `bulkhead.per_key` keeps it from taking every slot",
                evidence.keys,
                figure(evidence.busiest_key * 100.0),
            ));
        }
        if evidence.throttled > 0 {
            self.advice.notes.push(format!(
                "{} answers ask for fewer calls: that is neither success nor failure; `throttle = \"dependency\"` \
                 makes everybody wait",
                evidence.throttled
            ));
        }
    }

    fn push(&mut self, suggestion: Suggestion) {
        self.suggest(suggestion, ());
    }

    fn suggest<T>(&mut self, suggestion: Suggestion, value: T) -> T {
        self.advice.suggestions.push(suggestion);
        value
    }

    fn keep(&mut self, suggestion: &Suggestion) {
        self.advice.kept.push(Kept {
            key: suggestion.key,
            value: suggestion.old.clone().unwrap_or_default(),
            suggested: suggestion.value.to_string(),
        });
    }
}

/// Nobody counts half seconds of a cooldown.
fn whole_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_nanos().div_ceil(1_000_000_000).try_into().unwrap_or(u64::MAX))
}

/// A value within a quarter is not worth a change.
fn is_near(now: f64, wanted: f64) -> bool {
    now >= 0.75 * wanted && now <= wanted / 0.75
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // cut to the range before
fn ceil(number: f64) -> u32 {
    (number - 1e-9).ceil().clamp(0.0, 1e6) as u32
}

fn instances(number: u32) -> String {
    crate::check::counted(number as usize, "instance")
}

/// A figure with at most three digits after the point, none of them for show.
pub(super) fn figure(number: f64) -> String {
    let digits = match number.abs() {
        from_hundred if from_hundred >= 100.0 => 0,
        from_one if from_one >= 1.0 => 1,
        from_tenth if from_tenth >= 0.1 => 2,
        _ => 4,
    };
    let text = format!("{number:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
