//! What a scrape shows: a real exposition, read by a real parser. Names and labels are what operators' alerts and
//! dashboards are written against.
//!
//! Each test has a recorder of its own for its thread; the one that needs threads has the process's.

#[path = "../kit/mod.rs"]
mod kit;

mod agree;
mod alerts;
mod exposition;
mod life;
mod names;
mod shown;
mod sums;
