//! Somebody may measure.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::figures::Figures;
use super::turns::Turns;
use crate::clock;
use crate::dependency::Entry;
use crate::guard::read_breaker;
use crate::observe::metrics::{Series, is_recording};
use crate::runtime::forms_of;

/// Calls a second above which a dependency's good calls are told together.
const HOT: u64 = 4_000;
/// Of a hot dependency's calls that are over in one poll, so many go unmeasured for each that is measured.
const UNTIMED: u32 = 63;

const COLD: u8 = 0;
const IS_HOT: u8 = 1;

/// Where a name's series stand, and how eagerly they are brought up to date.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    heat: AtomicU8,
    /// Calls and the time, when somebody last came by.
    seen: AtomicU64,
    seen_at: AtomicU64,
    /// The kinds of fallback that it has, once somebody asked.
    forms: OnceLock<Vec<&'static str>>,
    series: Series,
    turns: Turns,
}

/// What a call has to do for the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nobody records, or somebody else tells.
    Nothing,
    /// Its time is recorded; somebody else tells of it.
    Timed,
    /// It is timed and told.
    Told,
}

thread_local! {
    static UNTIL_TIMED: Cell<u32> = const { Cell::new(0) };
}

impl Meter {
    /// What a call that begins now has to do.
    #[inline]
    pub(crate) fn turn(&self) -> Turn {
        if self.heat.load(Ordering::Relaxed) != IS_HOT {
            return if is_recording() { Turn::Told } else { Turn::Nothing };
        }
        let left = UNTIL_TIMED.try_with(|left| left.replace(left.get().checked_sub(1).unwrap_or(UNTIMED)));
        if left == Ok(0) { Turn::Timed } else { Turn::Nothing }
    }

    /// Whether attempts are timed that wait anyway.
    pub(crate) fn is_on(&self) -> bool {
        self.heat.load(Ordering::Relaxed) == IS_HOT || is_recording()
    }

    /// An attempt took so long.
    pub(crate) fn took(&self, nanos: u64) {
        self.series.took(std::time::Duration::from_nanos(nanos));
    }
}

impl Turn {
    #[inline]
    pub(crate) fn is_timed(self) -> bool {
        self != Self::Nothing
    }
}

/// A call that is over in one poll did well; it began at `started`.
#[inline]
pub(crate) fn after(entry: &Entry, turn: Turn, started: u64) {
    if turn != Turn::Nothing {
        after_measured(entry, turn, started);
    }
}

#[cold]
fn after_measured(entry: &Entry, turn: Turn, started: u64) {
    let took = clock::now().saturating_sub(started);
    if turn == Turn::Told {
        tell(entry);
    }
    entry.meter().took(took);
}

/// Something happened to a call that the metrics show.
#[inline(never)]
pub(crate) fn tell(entry: &Entry) {
    if entry.meter().heat.load(Ordering::Relaxed) == IS_HOT || !is_recording() {
        return;
    }
    publish(entry, false);
    if let Some(parent) = entry.shares_with() {
        publish(parent, false);
    }
}

/// Brings everything up to date, what the clock alone has changed included.
pub(crate) fn refresh(entry: &Entry) {
    if is_recording() {
        let pinned = entry.pin();
        read_breaker(&pinned);
        publish(entry, true);
    }
}

/// Somebody comes by, and will again: a hot dependency leaves its telling to them. `stay` is false when they come for
/// the last time.
pub(crate) fn keep(entries: &[Arc<Entry>], stay: bool) {
    let now = clock::now();
    for entry in entries {
        let meter = entry.meter();
        let calls = entry.tally().calls();
        let before = meter.seen.swap(calls, Ordering::Relaxed);
        let elapsed = now.saturating_sub(meter.seen_at.swap(now, Ordering::Relaxed)).max(1);
        let rate = u128::from(calls.saturating_sub(before)) * 1_000_000_000 / u128::from(elapsed);
        // With tokio's clock tests are to see each call at once.
        let hot = stay && !cfg!(feature = "testing") && rate > u128::from(HOT);
        meter.heat.store(if hot { IS_HOT } else { COLD }, Ordering::Relaxed);
        refresh(entry);
    }
}

/// A name is in no policy any more: what it showed of now is over, what it counted stays.
pub(crate) fn retire(entry: &Entry) {
    if is_recording() {
        entry.meter().series.retire();
    }
}

fn publish(entry: &Entry, all: bool) {
    let meter = entry.meter();
    let look_and_tell = || {
        let pinned = entry.pin();
        let name = pinned.identity.name();
        let forms = meter.forms.get_or_init(|| forms_of(name));
        let figures = Figures::of(&pinned, forms);
        meter.series.publish(name, pinned.instance(), &figures, all);
    };
    if all {
        meter.turns.insist(look_and_tell);
    } else {
        meter.turns.take(look_and_tell);
    }
}
