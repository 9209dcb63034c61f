//! Slots, the time of the whole call, and what traffic there was.

use std::time::Duration;

use resilience_policy::pauses;

use super::super::advice::{Number, Refused, Suggestion, round_up, written};
use super::super::evidence::Evidence;
use super::super::statistics::count;
use super::{Desk, HEADROOM, RATE_CALLS, ceil, figure, is_near};

impl Desk<'_> {
    /// Little's law at the busiest, with room for chance.
    pub(super) fn slots(&mut self) {
        if !self.rate_is_known() {
            return self.refuse_rate("bulkhead.max_concurrent");
        }
        let Evidence {
            answers, p99, longest, ..
        } = *self.evidence;
        if answers < RATE_CALLS {
            self.advice.refused.push(Refused {
                key: "bulkhead.max_concurrent",
                reason: format!(
                    "Little's law needs how long an answer takes: {answers} answers are here, {RATE_CALLS} are needed"
                ),
                have: count(answers),
                need: count(RATE_CALLS),
            });
            return;
        }
        let (name, takes) = if self.evidence.p99_bound.is_some() {
            ("p99", p99)
        } else {
            ("the longest", longest)
        };
        let instances_f = f64::from(self.evidence.instances);
        let busiest = self.evidence.busiest_rate / instances_f;
        let need = busiest * takes.as_secs_f64();
        let slots = ceil((need + 3.0 * need.sqrt()).max(HEADROOM * need)).max(2);
        let now = self
            .now
            .and_then(|now| now.bulkhead.as_ref())
            .map(|now| now.max_concurrent);
        let capacity = self.now.and_then(|now| now.traffic.capacity);
        let mut reason = format!(
            "Little's law: {} calls/s an instance in the busiest ten seconds × {name} of {answers} answers, {}, keep {} \
             slots busy; three standard deviations of chance arrivals above that, and a fifth at least",
            figure(busiest),
            written(takes),
            figure(need),
        );
        let slots = match capacity.map(|capacity| capacity / u64::from(self.evidence.instances)) {
            Some(share) if u64::from(slots) > share => {
                let share = u32::try_from(share).unwrap_or(u32::MAX);
                if f64::from(share) < HEADROOM * need || share == 0 {
                    self.advice.refused.push(Refused {
                        key: "bulkhead.max_concurrent",
                        reason: format!(
                            "{reason}; but the far side takes {share} an instance: no number of slots fits both, so \
                             there have to be fewer calls or more capacity",
                        ),
                        have: f64::from(share),
                        need: HEADROOM * need,
                    });
                    return;
                }
                reason.push_str("; cut to what the far side takes");
                share
            }
            _ => slots,
        };
        let suggestion = Suggestion {
            key: "bulkhead.max_concurrent",
            value: Number::Count(slots),
            old: now.map(|now| now.to_string()),
            reason,
            short: format!("{} calls/s × {} = {}", figure(busiest), written(takes), figure(need)),
            evidence: vec![
                ("calls_per_second_per_instance", busiest),
                ("latency_s", takes.as_secs_f64()),
                ("slots_needed", need),
                ("peak_in_flight", count(self.evidence.peak_in_flight)),
            ],
        };
        let kept =
            now.is_some_and(|now| is_near(f64::from(now), f64::from(slots)) && f64::from(now) >= HEADROOM * need);
        if kept {
            self.keep(&suggestion);
        } else {
            self.push(suggestion);
        }
        let per_instance = count(self.evidence.peak_in_flight) / instances_f;
        if per_instance > f64::from(slots) {
            self.advice.notes.push(format!(
                "at its worst the trace has {} calls an instance at once: {slots} slots would have refused the rest of \
                 them",
                figure(per_instance),
            ));
        }
    }

    /// All attempts have to fit in it.
    pub(super) fn deadline(&mut self, timeout: Option<Duration>) {
        let (Some(now), Some(timeout)) = (self.now, timeout) else {
            return;
        };
        let Some(deadline) = now.deadline else { return };
        let wait = now
            .bulkhead
            .as_ref()
            .map_or(Duration::ZERO, |bulkhead| bulkhead.max_wait);
        let attempts = now.retry.as_ref().map_or(1, |retry| retry.max_attempts);
        let longest = wait + timeout * attempts + pauses(now).iter().sum::<Duration>();
        if longest <= deadline {
            return;
        }
        self.push(Suggestion {
            key: "deadline",
            value: Number::Time(round_up(longest)),
            old: Some(written(deadline)),
            reason: format!(
                "{} waiting, {attempts} × the timeout of {} and the pauses have to fit in it",
                written(wait),
                written(timeout),
            ),
            short: format!("{attempts} × {} and pauses", written(timeout)),
            evidence: vec![("longest_answer_s", longest.as_secs_f64())],
        });
    }

    /// What the lints go by from now on.
    pub(super) fn traffic(&mut self) {
        if !self.rate_is_known() || self.evidence.answers < RATE_CALLS {
            return;
        }
        let Evidence {
            answers,
            median,
            calls,
            span_s,
            instances,
            ..
        } = *self.evidence;
        let traffic = self.now.map(|now| now.traffic.clone()).unwrap_or_default();
        let measured = |reason: String, short: String, key, value, old, evidence: Vec<_>| Suggestion {
            key,
            value,
            old,
            reason,
            short,
            evidence,
        };
        let rate = self.evidence.rate;
        // Not "near enough": the other numbers are fitted to these, and the lints hold them against each other.
        if traffic
            .calls_per_second
            .is_none_or(|old| (old - rate).abs() > 1e-9 * rate)
        {
            let text = format!("measured: {calls} calls in {} s", figure(span_s));
            let old = traffic.calls_per_second.map(figure);
            let evidence = vec![("calls", count(calls)), ("span_s", span_s)];
            self.push(measured(
                text.clone(),
                text,
                "traffic.calls_per_second",
                Number::Rate(rate),
                old,
                evidence,
            ));
        }
        if traffic.instances.unwrap_or(1) != instances {
            let text = "as told, or as the trace names them".to_owned();
            let old = traffic.instances.map(|old| old.to_string());
            let value = Number::Count(instances);
            self.push(measured(
                text.clone(),
                text,
                "traffic.instances",
                value,
                old,
                Vec::new(),
            ));
        }
        let takes = if self.evidence.p99_bound.is_some() {
            self.evidence.p99
        } else {
            self.evidence.longest
        };
        for (key, name, old, time) in [
            ("traffic.latency", "the median", traffic.latency, median),
            ("traffic.latency_p99", "p99", traffic.latency_p99, takes),
        ] {
            if old != Some(time) {
                let text = format!("measured: {name} of {answers} answers");
                let old = old.map(written);
                let evidence = vec![("answers", count(answers))];
                self.push(measured(text.clone(), text, key, Number::Time(time), old, evidence));
            }
        }
    }
}
