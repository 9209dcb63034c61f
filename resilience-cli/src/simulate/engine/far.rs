//! The far side: which entry holds, what it answers, and when.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::World;
use super::chance::{draw, lognormal, unit};
use super::events::{Class, Event};
use super::tasks::ring;
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

/// Attempts that are at the far side.
#[derive(Debug, Default)]
pub(super) struct Running {
    places: Vec<Attempt>,
    free: Vec<usize>,
    made: u64,
}

#[derive(Debug)]
struct Attempt {
    /// 0 for none.
    number: u64,
    task: usize,
    asker: Asker,
    /// Which attempt of its call it is.
    nth: u64,
    began: Nanos,
    answer: Answer,
    done: bool,
}

impl Running {
    /// Gives an attempt its place and its number.
    fn add(&mut self, mut attempt: Attempt) -> (usize, u64) {
        self.made += 1;
        let place = self.free.pop().unwrap_or(self.places.len());
        attempt.number = self.made;
        if place == self.places.len() {
            self.places.push(attempt);
        } else {
            self.places[place] = attempt;
        }
        (place, self.made)
    }

    fn remove(&mut self, place: usize) {
        self.places[place].number = 0;
        self.free.push(place);
    }

    /// The answer is there.
    pub(super) fn finish(&mut self, place: usize, number: u64) {
        let attempt = &mut self.places[place];
        if attempt.number == number {
            attempt.done = true;
            ring(attempt.task);
        }
    }
}

/// Asks the far side, and waits for its answer.
#[derive(Debug)]
pub(super) struct Ask {
    world: Rc<World>,
    asker: Asker,
    dealt: Option<(usize, Answer)>,
    attempt: u64,
    place: Option<(usize, Answering)>,
}

impl Ask {
    pub(super) fn new(world: &Rc<World>, asker: Asker, dealt: Option<(usize, Answer)>, attempt: u64) -> Self {
        Self {
            world: Rc::clone(world),
            asker,
            dealt,
            attempt,
            place: None,
        }
    }

    fn begin(&mut self) {
        let world = Rc::clone(&self.world);
        let now = world.now.get();
        let operation = world.paths[self.asker.path].operation.as_deref();
        let answering = match self.asker.recorded {
            Some(recorded) => Answering {
                answer: recorded.answer,
                latency: (recorded.answer != Answer::Never).then_some(recorded.latency),
                retry_after: None,
            },
            None => world.far_of(self.asker.path, |far| {
                far.answer(now, &self.asker, operation, self.dealt, self.attempt)
            }),
        };
        let (place, number) = world.running.borrow_mut().add(Attempt {
            number: 0,
            task: world.tasks.polled(),
            asker: self.asker,
            nth: self.attempt,
            began: now,
            answer: answering.answer,
            done: false,
        });
        if let Some(latency) = answering.latency {
            world.later(latency, Class::Completion, Event::Answered { place, number });
        }
        self.place = Some((place, answering));
    }
}

impl Future for Ask {
    type Output = (Answer, Option<Nanos>);

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((place, answering)) = self.place else {
            self.begin();
            return Poll::Pending;
        };
        let done = self.world.running.borrow().places[place].done;
        if !done {
            return Poll::Pending;
        }
        self.place = None;
        self.world.running.borrow_mut().remove(place);
        Poll::Ready((answering.answer, answering.retry_after))
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        if let Some((place, _)) = self.place.take() {
            self.world.running.borrow_mut().remove(place);
        }
    }
}

/// An entry begins to hold that stretches: calls which it is about and which run already take its latency, counted from
/// their own start.
pub(super) fn stretch(world: &World, path: usize, entry: usize) {
    let now = world.now.get();
    let mut running = world.running.borrow_mut();
    let group = world.paths[path].far;
    let count = running.places.len();
    for place in 0..count {
        let attempt = &running.places[place];
        let of = &world.paths[attempt.asker.path];
        if attempt.number == 0 || attempt.done || of.far != group || attempt.answer == Answer::Never {
            continue;
        }
        let taken = world.far_of(attempt.asker.path, |far| {
            let holds = far.holds(now, &attempt.asker, of.operation.as_deref()) == Some(entry);
            let drawn = draw(&[attempt.asker.draw, attempt.nth, 2]);
            holds.then(|| latency(&far.entries[entry].latency, attempt.answer, drawn))
        });
        if let Some(Some(latency)) = taken {
            let end = attempt.began.saturating_add(latency).max(now);
            // A new number makes void the event that stands for the old end.
            running.made += 1;
            let number = running.made;
            running.places[place].number = number;
            world.later(end - now, Class::Completion, Event::Answered { place, number });
        }
    }
}
