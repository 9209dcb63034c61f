//! The rows: each file is one kind of work, ours and the peers' side by side.

use resilience_runtime::Runtime;
use tick::Clock;

use crate::measure::{Group, Row};
use crate::ours;
use crate::work::{NowAndThen, answer};

mod breaker;
pub mod events;
mod floors;
mod keys;
#[cfg(feature = "metrics")]
pub mod observed;
mod open;
mod room;
mod scale;
pub mod threads;
mod together;
mod windows;

/// Every row that one thread measures while nobody listens to events.
pub fn groups(runtime: &Runtime, coarse: &Clock, precise: &Clock) -> Vec<Group> {
    vec![
        floors::group(),
        breaker::group(runtime, precise),
        breaker::slow(runtime, coarse, precise),
        breaker::mixed(runtime, precise),
        open::group(runtime, coarse),
        room::group(runtime),
        together::three(runtime, coarse),
        together::every(runtime, coarse),
        windows::group(runtime),
        keys::group(),
        scale::group(runtime),
    ]
}

/// A row of a guard.
fn guarded(runtime: &Runtime, id: &'static str, name: &str, dependency: &str) -> Row {
    let guard = ours::guard(runtime, dependency);
    let sizer = guard.clone();
    Row::new(id, name, move || ours::call(&guard)).sized(&sizer.call_once(answer(false)))
}

/// A row whose call is told to fail once in a hundred times.
fn turning<T>(id: &'static str, name: impl Into<String>, mut call: impl FnMut(bool) -> T + 'static) -> Row {
    let mut turn = NowAndThen::default();
    Row::new(id, name, move || call(turn.fails()))
}
