//! Time at its extremes: an hour in one step at every layer, and durations as long as they can be written.

#[path = "../kit/mod.rs"]
mod kit;

mod extremes;
mod hour;
