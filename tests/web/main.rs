//! What stands between a guard and HTTP: guards as tower layers, refusals as responses, and what of a request was lesser.

#[path = "../kit/mod.rs"]
mod kit;

mod answers;
mod layer;
mod names;
mod requests;
