//! Ten thousand dependencies: what an idle one keeps of memory, what a reload leaves behind, and that a report stays
//! exact. Bytes are counted and nothing is timed, so that a busy machine changes no result.
//!
//! `allocation_counter` is this binary's allocator and counts for each thread by itself, so that tests run side by side.

mod changes;
mod file;
mod idle;

const MANY: usize = 10_000;
/// Enough where each dependency counts by itself: to read a large file takes seconds without optimization.
const FEWER: usize = 1_000;
