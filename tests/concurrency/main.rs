//! Thousands of calls on several threads at once, each of which may answer, fail, panic, run out of time or be dropped
//! anywhere: no limit is ever passed, and in the end everything is where it belongs.
//!
//! Time is real here and nobody waits for it; what chance decides is drawn from the number of the task.

#[path = "../kit/mod.rs"]
mod kit;

mod crowd;
mod line;
mod probes;
mod reserve;
mod soak;
mod storm;
