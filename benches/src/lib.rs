//! Ours beside the peers' released crates, on the same work in the same run.
//!
//! `cargo run --release` measures time, allocations and sizes; `cargo run --release --bin count` counts instructions
//! and holds them to `budget.toml`; `compile.sh` measures what users pay at compile time.

pub mod chart;
pub mod machine;
pub mod measure;
pub mod ours;
pub mod peers;
pub mod report;
pub mod rows;
pub mod stats;
pub mod targets;
pub mod work;
