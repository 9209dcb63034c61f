//! Half-open: probes first, then the ramp.

use resilience_policy::Breaker as Numbers;

use super::Refusal;
use crate::clock::NEVER;
use crate::words::Cause;

/// What those who come during a ramp and are not admitted are told.
const RAMP_RETRY_AFTER: u64 = 1_000_000_000;

#[derive(Debug, Default)]
pub(super) struct HalfOpen {
    /// Number and end of time of each probe that runs.
    pub(super) running: Vec<(u64, u64)>,
    pub(super) successes: u32,
    /// `None` while probing; then the step of the ramp.
    pub(super) step: Option<usize>,
    arrivals: u64,
    admitted: u64,
}

impl HalfOpen {
    /// Before the first probe, with an empty list to keep them in.
    pub(super) fn with(running: Vec<(u64, u64)>) -> Self {
        Self {
            running,
            ..Self::default()
        }
    }

    pub(super) fn has_room(&self, now: u64, numbers: &Numbers) -> Result<(), Refusal> {
        if let Some(step) = self.step {
            return if self.is_turn(share(numbers, step)) {
                Ok(())
            } else {
                Err(Refusal::ProbesBusy {
                    retry_after: RAMP_RETRY_AFTER,
                })
            };
        }
        let needed = numbers.probe_successes.saturating_sub(self.successes);
        let allowed = numbers.probes.min(needed) as usize;
        if self.running.len() < allowed {
            return Ok(());
        }
        let longest = self.running.iter().map(|probe| probe.1).max().unwrap_or(NEVER);
        // At the very end of the probe the answer differs a moment later: "at once" would never be true.
        Err(Refusal::ProbesBusy {
            retry_after: longest.saturating_sub(now).max(1),
        })
    }

    pub(super) fn admit(&mut self, now: u64, numbers: &Numbers) -> Result<(), Refusal> {
        let answer = self.has_room(now, numbers);
        if self.step.is_some() {
            self.arrivals += 1;
            if answer.is_ok() {
                self.admitted += 1;
            }
        }
        answer
    }

    /// Whether this arrival is one of the share: the first, and then one per 1 ÷ share.
    fn is_turn(&self, share: f64) -> bool {
        #[allow(clippy::cast_precision_loss)] // arrivals of one step, far below 2^52
        let (arrivals, admitted) = (self.arrivals as f64, self.admitted as f64);
        arrivals >= admitted / share - 1e-9
    }

    /// One success more; says with which cause to close when that was the last one needed.
    pub(super) fn succeeded(&mut self, numbers: &Numbers) -> Option<Cause> {
        self.successes += 1;
        if self.successes < numbers.probe_successes {
            return None;
        }
        let next = self.step.map_or(0, |step| step + 1);
        if next < numbers.ramp.len() {
            self.step = Some(next);
            self.successes = 0;
            self.arrivals = 0;
            self.admitted = 0;
            return None;
        }
        Some(if self.step.is_some() {
            Cause::RampDone
        } else {
            Cause::ProbesSucceeded
        })
    }
}

/// A reload may have shortened the ramp while it ran: then everybody is admitted until it ends.
fn share(numbers: &Numbers, step: usize) -> f64 {
    numbers.ramp.get(step).copied().unwrap_or(1.0)
}
