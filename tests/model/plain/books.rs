//! What has been counted since the beginning, by the series of the contract.

use std::collections::BTreeMap;

use crate::far::Answer;
use crate::ledger::{Shown, count_of, value_of};

#[derive(Debug, Default)]
pub(crate) struct Books {
    counts: BTreeMap<String, u64>,
    /// Milliseconds that attempts took which were not dropped.
    took: u64,
}

impl Books {
    /// A call is over. The fallback of both functions is `none`, so who is not answered gets an error.
    pub(crate) fn call(&mut self, outcome: &str) {
        let good = ["success", "business"].contains(&outcome);
        let served = if good { "primary" } else { "error" };
        self.one(format!("calls_total outcome={outcome} served={served}"));
    }

    /// A function had to tell its caller why there is no answer; a guard by hand has no fallback to count.
    pub(crate) fn fallback(&mut self, reason: &str) {
        self.one(format!("fallbacks_total kind=none reason={reason}"));
    }

    /// An attempt that was not dropped is over, by itself or cut.
    pub(crate) fn attempt(&mut self, answer: Option<Answer>, probe: bool, took: u64) {
        let kind = match answer {
            None => Some("timeout"),
            Some(Answer::Failed(kind)) => Some(kind.as_str()),
            Some(Answer::Panic) => Some("other"),
            _ => None,
        };
        let kind = kind.map(|kind| format!("kind={kind} ")).unwrap_or_default();
        self.one(format!("attempts_total {kind}outcome={}", outcome(answer)));
        self.one("attempt_duration_seconds count".into());
        self.took += took;
        if probe {
            self.one(format!("probes_total outcome={}", outcome(answer)));
        }
    }

    pub(crate) fn dropped(&mut self, probe: bool) {
        self.one("attempts_total outcome=cancelled".into());
        if probe {
            self.one("probes_total outcome=cancelled".into());
        }
    }

    pub(crate) fn rejection(&mut self, reason: &str) {
        self.one(format!("rejections_total reason={reason}"));
    }

    pub(crate) fn retry(&mut self) {
        self.one("retries_total".into());
    }

    pub(crate) fn reload(&mut self) {
        self.one("policy_reloads_total result=accepted".into());
    }

    /// As it is told: `closed>open failure_rate`.
    pub(crate) fn transition(&mut self, told: &str) {
        let (states, cause) = told.split_once(' ').expect("a cause");
        let (from, to) = states.split_once('>').expect("two states");
        self.one(format!("breaker_transitions_total cause={cause} from={from} to={to}"));
    }

    pub(crate) fn shown(&self) -> Shown {
        let mut shown = Shown::new();
        for (name, count) in &self.counts {
            count_of(&mut shown, name, *count);
        }
        value_of(&mut shown, "attempt_duration_seconds sum", seconds(self.took));
        shown
    }

    fn one(&mut self, series: String) {
        *self.counts.entry(series).or_default() += 1;
    }
}

/// The word of an attempt's outcome, and of a call's that ends with it.
pub(crate) fn outcome(answer: Option<Answer>) -> &'static str {
    match answer {
        Some(Answer::Success) => "success",
        Some(Answer::Business) => "business",
        Some(Answer::Failed(_)) | None => "failure",
        Some(Answer::Throttled(_)) => "throttled",
        Some(Answer::Ignored) => "ignored",
        Some(Answer::Panic) => "panicked",
        Some(Answer::Never) => unreachable!("it does not end"),
    }
}

pub(crate) fn seconds(millis: u64) -> f64 {
    #[allow(clippy::cast_precision_loss)] // a few days
    let millis = millis as f64;
    millis / 1_000.0
}
