//! What was heard of the others, and what is told of this instance. Times are those of this instance's own clock: what
//! travels are ages.

use std::hash::{BuildHasher, RandomState};

use resilience_policy::Window as Shape;
use resilience_policy::names::{Names, sorted};

use super::{Counted, MILLI, Part};
use crate::clock::nanos;
use crate::layer::breaker::{Look, Totals};

/// Others that are remembered.
const MOST_INSTANCES: usize = 500;
/// Parts that are taken of one breaker of one instance: a window of time has no more, and a quiet one of calls as many at
/// most as it needs to be judged.
const MOST_PARTS: usize = 1_000;
/// The longest window of time, beyond which nobody's counts matter.
const LONGEST: u64 = 3_600 * 1_000 * MILLI;
/// How long counts of others last in a window of calls, which knows no time. More is what `check` calls stale.
const UNTIMED: u64 = 600 * 1_000 * MILLI;

/// What is known of the fleet.
#[derive(Debug)]
pub(crate) struct Pool {
    me: u64,
    /// By whom it was heard from, as a text of a fixed length, so that their order is that of the numbers.
    heard: Names<Heard>,
    told: Names<Told>,
}

/// What one other instance last said of each breaker.
#[derive(Debug, Default)]
struct Heard {
    instance: String,
    breakers: Names<Vec<(u64, Totals)>>,
}

/// What this instance says of one breaker.
#[derive(Debug, Default)]
struct Told {
    /// Until when the others may still count what was last told.
    until: u64,
    period: u64,
    /// Of a window of calls: its totals when it was last looked at, and what came since the one before, by when.
    totals: Totals,
    counted: Vec<(u64, Totals)>,
}

/// What the others add to a breaker's window.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    pub(crate) totals: Totals,
    /// How many have counted any of it.
    pub(crate) count: usize,
    /// Their names; several may have one.
    pub(crate) instances: Vec<String>,
}

impl Default for Pool {
    #[inline]
    fn default() -> Self {
        Self {
            // Nobody else may come by the same number, whatever the two have in common.
            me: RandomState::new().hash_one("me"),
            heard: Names::default(),
            told: Names::default(),
        }
    }
}

impl Pool {
    /// What is to be told of these breakers, those that are quiet.
    #[inline]
    pub(crate) fn tell<'n>(
        &mut self,
        instance: &str,
        looks: impl IntoIterator<Item = (&'n str, Look)>,
        now: u64,
    ) -> Counted {
        let mut breakers = Vec::new();
        for (name, look) in looks {
            let told = self.told.get_or_default(name);
            let counted = told.counted(&look, now);
            if !look.is_quiet {
                continue;
            }
            if !counted.is_empty() {
                told.until = now.saturating_add(horizon(look.shape));
            } else if now >= told.until {
                continue;
            }
            let parts = counted
                .into_iter()
                .map(|(at, counts)| Part::new(now.saturating_sub(at), counts));
            breakers.push((name.to_owned(), parts.collect()));
        }
        Counted {
            from: self.me,
            instance: instance.to_owned(),
            breakers,
        }
    }

    /// Takes what others said. What one says of a breaker takes the place of what it said before; whom nothing is heard
    /// of any more did count what it said, until that is too old.
    #[inline]
    pub(crate) fn hear(&mut self, others: &[Counted], is_known: impl Fn(&str) -> bool, now: u64) {
        for said in others.iter().filter(|said| said.from != self.me) {
            let from = format!("{:016x}", said.from);
            if !self.heard.has(&from) && self.heard.len() >= MOST_INSTANCES {
                continue;
            }
            let heard = self.heard.get_or_default(&from);
            said.instance.clone_into(&mut heard.instance);
            for (name, parts) in said.breakers.iter().filter(|(name, _)| is_known(name)) {
                let parts = parts.iter().take(MOST_PARTS);
                let read = parts.filter_map(|part| Some((now.saturating_sub(part.age()), part.counts()?)));
                heard.breakers.insert(name.clone(), read.collect());
            }
        }
        self.heard.change(|_, heard| {
            heard
                .breakers
                .change(|_, parts| parts.retain(|(at, _)| now.saturating_sub(*at) < LONGEST));
            heard.breakers.keep(|parts| !parts.is_empty());
        });
        self.heard.keep(|heard| !heard.breakers.is_empty());
    }

    /// Nothing was heard of anybody.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.heard = Names::default();
    }

    /// Whether anything of others may matter.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.heard.is_empty()
    }

    /// What the others add to the window of a breaker: in a window of time what is as young as its own results have to
    /// be; in one of calls the newest that there is room for beside its own. What was counted before the window was last
    /// emptied belongs to a time that is over.
    #[inline]
    pub(crate) fn others(&self, name: &str, look: &Look, now: u64) -> Others {
        let young = |at: u64| now.saturating_sub(at) < horizon(look.shape) && at >= look.emptied;
        let parts: Vec<_> = self
            .heard
            .each()
            .filter_map(|(from, heard)| Some(((&heard.instance, from), heard.breakers.get(name)?)))
            .flat_map(|(who, parts)| parts.iter().map(move |part| (part, who)))
            .filter(|((at, _), _)| young(*at))
            .collect();
        // By name where they are as old, so that the same counts give the same judgement.
        let parts = sorted(parts, |((at, _), who), ((than, _), other)| {
            than.cmp(at).then_with(|| who.cmp(other))
        });
        let room = match look.shape {
            Shape::Calls(calls) => calls.saturating_sub(look.totals.calls),
            Shape::Time(_) => u32::MAX,
        };
        let mut totals = Totals::default();
        let mut counted = Vec::new();
        for ((_, counts), who) in parts {
            if totals.calls >= room {
                break;
            }
            totals = totals.and(*counts);
            counted.push(who);
        }
        let mut counted = sorted(counted, Ord::cmp);
        counted.dedup();
        let mut instances: Vec<String> = counted.iter().map(|(instance, _)| (*instance).clone()).collect();
        instances.dedup();
        Others {
            totals,
            count: counted.len(),
            instances,
        }
    }
}

impl Told {
    /// What the window holds, by when it was counted.
    #[inline]
    fn counted(&mut self, look: &Look, now: u64) -> Vec<(u64, Totals)> {
        if let Some(stretches) = &look.stretches {
            return stretches.clone();
        }
        // While it is quiet a window of calls is not full, so that nothing leaves it: what was added is the difference.
        let (before, is) = (self.totals, look.totals);
        let shrunk =
            is.calls < before.calls || is.failed < before.failed || is.slow < before.slow || is.bad < before.bad;
        if shrunk || look.is_closed && look.period != self.period {
            self.counted.clear();
            self.totals = Totals::default();
        }
        let before = self.totals;
        let added = Totals {
            calls: is.calls - before.calls,
            failed: is.failed - before.failed,
            slow: is.slow - before.slow,
            bad: is.bad - before.bad,
        };
        (self.totals, self.period) = (is, look.period);
        if !look.is_quiet {
            self.counted.clear();
        } else if added.calls > 0 {
            self.counted.push((now, added));
        }
        self.counted.retain(|(at, _)| now.saturating_sub(*at) < UNTIMED);
        self.counted.clone()
    }
}

/// How long counts of others matter.
#[inline]
fn horizon(shape: Shape) -> u64 {
    match shape {
        Shape::Time(time) => nanos(time),
        Shape::Calls(_) => UNTIMED,
    }
}

#[cfg(test)]
mod tests;
