//! Ours beside the peers' released crates, on the same work in the same run.
//!
//! `cargo run --release` measures time, allocations and sizes; `cargo run --release --no-default-features --bin count` counts instructions
//! and holds them to `budget.toml`; `compile.sh` measures what users pay at compile time.

pub mod chart;
pub mod machine;
pub mod measure;
pub mod ours;
#[cfg(feature = "peers")]
pub mod peers;
pub mod report;
#[cfg(feature = "peers")]
pub mod rows;
pub mod stats;
pub mod targets;
pub mod work;
