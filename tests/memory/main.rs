//! What a guarded call takes of memory: on the call path nothing, in its future a bound that no attribute moves, and over
//! time nothing that stays.
//!
//! `allocation_counter` is this binary's allocator and counts for each thread by itself, so that tests run side by side.

#[path = "../kit/mod.rs"]
mod kit;

mod annotated;
mod call_path;
mod flat;
mod hand;
mod sizes;
