//! What a service says, line by line.

use std::borrow::Cow;

use serde::Deserialize;

/// A recorded call.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    /// Seconds since 1970.
    pub(super) time: f64,
    /// Seconds.
    pub(super) latency: f64,
    #[serde(borrow)]
    pub(super) outcome: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) key: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) dependency: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) instance: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) attempt: Option<u32>,
    #[serde(borrow, default)]
    pub(super) function: Option<Cow<'a, str>>,
}

/// What it says of the recording, behind a `#`.
#[derive(Deserialize, Default)]
pub(super) struct Comment {
    pub(super) lost: u64,
    pub(super) end: bool,
}
