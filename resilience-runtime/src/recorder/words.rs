//! A recorded call in the words of a trace.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_core::ser::{Serialize, SerializeStruct, Serializer};

use super::{End, Ended};
use crate::rejection::Reason;
use crate::site::Site;

/// One attempt of a guarded call, or a call that was refused before it had one.
///
/// Serialized it is a line of the trace that `resilience suggest` and `resilience simulate` read, with `time` in
/// seconds since 1970 and `latency` in seconds.
///
/// New fields come with minor versions; readers leave alone what they do not know.
#[derive(Debug, Clone)]
#[cfg_attr(docsrs, doc(cfg(feature = "record")))]
pub struct RecordedCall {
    ended: Ended,
    time: SystemTime,
    instance: Arc<str>,
}

impl RecordedCall {
    pub(crate) fn new(ended: Ended, time: SystemTime, instance: Arc<str>) -> Self {
        Self { ended, time, instance }
    }

    /// When the attempt began; where there was none, when the call did, or its pause before another attempt was over.
    pub fn time(&self) -> SystemTime {
        self.time
    }

    /// How long the attempt ran; where there was none, how long the call waited to be refused.
    pub fn latency(&self) -> Duration {
        Duration::from_nanos(self.ended.took)
    }

    /// `success business failure throttled ignored cancelled panicked` of an attempt that ended; `timed_out
    /// deadline_exceeded` of one that was cut; `rejected` of a call whose body never began, and `left` where its caller
    /// went before that.
    pub fn outcome(&self) -> &'static str {
        match self.ended.end {
            End::Attempt(ending) => ending.outcome(),
            End::Cut(reason) => reason.as_str(),
            End::Refused(_) | End::Chaos => "rejected",
            End::Left => "left",
        }
    }

    /// The kind of a failure, or why a call was rejected: a reason, or `chaos`.
    pub fn kind(&self) -> Option<&'static str> {
        match self.ended.end {
            End::Attempt(ending) => ending.kind(),
            End::Refused(reason) => Some(reason.as_str()),
            End::Chaos => Some("chaos"),
            End::Cut(_) | End::Left => None,
        }
    }

    /// `payrail`, or `payrail.refund` for an operation.
    pub fn dependency(&self) -> &str {
        self.ended.identity.name()
    }

    /// The instance that made the call.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The path of the annotated function; none of a guard by name.
    pub fn function(&self) -> Option<String> {
        self.ended.site.map(Site::path)
    }

    /// Whom the call was for, where slots are counted by key: a hash under a random key of the process. Equal keys are
    /// equal in one process, and say nothing anywhere else.
    pub fn key(&self) -> Option<u64> {
        #[allow(clippy::cast_possible_truncation)] // the lower half
        self.ended.key.map(|key| key as u64)
    }

    /// Which attempt of its call it was, or would have been; from 1.
    pub fn attempt(&self) -> u32 {
        self.ended.attempt
    }

    /// Whether the body ran.
    pub fn is_attempt(&self) -> bool {
        matches!(self.ended.end, End::Attempt(_) | End::Cut(_))
    }

    /// Why it was refused or cut short.
    pub fn reason(&self) -> Option<Reason> {
        match self.ended.end {
            End::Cut(reason) | End::Refused(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Serialize for RecordedCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_struct("RecordedCall", 9)?;
        let since = self.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        line.serialize_field("time", &since.as_secs_f64())?;
        line.serialize_field("latency", &self.latency().as_secs_f64())?;
        line.serialize_field("outcome", self.outcome())?;
        match self.kind() {
            Some(kind) => line.serialize_field("kind", kind)?,
            None => line.skip_field("kind")?,
        }
        match self.key() {
            Some(key) => line.serialize_field("key", &format_args!("{key:016x}"))?,
            None => line.skip_field("key")?,
        }
        line.serialize_field("dependency", self.dependency())?;
        line.serialize_field("instance", self.instance())?;
        line.serialize_field("attempt", &self.attempt())?;
        match self.function() {
            Some(function) => line.serialize_field("function", &function)?,
            None => line.skip_field("function")?,
        }
        line.end()
    }
}
