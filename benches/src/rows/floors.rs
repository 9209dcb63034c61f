//! What the parts cost that nobody can do without.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use coarsetime::Instant as Tick;
use quanta::Clock;
use tokio::sync::Semaphore;

use crate::measure::{Group, Row};
use crate::peers;
use crate::work::{answer, finish};

pub(super) fn group() -> Group {
    let clock = Clock::new();
    let semaphore = Semaphore::new(20);
    let (add, swap) = (AtomicU64::new(0), AtomicU64::new(0));
    let rows = vec![
        Row::new("bare", "the bare call", || finish(answer(false))).sized(&answer(false)),
        Row::new("floor-add", "one atomic write: fetch_add", move || {
            add.fetch_add(1, Ordering::AcqRel)
        }),
        Row::new("floor-swap", "one atomic write: load, compare_exchange", move || {
            exchange(&swap, 1)
        }),
        Row::new("floor-semaphore", "semaphore: try_acquire, drop", move || {
            semaphore.try_acquire().is_ok()
        }),
        Row::new("floor-std", "one reading of std's clock", Instant::now),
        Row::new("floor-quanta", "one reading of quanta's clock", move || clock.raw()),
        Row::new("floor-coarse", "one reading of the coarse clock of Linux", tick),
        Row::new("floor-timeout", "tokio's timeout around the bare call", || {
            finish(peers::timed(false))
        }),
        // Below, the least that each job takes: what has to be read and written to know what it has to know.
        Row::new("floor-breaker", "floor of a breaker: call, 1 load, 1 write", {
            let (gate, window) = (AtomicU64::new(0), AtomicU64::new(0));
            move || {
                black_box(gate.load(Ordering::Acquire));
                let answer = finish(answer(false));
                exchange(&window, 1);
                answer
            }
        }),
        Row::new(
            "floor-slow",
            "floor of a breaker with slow calls: the same, 2 readings of the coarse clock",
            {
                let (gate, window) = (AtomicU64::new(0), AtomicU64::new(0));
                move || {
                    black_box(gate.load(Ordering::Acquire));
                    let start = tick();
                    let answer = finish(answer(false));
                    black_box(tick().wrapping_sub(start));
                    exchange(&window, 1);
                    answer
                }
            },
        ),
        Row::new(
            "floor-open",
            "floor of a refusal with retry_after: 1 load, 1 reading of the coarse clock",
            {
                let until = AtomicU64::new(u64::MAX);
                move || until.load(Ordering::Acquire).checked_sub(tick())
            },
        ),
        Row::new(
            "floor-three",
            "floor of breaker + bulkhead + timeout with slow calls: call, 2 coarse readings, 3 writes",
            {
                let (gate, window, room) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
                move || {
                    exchange(&room, 1);
                    black_box(gate.load(Ordering::Acquire));
                    let start = tick();
                    let answer = finish(answer(false));
                    black_box(tick().wrapping_sub(start));
                    exchange(&window, 1);
                    exchange(&room, u64::MAX);
                    answer
                }
            },
        ),
    ];
    Group {
        title: "Floors",
        note: "What the parts cost by themselves.",
        rows,
    }
}

/// The cheapest clock that tells a slow call and the end of a cooldown.
#[inline]
fn tick() -> u64 {
    Tick::now_without_cache_update().as_ticks()
}

#[inline]
fn exchange(word: &AtomicU64, add: u64) -> bool {
    let seen = word.load(Ordering::Relaxed);
    word.compare_exchange(seen, seen.wrapping_add(add), Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
}
