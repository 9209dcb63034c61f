//! A call on its way, in its caller's books and in its path's.

use std::rc::Rc;

use super::World;
use super::far::Asker;
use super::meter::Outcome;
use crate::simulate::scenario::{Answer, Nanos, SECOND};

/// A call that began and has not ended, by its place.
pub(super) type Place = usize;

#[derive(Debug, Default)]
pub(super) struct Passages {
    places: Vec<Passage>,
    free: Vec<Place>,
    /// The one whose guard is being polled.
    current: Option<Place>,
}

#[derive(Debug, Clone)]
struct Passage {
    account: usize,
    /// The caller whose call it is a part of: attempts count there, too.
    whole: Option<usize>,
    /// None for a call that consists of several.
    path: Option<usize>,
    instance: u32,
    began: Nanos,
    is: Is,
    /// Its caller has gone.
    left: bool,
    live: bool,
    dealt: Option<(usize, Answer)>,
    asker: Option<Asker>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    /// It may yet be refused on the spot.
    Fresh,
    Waiting,
    Flying,
}

/// Ends a call's books when the call is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    world: Rc<World>,
    place: Option<Place>,
}

impl Ticket {
    pub(super) fn place(&self) -> Place {
        self.place.expect("it is taken only when it ends")
    }

    /// The call ended.
    pub(super) fn end(mut self, outcome: Outcome) {
        if let Some(place) = self.place.take() {
            self.world.end(place, Some(outcome));
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.world.end(place, None);
        }
    }
}

impl World {
    /// A call begins. `asker` is who asks the far side, for a call of one path.
    pub(super) fn begin(
        self: &Rc<Self>,
        account: usize,
        whole: Option<usize>,
        instance: u32,
        asker: Option<Asker>,
    ) -> Ticket {
        let now = self.now.get();
        let dealt = asker.and_then(|asker| {
            let operation = self.paths[asker.path].operation.as_deref();
            self.far_of(asker.path, |far| far.deal(now, &asker, operation))
        });
        let passage = Passage {
            account,
            whole,
            path: asker.map(|asker| asker.path),
            instance,
            began: now,
            is: Is::Fresh,
            left: false,
            live: true,
            dealt,
            asker,
        };
        let meter = &mut *self.meter.borrow_mut();
        meter.accounts[account].arrive(meter.active);
        let passages = &mut *self.passages.borrow_mut();
        let place = passages.free.pop().unwrap_or(passages.places.len());
        if place == passages.places.len() {
            passages.places.push(passage);
        } else {
            passages.places[place] = passage;
        }
        Ticket {
            world: Rc::clone(self),
            place: Some(place),
        }
    }

    pub(super) fn dealt(&self, place: Place) -> Option<(usize, Answer)> {
        self.passages.borrow().places[place].dealt
    }

    /// Makes a call the one that the guards' notes are about; gives the one before.
    pub(super) fn turn_to(&self, place: Option<Place>) -> Option<Place> {
        std::mem::replace(&mut self.passages.borrow_mut().current, place)
    }

    /// An attempt gets to the far side.
    pub(super) fn reaches(&self, place: Place) {
        self.count_attempt(place, |tally| tally.counts.reached += 1);
    }

    /// The attempt that is admitted to the call whose guard is being polled decides a half-open state.
    pub(super) fn probes(&self) {
        let current = self.passages.borrow().current;
        if let Some(place) = current {
            self.count_attempt(place, |tally| tally.counts.probes += 1);
        }
    }

    fn count_attempt(&self, place: Place, mut act: impl FnMut(&mut super::meter::Tally)) {
        let passages = self.passages.borrow();
        let passage = &passages.places[place];
        let meter = &mut *self.meter.borrow_mut();
        for account in std::iter::once(passage.account).chain(passage.whole) {
            meter.accounts[account].count(meter.active, &mut act);
        }
    }

    /// The current call waits for a slot.
    pub(super) fn waits(&self) {
        let passages = &mut *self.passages.borrow_mut();
        let Some(passage) = passages.current.map(|place| &mut passages.places[place]) else {
            return;
        };
        let meter = &mut *self.meter.borrow_mut();
        passage.is = Is::Waiting;
        if !passage.left {
            let account = &mut meter.accounts[passage.account];
            account.in_flight -= 1;
            account.waiting += 1;
        }
        if let Some(path) = passage.path {
            meter.paths[path].waits(meter.active, passage.instance as usize, true);
        }
    }

    /// A call is past the bulkhead, if there is one.
    pub(super) fn flies(&self, place: Place) {
        let passages = &mut *self.passages.borrow_mut();
        let passage = &mut passages.places[place];
        if passage.is == Is::Flying {
            return;
        }
        let waited = passage.is == Is::Waiting;
        passage.is = Is::Flying;
        let meter = &mut *self.meter.borrow_mut();
        if waited && !passage.left {
            let account = &mut meter.accounts[passage.account];
            account.waiting -= 1;
            account.in_flight += 1;
        }
        let Some(path) = passage.path else { return };
        let instance = passage.instance as usize;
        let books = &mut meter.paths[path];
        if waited {
            books.waits(meter.active, instance, false);
        }
        books.flies(meter.active, instance, true);
        if self.paths[path].has_slots && !books.is_full_known(meter.active) && self.all_slots_taken(path) {
            let now = self.now.get();
            books.each(meter.active, |stretch| {
                stretch.full.get_or_insert(now);
            });
        }
    }

    pub(super) fn current_flies(&self) {
        let current = self.passages.borrow().current;
        if let Some(place) = current {
            self.flies(place);
        }
    }

    fn all_slots_taken(&self, path: usize) -> bool {
        let path = &self.paths[path];
        (0..path.guards.len()).all(|instance| {
            let slots = path
                .runtime(instance)
                .and_then(|runtime| resilience_runtime::simulation::slots(runtime, &path.name));
            slots.is_some_and(|(taken, limit)| taken >= limit)
        })
    }

    /// A call leaves the books: with an outcome, or dropped. What ends after its caller has gone is nobody's outcome.
    fn end(&self, place: Place, outcome: Option<Outcome>) {
        let now = self.now.get();
        let passage = {
            let passages = &mut *self.passages.borrow_mut();
            passages.free.push(place);
            passages.places[place].live = false;
            passages.places[place].clone()
        };
        if !passage.left {
            match outcome {
                Some(outcome) => self.outcome(&passage, outcome, now),
                None => self.leaves(&passage, now),
            }
        }
        if let Some(path) = passage.path {
            let meter = &mut *self.meter.borrow_mut();
            let books = &mut meter.paths[path];
            match passage.is {
                Is::Fresh => {}
                Is::Waiting => books.waits(meter.active, passage.instance as usize, false),
                Is::Flying => books.flies(meter.active, passage.instance as usize, false),
            }
        }
    }

    fn outcome(&self, passage: &Passage, outcome: Outcome, now: Nanos) {
        if let (Outcome::Rejected(reason, told), Some(asker)) = (outcome, passage.asker) {
            self.told(asker.path, passage.instance, passage.account, reason, told);
            let operation = self.paths[asker.path].operation.as_deref();
            let answer = self.far_of(asker.path, |far| {
                far.would_answer(now, &asker, operation, passage.dealt)
            });
            if answer == Answer::Success {
                let meter = &mut *self.meter.borrow_mut();
                meter.accounts[passage.account].each(meter.active, |stretch| stretch.refused_working += 1);
            }
        }
        let meter = &mut *self.meter.borrow_mut();
        let account = &mut meter.accounts[passage.account];
        unmoor(account, passage);
        account.end(meter.active, now, outcome, now - passage.began);
    }

    /// The caller goes; the call may run on.
    pub(super) fn leave(&self, place: Place) {
        let passage = {
            let passage = &mut self.passages.borrow_mut().places[place];
            if passage.left || !passage.live {
                return;
            }
            passage.left = true;
            passage.clone()
        };
        self.leaves(&passage, self.now.get());
    }

    fn leaves(&self, passage: &Passage, now: Nanos) {
        let meter = &mut *self.meter.borrow_mut();
        let account = &mut meter.accounts[passage.account];
        unmoor(account, passage);
        account.leave(meter.active, now, now - passage.began);
    }

    /// The oldest call of an account that has not ended, in nanoseconds.
    pub(super) fn oldest(&self, account: usize) -> Option<Nanos> {
        let passages = self.passages.borrow();
        let unfinished = passages.places.iter().filter(|passage| passage.live && !passage.left);
        let began = unfinished
            .filter(|passage| passage.account == account)
            .map(|passage| passage.began)
            .min()?;
        Some(self.now.get() - began)
    }
}

/// The call is in the caller's hands no longer.
fn unmoor(account: &mut super::meter::Account, passage: &Passage) {
    if passage.is == Is::Waiting {
        account.waiting -= 1;
    } else {
        account.in_flight -= 1;
    }
}

/// When a caller comes back that was told to wait for so long: whole seconds, rounded up, at least one.
pub(super) fn back(now: Nanos, told: Nanos) -> Nanos {
    now.saturating_add(told.div_ceil(SECOND).max(1).saturating_mul(SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_comes_back_after_whole_seconds() {
        assert_eq!(back(10, 29_500_000_000), 10 + 30 * SECOND);
        assert_eq!(back(0, 1), SECOND);
    }
}
