//! Behaviour that other resilience libraries test, case by case, and what happens between each two of our layers.
//! `README.md` in this folder says which case is proved where.

#[path = "../kit/mod.rs"]
mod kit;
mod stand;

mod breaker_counting;
mod breaker_hand;
mod breaker_numbers;
mod bulkhead;
mod bulkhead_and_breaker;
mod composition;
mod copies;
mod deadline;
mod dropped;
mod fallback_forms;
mod fallbacks;
mod half_open;
mod half_open_clock;
mod identity;
mod keys;
mod late_results;
mod life;
mod listener;
mod model;
mod modes;
mod panics;
mod policy_faults;
mod policy_file;
mod pooled;
mod printed;
mod recording;
mod reload;
mod reload_keys;
mod retry;
mod retry_and_breaker;
mod short_way;
mod stale;
mod sums;
mod table;
mod threads;
mod time_windows;
mod timeout;
mod why;
mod written;
