//! Nobody records. The shape is that of `on.rs`, so what it does not need it takes all the same.
#![allow(clippy::unused_self)]

use super::Ended;

#[derive(Debug, Default)]
pub(crate) struct Recorders {}

impl Recorders {
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn put(&self, _ended: &Ended) {}
}
