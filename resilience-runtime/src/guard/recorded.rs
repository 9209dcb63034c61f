//! What a recording is told of a call.

use super::{Calling, Running};
use crate::clock;
use crate::recorder::{End, Ended};
use crate::rejection::Reason;

impl Calling {
    /// An attempt is over.
    #[cold]
    pub(super) fn record_attempt(&self, running: &Running, end: End) {
        self.record(running.started, self.attempts, end);
    }

    /// The call is refused before another attempt.
    #[cold]
    pub(super) fn record_refused(&self, reason: Reason) {
        self.record(self.began.nanos(), self.attempts + 1, End::Refused(reason));
    }

    /// The caller went. Of a call that had an attempt the attempt has told.
    #[cold]
    pub(super) fn record_left(&self) {
        if self.attempts == 0 && self.ended.is_none() {
            self.record(self.began.nanos(), 1, End::Left);
        }
    }

    fn record(&self, began: u64, attempt: u32, end: End) {
        self.entry.recorders().put(&Ended {
            identity: self.entry.identity(),
            site: self.site,
            key: self.key,
            began,
            took: clock::now().saturating_sub(began),
            attempt,
            end,
        });
    }
}
