//! What the breakers do, as the guards tell it: changes of state, results, probes; and whether what callers were told was
//! true.

use std::rc::Rc;

use resilience_runtime::Reason;
use resilience_runtime::simulation::{self, Note};

use super::meter::{Stretches, record};
use super::passage::back;
use super::{BASE, World};
use crate::simulate::report::{Transition, seconds_of};
use crate::simulate::scenario::{Nanos, SECOND};

#[derive(Debug)]
pub(super) struct Breakers {
    /// By path and instance.
    all: Vec<Vec<Breaker>>,
    pub(super) transitions: Vec<(Nanos, Transition)>,
}

#[derive(Debug, Clone, Default)]
struct Breaker {
    /// When open ends.
    until: Option<Nanos>,
    /// It is half-open and has not admitted anybody: the change is dated by the first it admits.
    pending: Option<Transition>,
    /// Callers that were told of probes: who, when they come back, and in which stretches.
    told: Vec<(usize, Nanos, Stretches)>,
}

impl Breakers {
    pub(super) fn new(paths: usize, instances: usize) -> Self {
        Self {
            all: vec![vec![Breaker::default(); instances]; paths],
            transitions: Vec::new(),
        }
    }
}

/// Hears what the guards of this thread tell.
pub(super) fn listen(world: &Rc<World>) {
    let world = Rc::downgrade(world);
    simulation::listen(Some(Box::new(move |note| {
        if let Some(world) = world.upgrade() {
            world.hear(note);
        }
    })));
}

impl World {
    fn hear(&self, note: Note<'_>) {
        match note {
            Note::Waits => self.waits(),
            Note::Granted => self.current_flies(),
            Note::Probe { breaker, ramp } => {
                if let Some(at) = self.breaker(breaker) {
                    self.half_opened(at);
                    if ramp {
                        self.answer_differs(at);
                    } else {
                        self.probes();
                    }
                }
            }
            Note::Result {
                breaker,
                failed,
                slow,
                late,
                probe,
            } => {
                if let Some(at) = self.breaker(breaker) {
                    let meter = &mut *self.meter.borrow_mut();
                    meter.paths[at.0].each(meter.active, |stretch| {
                        record(&mut stretch.recorded, failed, slow, late);
                    });
                    if probe {
                        self.resolve(at, meter);
                    }
                }
            }
            Note::Freed { breaker } => {
                if let Some(at) = self.breaker(breaker) {
                    self.answer_differs(at);
                }
            }
            Note::Transition {
                breaker,
                from,
                to,
                cause,
                at: when,
                cooldown,
            } => {
                if let Some(at) = self.breaker(breaker) {
                    let when = when.saturating_sub(BASE);
                    let made = Transition {
                        at: seconds_of(when),
                        dependency: breaker.0.to_owned(),
                        instance: u32::try_from(at.1).unwrap_or(u32::MAX),
                        from: from.to_owned(),
                        to: to.to_owned(),
                        cause: cause.to_owned(),
                    };
                    self.changed(at, when, made, cooldown);
                }
            }
            _ => {}
        }
    }

    fn breaker(&self, (name, instance): (&str, &str)) -> Option<(usize, usize)> {
        let path = self.paths.iter().position(|path| path.name == name)?;
        Some((path, instance.parse().ok()?))
    }

    fn changed(&self, at: (usize, usize), when: Nanos, made: Transition, cooldown: Option<Nanos>) {
        self.answer_differs(at);
        let breakers = &mut *self.breakers.borrow_mut();
        let breaker = &mut breakers.all[at.0][at.1];
        breaker.until = cooldown.map(|cooldown| when + cooldown);
        if made.to == "half_open" {
            breaker.pending = Some(made);
            return;
        }
        if let Some(pending) = breaker.pending.take() {
            breakers.transitions.push((when, pending));
        }
        let meter = &mut *self.meter.borrow_mut();
        let opens = made.to == "open";
        meter.paths[at.0].each(meter.active, |stretch| {
            let list = if opens {
                &mut stretch.opened
            } else {
                &mut stretch.closed
            };
            list.push(when);
        });
        breakers.transitions.push((when, made));
    }

    /// A half-open breaker admitted its first.
    fn half_opened(&self, at: (usize, usize)) {
        let breakers = &mut *self.breakers.borrow_mut();
        if let Some(mut made) = breakers.all[at.0][at.1].pending.take() {
            made.at = seconds_of(self.now.get());
            breakers.transitions.push((self.now.get(), made));
        }
    }

    /// A caller was refused and told when to come back.
    pub(super) fn told(&self, path: usize, instance: u32, account: usize, reason: Reason, told: Option<Nanos>) {
        let Some(told) = told.filter(|_| matches!(reason, Reason::Open | Reason::ProbesBusy)) else {
            return;
        };
        let now = self.now.get();
        let breaker = &mut self.breakers.borrow_mut().all[self.paths[path].breaker][instance as usize];
        let meter = &mut *self.meter.borrow_mut();
        let returns = back(now, told);
        if reason == Reason::ProbesBusy {
            breaker.told.push((account, returns, meter.active));
            return;
        }
        let differs = breaker.until.unwrap_or(now + told);
        let kept = is_true(returns, differs);
        meter.accounts[account].each(meter.active, |stretch| {
            stretch.kept.0 += u64::from(kept);
            stretch.kept.1 += 1;
        });
    }

    /// From now on a caller might get another answer.
    fn answer_differs(&self, at: (usize, usize)) {
        let meter = &mut *self.meter.borrow_mut();
        self.resolve(at, meter);
    }

    fn resolve(&self, at: (usize, usize), meter: &mut super::meter::Meter) {
        let told = std::mem::take(&mut self.breakers.borrow_mut().all[at.0][at.1].told);
        for (account, returns, stretches) in told {
            let kept = is_true(returns, self.now.get());
            meter.accounts[account].each(stretches, |stretch| {
                stretch.kept.0 += u64::from(kept);
                stretch.kept.1 += 1;
            });
        }
    }

    /// At the end: what was promised and nobody can know is taken for true.
    pub(super) fn believe_the_rest(&self) {
        let mut breakers = self.breakers.borrow_mut();
        let meter = &mut *self.meter.borrow_mut();
        for breaker in breakers.all.iter_mut().flatten() {
            for (account, _, stretches) in breaker.told.drain(..) {
                meter.accounts[account].each(stretches, |stretch| {
                    stretch.kept.0 += 1;
                    stretch.kept.1 += 1;
                });
            }
        }
    }
}

/// Whether who comes back then comes neither too early nor more than a second late.
fn is_true(returns: Nanos, differs: Nanos) -> bool {
    differs <= returns && returns <= differs.saturating_add(SECOND)
}
