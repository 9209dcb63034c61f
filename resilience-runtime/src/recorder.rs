//! Calls one by one, for as long as somebody records them; behind the feature `record`.
//!
//! A name that is recorded has a trait of its own, which takes its calls off the short way. So a call that nobody
//! records takes not one instruction more, with the feature or without, and the long way asks only where it settles.

#[cfg(not(feature = "record"))]
#[path = "recorder/off.rs"]
mod switched;
#[cfg(feature = "record")]
#[path = "recorder/on.rs"]
mod switched;
#[cfg(feature = "record")]
mod words;

pub(crate) use switched::Recorders;
#[cfg(feature = "record")]
pub(crate) use switched::Tape;
#[cfg(feature = "record")]
pub use words::RecordedCall;

use crate::attempts::Ending;
use crate::identity::Identity;
use crate::rejection::Reason;
use crate::site::Site;

/// What is kept of one attempt, or of a call that never had one.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "record"), allow(dead_code))] // made where nobody records, and thrown away
pub(crate) struct Ended {
    pub(crate) identity: &'static Identity,
    pub(crate) site: Option<&'static Site>,
    pub(crate) key: Option<u128>,
    pub(crate) began: u64,
    pub(crate) took: u64,
    /// Which attempt of its call it was, or would have been; from 1.
    pub(crate) attempt: u32,
    pub(crate) end: End,
}

/// How it ended.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "record"), allow(dead_code))] // as above
pub(crate) enum End {
    /// The attempt ended by itself, or with its caller.
    Attempt(Ending),
    /// The attempt was cut.
    Cut(Reason),
    /// Its body never began.
    Refused(Reason),
    /// Chaos failed it before its body.
    Chaos,
    /// Its caller left before its first attempt.
    Left,
}
