//! What the field's literature asks of such a system, row by row, through the public API on paused time.
//! `README.md` beside this file says which test proves which row.

#[path = "../kit/mod.rs"]
mod kit;

mod addresses;
mod avatar;
mod bulkheads;
mod cache;
mod classes;
mod configuration;
mod degrading;
mod fallbacks;
mod half_open;
mod machine;
mod page;
mod parallel;
mod recommendations;
mod reports;
mod security;
mod stagedoor_answers;
mod stagedoor_breaker;
mod stagedoor_bulkhead;
mod stagedoor_outage;
mod stagedoor_retry;
