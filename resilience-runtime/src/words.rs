//! The words of the breaker: its states and the causes of their changes.

use std::fmt;

/// The state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Calls flow, and are counted.
    Closed,
    /// Calls are refused until the cooldown is over.
    Open,
    /// A few calls are let through to see whether the dependency is back.
    HalfOpen,
}

impl State {
    /// The word used in JSON, labels and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a breaker changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    FailureRate,
    SlowRate,
    BadRate,
    ConsecutiveFailures,
    InFlight,
    ProbeFailed,
    ProbeSlow,
    ProbeTimedOut,
    CooldownOver,
    ProbesSucceeded,
    RampDone,
    #[cfg_attr(not(feature = "testing"), allow(dead_code))] // only a test trips by hand
    Trip,
    #[cfg_attr(not(feature = "testing"), allow(dead_code))] // only a test resets by hand
    Reset,
    /// A reload took the breaker's table away while it was not closed.
    Reload,
}

impl Cause {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::FailureRate => "failure_rate",
            Self::SlowRate => "slow_rate",
            Self::BadRate => "bad_rate",
            Self::ConsecutiveFailures => "consecutive_failures",
            Self::InFlight => "in_flight",
            Self::ProbeFailed => "probe_failed",
            Self::ProbeSlow => "probe_slow",
            Self::ProbeTimedOut => "probe_timed_out",
            Self::CooldownOver => "cooldown_over",
            Self::ProbesSucceeded => "probes_succeeded",
            Self::RampDone => "ramp_done",
            Self::Trip => "trip",
            Self::Reset => "reset",
            Self::Reload => "reload",
        }
    }
}
