//! The far side: which entry holds, what it answers, and when.

mod ask;

use std::collections::VecDeque;

pub(super) use ask::{Ask, Running, stretch};

use super::chance::{draw, lognormal, unit};
use crate::simulate::scenario::{Answer, Answers, FarSide, Latency, Nanos, RecordedCall, SECOND};

/// Who asks the far side: everything that an answer may depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker {
    pub(super) path: usize,
    pub(super) instance: u32,
    pub(super) key: Option<u64>,
    /// A draw of the call's own.
    pub(super) draw: u64,
    pub(super) recorded: Option<RecordedCall>,
}

/// The far side of one path: what the file says, and what it has dealt.
#[derive(Debug, Default)]
pub(super) struct Far {
    entries: Vec<FarSide>,
    dealt: Vec<usize>,
    /// When the attempts of the last second began, by entry.
    begun: Vec<VecDeque<Nanos>>,
}

impl Far {
    pub(super) fn new(entries: Vec<FarSide>) -> Self {
        Self {
            dealt: vec![0; entries.len()],
            begun: vec![VecDeque::new(); entries.len()],
            entries,
        }
    }

    pub(super) fn entries(&self) -> &[FarSide] {
        &self.entries
    }

    /// The most specific entry that holds now, and of these the latest.
    fn holds(&self, now: Nanos, asker: &Asker, operation: Option<&str>) -> Option<usize> {
        let mut best = None;
        for (at, entry) in self.entries.iter().enumerate() {
            let fits = entry.from <= now
                && entry.operation.as_deref().is_none_or(|only| Some(only) == operation)
                && entry.instance.is_none_or(|only| only == asker.instance)
                && entry.key.is_none_or(|only| Some(only) == asker.key);
            if !fits {
                continue;
            }
            let specific = u8::from(entry.operation.is_some())
                + u8::from(entry.instance.is_some())
                + u8::from(entry.key.is_some());
            let rank = (specific, entry.from, at);
            if best.is_none_or(|(_, other)| rank >= other) {
                best = Some((at, rank));
            }
        }
        best.map(|(at, _)| at)
    }

    /// What a call that begins now is dealt, where the far side deals by calls.
    pub(super) fn deal(&mut self, now: Nanos, asker: &Asker, operation: Option<&str>) -> Option<(usize, Answer)> {
        let at = self.holds(now, asker, operation)?;
        let entry = &self.entries[at];
        match &entry.answers {
            Answers::Turn(turn) if entry.by_arrival => {
                let answer = turn[self.dealt[at] % turn.len()];
                self.dealt[at] += 1;
                Some((at, answer))
            }
            _ => None,
        }
    }

    /// What a call that was refused would have been answered, had it come through.
    pub(super) fn would_answer(
        &self,
        now: Nanos,
        asker: &Asker,
        operation: Option<&str>,
        dealt: Option<(usize, Answer)>,
    ) -> Answer {
        if let Some(recorded) = asker.recorded {
            return recorded.answer;
        }
        match (self.holds(now, asker, operation), dealt) {
            (_, Some((_, answer))) => answer,
            (None, None) => Answer::Success,
            (Some(at), None) => match &self.entries[at].answers {
                Answers::Turn(turn) => turn[self.dealt[at] % turn.len()],
                Answers::Chance(shares) => by_chance(shares, asker.draw, 0),
            },
        }
    }

    /// An attempt reaches the far side.
    fn answer(
        &mut self,
        now: Nanos,
        asker: &Asker,
        operation: Option<&str>,
        dealt: Option<(usize, Answer)>,
        attempt: u64,
    ) -> Answering {
        let Some(at) = self.holds(now, asker, operation) else {
            return Answering {
                answer: Answer::Success,
                latency: Some(0),
                retry_after: None,
            };
        };
        let entry = &self.entries[at];
        let mut answer = match (&entry.answers, dealt) {
            (Answers::Turn(turn), None) => {
                let answer = turn[self.dealt[at] % turn.len()];
                self.dealt[at] += 1;
                answer
            }
            (Answers::Turn(_), Some((_, answer))) => answer,
            (Answers::Chance(shares), _) => by_chance(shares, asker.draw, attempt),
        };
        if let Some(most) = entry.per_second {
            let begun = &mut self.begun[at];
            begun.push_back(now);
            while begun.front().is_some_and(|first| first + SECOND <= now) {
                begun.pop_front();
            }
            if begun.len() as u64 > most {
                answer = entry.overload;
            }
        }
        Answering {
            answer,
            latency: latency(&entry.latency, answer, draw(&[asker.draw, attempt, 2])),
            retry_after: entry.retry_after,
        }
    }
}

fn by_chance(shares: &[(Answer, f64)], own: u64, attempt: u64) -> Answer {
    let mut drawn = unit(draw(&[own, attempt, 1]));
    for (answer, share) in shares {
        if drawn < *share {
            return *answer;
        }
        drawn -= share;
    }
    Answer::Success
}

/// None for an answer that never comes.
fn latency(latency: &Latency, answer: Answer, drawn: u64) -> Option<Nanos> {
    if answer == Answer::Never {
        return None;
    }
    Some(match latency {
        Latency::Fixed(fixed) => *fixed,
        Latency::Spread { median, p99 } => lognormal(drawn, *median, *p99),
        Latency::ByAnswer(list) => list
            .iter()
            .find_map(|(of, latency)| (*of == answer).then_some(*latency))
            .unwrap_or(0),
    })
}

#[derive(Debug, Clone, Copy)]
struct Answering {
    answer: Answer,
    latency: Option<Nanos>,
    retry_after: Option<Nanos>,
}
