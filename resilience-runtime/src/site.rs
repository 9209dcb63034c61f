//! One static per annotated function, found at link time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::dependency::Entry;
use crate::guard::EntryRef;
use crate::private::{LAYER_BREAKER, LAYER_BULKHEAD, LAYER_RETRY, LAYER_TIMEOUT, Spec};
use crate::runtime;

/// What is known of one annotated function.
#[derive(Debug)]
pub struct Site {
    spec: Spec,
    /// Its entry in the runtime of the process, once there is one.
    installed: OnceLock<Arc<Entry>>,
    /// Its entry in the compiled-in runtime, until then.
    compiled_in: OnceLock<Arc<Entry>>,
    /// A bit for each form of its chain that had the last word; the last one stands for all beyond it.
    answered: AtomicU64,
}

/// What the linker collects.
#[derive(Debug)]
pub struct SiteRef(&'static Site);

inventory::collect!(SiteRef);

impl Site {
    /// A function as its attributes describe it.
    pub const fn new(spec: Spec) -> Self {
        Self {
            spec,
            installed: OnceLock::new(),
            compiled_in: OnceLock::new(),
            answered: AtomicU64::new(0),
        }
    }

    pub(crate) const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The entry for a call of this function that begins now: of the scope's runtime, else of the process's, else of
    /// the compiled-in one.
    pub(crate) fn entry(&'static self) -> EntryRef {
        if let Some(scoped) = runtime::scoped() {
            return EntryRef::Shared(scoped.entry_of(self));
        }
        EntryRef::Installed(self.lasting())
    }

    /// The same outside any scope, where the entry lasts as long as the process.
    #[inline]
    pub(crate) fn installed(&'static self) -> Option<&'static Entry> {
        if runtime::is_scoped() {
            None
        } else {
            Some(self.lasting())
        }
    }

    #[inline]
    fn lasting(&'static self) -> &'static Entry {
        self.installed.get().unwrap_or_else(|| self.find())
    }

    #[cold]
    fn find(&'static self) -> &'static Arc<Entry> {
        if let Some(process) = runtime::installed() {
            return self.installed.get_or_init(|| process.entry_of(self));
        }
        self.compiled_in.get_or_init(|| {
            let entry = runtime::compiled_in_entry(self);
            entry.used.store(true, Ordering::Relaxed);
            entry
        })
    }

    /// A form of its chain had the last word.
    pub(crate) fn answered(&self, form: usize) {
        self.answered.fetch_or(bit(form), Ordering::Relaxed);
    }

    /// Whether a form of its chain ever had the last word in this process.
    pub(crate) fn has_answered(&self, form: usize) -> bool {
        self.answered.load(Ordering::Relaxed) & bit(form) != 0
    }

    /// The path of the function, for people.
    pub(crate) fn path(&self) -> String {
        format!("{}::{}", self.spec.module, self.spec.function)
    }

    /// The tables and keys of the policy that its attributes name.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &'static str> {
        [
            (LAYER_BREAKER, "breaker"),
            (LAYER_BULKHEAD, "bulkhead"),
            (LAYER_RETRY, "retry"),
            (LAYER_TIMEOUT, "timeout"),
        ]
        .into_iter()
        .filter(|(layer, _)| self.spec.layers & layer != 0)
        .map(|(_, key)| key)
    }
}

fn bit(form: usize) -> u64 {
    1 << form.min(63)
}

impl SiteRef {
    /// A reference that the linker can collect.
    pub const fn new(site: &'static Site) -> Self {
        Self(site)
    }
}

/// Every annotated function that was linked.
pub(crate) fn all() -> impl Iterator<Item = &'static Site> {
    inventory::iter::<SiteRef>.into_iter().map(|found| found.0)
}
