//! The script of the incident: which dependency is how unwell, and for how long.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::ValueEnum;

/// One stretch of the incident. The servers look it up on every request, so a change needs no restart of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Phase {
    /// Everybody answers, as fast as on any other day.
    Healthy,
    /// Payrail needs twenty times as long and never fails.
    Slow,
    /// Payrail, the seat-map store and the replica accept connections and never answer.
    Dead,
    /// Payrail answers and declines every card (402).
    Declining,
    /// Payrail takes a few charges a second and answers 429 with Retry-After to the others.
    Throttling,
    /// The incident is over.
    Back,
}

impl Phase {
    pub(crate) const ALL: [Self; 6] = [
        Self::Healthy,
        Self::Slow,
        Self::Dead,
        Self::Declining,
        Self::Throttling,
        Self::Back,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Slow => "slow",
            Self::Dead => "dead",
            Self::Declining => "declining",
            Self::Throttling => "throttling",
            Self::Back => "back",
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Healthy => "everybody answers",
            Self::Slow => "Payrail needs 800 ms instead of 40 and never fails",
            Self::Dead => "Payrail, the store and the replica accept and never answer",
            Self::Declining => "Payrail is back and declines every card",
            Self::Throttling => "Payrail takes 15 charges a second, the others get 429 with Retry-After",
            Self::Back => "everybody answers again",
        }
    }

    /// Long enough for every cooldown of the policy to end in it at least once, and all of them within a minute.
    pub(crate) const fn length(self) -> Duration {
        Duration::from_secs(match self {
            Self::Dead => 13,
            Self::Slow => 9,
            Self::Healthy | Self::Declining | Self::Throttling => 8,
            Self::Back => 6,
        })
    }
}

/// What goes on now, shared by everything that has to know.
#[derive(Debug, Default)]
pub(crate) struct Incident {
    phase: AtomicUsize,
    stage: AtomicUsize,
}

impl Incident {
    pub(crate) fn phase(&self) -> Phase {
        Phase::ALL[self.phase.load(Ordering::Relaxed)]
    }

    /// How many phases were entered so far; 0 while everything warms up. A call belongs to the stage in which it began.
    pub(crate) fn stage(&self) -> usize {
        self.stage.load(Ordering::Relaxed)
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as usize, Ordering::Relaxed);
        self.stage.fetch_add(1, Ordering::Relaxed);
    }
}
