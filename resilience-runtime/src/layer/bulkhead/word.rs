//! What a bulkhead's calls share: slots taken (low half), waiters and a mark (high half), in one word.

use crate::sync::atomic::{AtomicU32, AtomicU64};

pub(super) const WAITER: u64 = 1 << 32;

/// The mark: threads may keep slots in reserve. The highest bit, so that a word below the limit has neither it nor
/// waiters.
pub(super) const RESERVES: u64 = 1 << 63;

/// Alone on its cache line: every call writes it, and what stands around it is only read.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Shared {
    pub(super) word: AtomicU64,
    /// How often somebody came in between since this was looked at.
    pub(super) meetings: AtomicU32,
}

pub(super) fn taken(word: u64) -> u32 {
    #[allow(clippy::cast_possible_truncation)] // the low half is meant
    let low = word as u32;
    low
}

pub(super) fn waiting(word: u64) -> u32 {
    #[allow(clippy::cast_possible_truncation)] // the high half fits
    let high = ((word & !RESERVES) >> 32) as u32;
    high
}

pub(super) fn has_reserves(word: u64) -> bool {
    word & RESERVES != 0
}
