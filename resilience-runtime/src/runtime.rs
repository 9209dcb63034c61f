//! The runtime: one policy in force, and the state of each dependency under it.

mod compiled_in;
mod current;
mod fleet;
#[cfg(feature = "metrics")]
mod metrics;
mod overrides;
#[cfg(feature = "record")]
mod record;
mod reload;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use resilience_policy::Policy;
use resilience_policy::names::{Names, sorted};

pub(crate) use compiled_in::entry as compiled_in_entry;
pub(crate) use compiled_in::policy as compiled_in_policy;
pub use current::Scope;
#[cfg(not(feature = "testing"))]
pub(crate) use current::last_seen;
pub(crate) use current::{installed, is_scoped, scoped, see};
#[cfg(feature = "metrics")]
pub use metrics::KeptMetrics;
pub use overrides::OverrideError;
pub(crate) use overrides::Overrides;
#[cfg(feature = "record")]
pub use record::Recording;
pub(crate) use reload::Reloads;
pub use reload::{ReloadError, ReloadReport};

use crate::circle;
use crate::clock;
use crate::dependency::{Entry, Parts, Pinned, State};
use crate::event::{self, Event};
use crate::fleet::Pool;
use crate::guard::{self, Guard};
use crate::init::InitError;
use crate::missing::{self, Missing};
use crate::private::Form;
use crate::site::{self, Site};
use crate::tally::Tally;

/// A policy in force with the state of its dependencies: breakers, slots, budgets, counts.
///
/// Cheap to clone; clones are the same runtime. A service has one, installed by [`init`](crate::init); tests and
/// embedding make their own and use them through [`scope`](Self::scope) or [`guard`](Self::guard).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use resilience_runtime::{Policy, Runtime};
///
/// let policy = Policy::from_toml("version = 1\n[dependency.redis]\nfail = \"open\"\ntimeout = \"50ms\"\n")?;
/// let runtime = Runtime::new(policy);
/// let inside = runtime.scope(async { resilience_runtime::available("redis") }).await;
/// assert!(inside);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    entries: ArcSwap<HashMap<Box<str>, Arc<Entry>>>,
    /// State outlives its entry: a name that a reload removes and another brings back is what it was.
    states: Mutex<Names<Arc<State>>>,
    policy: ArcSwap<InForce>,
    instance: Arc<str>,
    overrides: Mutex<Overrides>,
    installed: AtomicBool,
    refusal: Mutex<Option<String>>,
    reloads: Mutex<Reloads>,
    /// Requests to this service, where a layer counts them.
    requests: Tally,
    /// What other instances counted, where they tell each other.
    pool: Mutex<Pool>,
    /// Whether anything meets the fleet of the policy, or it was said that nothing does.
    fleet_attended: AtomicBool,
    /// Names that the policy lacks and that were said to be lacking.
    said: Mutex<HashSet<String>>,
    #[cfg(feature = "record")]
    tapes: Mutex<Vec<Arc<crate::recorder::Tape>>>,
    #[cfg(feature = "metrics")]
    metrics: crate::observe::metrics::OfRuntime,
}

/// The policy in force, and since when.
pub(crate) struct InForce {
    pub(crate) policy: Policy,
    pub(crate) loaded_at: SystemTime,
}

impl Runtime {
    /// A runtime with `policy` in force and nothing counted yet.
    pub fn new(policy: Policy) -> Self {
        let instance = crate::instance::name(policy.runtime().instance.as_deref());
        Self::of_instance(policy, &instance)
    }

    #[allow(clippy::needless_pass_by_value)] // the policy belongs to the runtime from here on
    pub(crate) fn of_instance(policy: Policy, instance: &str) -> Self {
        clock::ready();
        let runtime = Self {
            inner: Arc::new(Inner {
                entries: ArcSwap::from_pointee(HashMap::new()),
                states: Mutex::new(Names::default()),
                policy: ArcSwap::from_pointee(InForce {
                    policy: policy.clone(),
                    loaded_at: clock::wall(),
                }),
                instance: instance.into(),
                overrides: Mutex::new(Overrides::default()),
                installed: AtomicBool::new(false),
                refusal: Mutex::new(None),
                reloads: Mutex::default(),
                requests: Tally::default(),
                pool: Mutex::default(),
                fleet_attended: AtomicBool::new(false),
                said: Mutex::new(HashSet::new()),
                #[cfg(feature = "record")]
                tapes: Mutex::default(),
                #[cfg(feature = "metrics")]
                metrics: crate::observe::metrics::OfRuntime::default(),
            }),
        };
        runtime.assemble(&policy);
        #[cfg(feature = "metrics")]
        runtime.refresh_metrics();
        runtime
    }

    /// Makes this runtime the process's own: annotated functions use it from now on, unless they run inside a
    /// [`scope`](Self::scope).
    ///
    /// # Errors
    ///
    /// When the process has one already; when an annotated function that was linked names a dependency or a table that
    /// the policy lacks; and when its fallback leads back to the dependency that failed, by further annotated functions
    /// or at once: all of them are listed.
    #[inline]
    pub fn install(&self) -> Result<(), InitError> {
        let policy = self.policy();
        let (missing, circles) = (missing::for_install(&policy), circle::find(&policy));
        if !missing.is_empty() || !circles.is_empty() {
            return Err(InitError::refused(policy.file(), missing, circles));
        }
        current::install(self)?;
        #[cfg(feature = "metrics")]
        self.refresh_metrics();
        Ok(())
    }

    /// The runtime of this scope, else of the process, else the compiled-in one.
    pub fn current() -> Self {
        scoped()
            .or_else(|| installed().cloned())
            .unwrap_or_else(|| compiled_in::runtime().clone())
    }

    /// Runs `future` with this runtime: guarded calls inside use it. The returned future owns the runtime, so it
    /// can be spawned; a task spawned inside leaves the scope.
    ///
    /// # Cancel safety
    ///
    /// As cancel safe as `future`.
    pub fn scope<F: Future>(&self, future: F) -> Scope<F> {
        current::scope(self.clone(), future)
    }

    /// The guard of a dependency, or of an operation as `payrail.refund`.
    ///
    /// # Errors
    ///
    /// When the policy has no such name; the nearest one is in the message.
    pub fn guard(&self, dependency: &str) -> Result<Guard, UnknownDependency> {
        let entry = self.entry(dependency)?;
        entry.used.store(true, Ordering::Relaxed);
        Ok(Guard::new(entry))
    }

    /// Whether a call would be admitted now.
    pub(crate) fn available(&self, dependency: &str) -> bool {
        match self.entry(dependency) {
            Ok(entry) => {
                let admits = guard::would_admit(&entry).is_ok();
                crate::meter::tell(&entry);
                admits
            }
            Err(unknown) => {
                ::tracing::warn!(target: event::TARGET, "asked whether a call would be admitted: {unknown}");
                false
            }
        }
    }

    pub(crate) fn entry(&self, dependency: &str) -> Result<Arc<Entry>, UnknownDependency> {
        self.inner
            .entries
            .load()
            .get(dependency)
            .cloned()
            .ok_or_else(|| UnknownDependency {
                name: dependency.to_owned(),
                nearest: self.policy().nearest(dependency).map(str::to_owned),
            })
    }

    /// The entry of an annotated function. A name that this policy lacks works with the compiled-in numbers, and
    /// that is said once.
    pub(crate) fn entry_of(&self, site: &'static Site) -> Arc<Entry> {
        let name = site.spec().dependency;
        if let Some(entry) = self.inner.entries.load().get(name) {
            entry.used.store(true, Ordering::Relaxed);
            return Arc::clone(entry);
        }
        let mut said = self.inner.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.insert(name.to_owned()) {
            ::tracing::warn!(
                target: event::TARGET, dependency = name, function = site.path(),
                "`{name}` is not in the policy `{}`: the numbers compiled in are used", self.policy().file().display(),
            );
        }
        drop(said);
        compiled_in::entry(site)
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.inner.policy.load().policy.clone()
    }

    /// Requests to this service, as far as a layer counts them.
    pub(crate) fn requests(&self) -> &Tally {
        &self.inner.requests
    }

    pub(crate) fn in_force(&self) -> Arc<InForce> {
        self.inner.policy.load_full()
    }

    /// The name of this instance.
    pub(crate) fn instance(&self) -> &str {
        &self.inner.instance
    }

    #[inline]
    pub(crate) fn is_installed(&self) -> bool {
        self.inner.installed.load(Ordering::Relaxed)
    }

    pub(crate) fn entries(&self) -> Arc<HashMap<Box<str>, Arc<Entry>>> {
        self.inner.entries.load_full()
    }

    #[inline]
    pub(crate) fn refusal(&self) -> Option<String> {
        self.inner
            .refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    #[inline]
    fn set_refusal(&self, refusal: Option<String>) {
        *self.inner.refusal.lock().unwrap_or_else(PoisonError::into_inner) = refusal;
    }

    #[inline]
    pub(crate) fn reloads(&self) -> Reloads {
        self.lock_reloads().clone()
    }

    /// A policy file was refused, or is gone.
    #[inline]
    pub(crate) fn refuse(&self, refusal: String) {
        self.lock_reloads().refused += 1;
        self.set_refusal(Some(refusal));
        #[cfg(feature = "metrics")]
        self.refresh_metrics();
    }

    fn lock_reloads(&self) -> MutexGuard<'_, Reloads> {
        self.inner.reloads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Points every name of `policy` at its state and its numbers; names the breakers whose window starts empty.
    fn assemble(&self, policy: &Policy) -> Vec<String> {
        let now = clock::now();
        let (mut emptied, mut closed) = (Vec::new(), Vec::new());
        let mut states = self.inner.states.lock().unwrap_or_else(PoisonError::into_inner);
        let overrides = self.inner.overrides.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.inner.entries.load_full();
        let hash: Arc<str> = policy.hash().into();
        let mut entries: HashMap<Box<str>, Arc<Entry>> = HashMap::new();
        let mut sharers: Names<Vec<Arc<State>>> = Names::default();
        for settings in policy.shared() {
            let own = Arc::clone(states.get_or_default(&settings.name));
            let parent = settings
                .parent
                .as_ref()
                .map_or_else(|| Arc::clone(&own), |parent| Arc::clone(states.get_or_default(parent)));
            if let Some(parent) = settings.parent.as_deref().filter(|_| settings.breaker_shared) {
                sharers.get_or_default(parent).push(Arc::clone(&own));
            }
            let renumbered = own.take_numbers(settings, now);
            if renumbered.emptied {
                emptied.push(settings.name.clone());
            }
            if let (Some(made), Some(entry)) = (renumbered.closed, old.get(settings.name.as_str())) {
                closed.push((entry.pin(), made));
            }
            let pinned = Pinned::assemble(Parts {
                settings: Arc::clone(settings),
                own,
                parent,
                active: overrides.active(&settings.name, settings.parent.as_deref(), now),
                instance: Arc::clone(&self.inner.instance),
                policy: Arc::clone(&hash),
                chaos: policy.runtime().chaos,
            });
            // Guards and functions hold the entry itself, so a name that stays keeps it.
            let entry = if let Some(entry) = old.get(settings.name.as_str()) {
                entry.swap(pinned);
                Arc::clone(entry)
            } else {
                let parent = settings.parent.as_deref().and_then(|parent| entries.get(parent));
                Arc::new(Entry::new(pinned, parent.cloned()))
            };
            entries.insert(settings.name.as_str().into(), entry);
        }
        for (name, state) in states.each() {
            state.shared_by(sharers.get_mut(name).map(std::mem::take).unwrap_or_default());
        }
        #[cfg(feature = "metrics")]
        for (name, entry) in &*old {
            if !entries.contains_key(name) {
                crate::meter::retire(entry);
            }
        }
        self.inner.entries.store(Arc::new(entries));
        drop((states, overrides));
        #[cfg(feature = "record")]
        self.rewind();
        for (before, made) in closed {
            event::transition(&before, made);
        }
        emptied
    }

    /// Takes the names of another runtime that this one lacks, with their state.
    fn adopt(&self, other: &Self) {
        let mut entries = HashMap::clone(&self.entries());
        for (name, entry) in other.entries().iter() {
            entries.entry(name.clone()).or_insert_with(|| Arc::clone(entry));
        }
        self.inner.entries.store(Arc::new(entries));
    }

    /// What linked functions name, if they use this runtime, and what anybody asked this runtime for.
    #[inline]
    fn required(&self, policy: &Policy) -> Vec<Missing> {
        let mut missing = if self.is_installed() {
            missing::for_install(policy)
        } else {
            Vec::new()
        };
        let entries = self.entries();
        let told: HashSet<String> = missing.iter().map(|one| one.dependency().to_owned()).collect();
        let used = entries
            .values()
            .filter(|entry| entry.is_used() && !told.contains(entry.name.as_ref()))
            .map(|entry| entry.name.as_ref());
        missing.extend(missing::for_names(policy, used));
        missing
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy();
        f.debug_struct("Runtime")
            .field("instance", &self.instance())
            .field("policy", &policy.file())
            .field("hash", &policy.hash())
            .finish_non_exhaustive()
    }
}

/// A name that the policy does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDependency {
    name: String,
    nearest: Option<String>,
}

impl UnknownDependency {
    /// The name that was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The nearest name that exists.
    pub fn nearest(&self) -> Option<&str> {
        self.nearest.as_deref()
    }
}

impl fmt::Display for UnknownDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a dependency of the policy", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownDependency {}

/// Says that what a runtime was asked to do is done, for all observers.
#[inline]
fn reloaded(runtime: &Runtime, report: &ReloadReport) {
    let policy = runtime.policy();
    event::emit(&Event::Reloaded {
        file: &policy.file().display().to_string(),
        hash: policy.hash(),
        changes: report.changes().len(),
        detail: report,
    });
}

/// Every site of the process, for those who ask which functions name a dependency.
#[inline]
pub(crate) fn functions_of(dependency: &str) -> Vec<String> {
    let functions = site::all()
        .filter(|site| site.spec().dependency == dependency)
        .map(Site::path)
        .collect();
    sorted(functions, Ord::cmp)
}

/// The functions that name a dependency or an operation of it: an operation's fallbacks are its dependency's, unless it
/// has a table of its own.
#[inline]
pub(crate) fn sites_of(dependency: &str) -> impl Iterator<Item = &'static Site> {
    site::all().filter(move |site| {
        let rest = site.spec().dependency.strip_prefix(dependency);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The kinds of fallback that functions have which name a dependency.
#[inline]
pub(crate) fn forms_of(dependency: &str) -> Vec<&'static str> {
    let forms: Vec<_> = sites_of(dependency)
        .flat_map(|site| site.spec().forms)
        .map(Form::kind)
        .collect();
    let mut forms = sorted(forms, Ord::cmp);
    forms.dedup();
    forms
}
