//! Breakers that are too quiet to judge alone, judged on what all instances counted.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use resilience_policy::Mode;
use resilience_policy::names::sorted;

use super::Runtime;
use crate::clock;
use crate::dependency::{Entry, Pinned};
use crate::event::{self, Event, Pooled};
use crate::fleet::{Counted, Others, Pool};
use crate::layer::breaker::Look;
use crate::meter;

/// Whoever meets the fleet has begun to by then.
const UNREAD: Duration = Duration::from_secs(10);

impl Runtime {
    /// What this instance counted of the dependencies whose window holds fewer results than `minimum_calls`, to be carried
    /// to the other instances of the service, for their [`pool`](Self::pool).
    ///
    /// `resilience-admin` does both, through a Redis, where the policy has a table `[fleet]` with `evidence = "pooled"`.
    /// These two are for who meets elsewhere:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::io;
    /// use resilience_runtime::{Policy, Runtime};
    ///
    /// let text = "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\nbreaker = { window = \"20m\", minimum_calls = 6 }\n";
    /// let (here, there) = (Runtime::new(Policy::from_toml(text)?), Runtime::new(Policy::from_toml(text)?));
    /// for runtime in [&here, &there] {
    ///     for _ in 0..3 {
    ///         let refused = async { Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused)) };
    ///         let _ = runtime.guard("payrail")?.call_once(refused).await;
    ///     }
    /// }
    /// // Three of six are too few to judge; those of both are not.
    /// here.pool(&[there.counted()]);
    /// assert_eq!(here.snapshot().dependency("payrail").and_then(|payrail| payrail.state), Some("open"));
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn counted(&self) -> Counted {
        let now = clock::now();
        let breakers = self.breakers();
        let looks = breakers.iter().map(|(entry, _, look)| (&*entry.name, look.clone()));
        self.lock_pool().tell(self.instance(), looks, now)
    }

    /// Takes what other instances [`counted`](Self::counted), and opens each breaker that is too quiet to judge alone and
    /// whose own results and theirs together say so. Called every second or so, also when nothing was heard: what was
    /// heard before is counted until it is as old as the window.
    ///
    /// A rate is only judged if one of the own results is of its sort, so nothing opens on what others see alone. Only own
    /// probes close a breaker; with that, what others counted before is forgotten. The order and the number of times that
    /// something is heard do not matter.
    #[inline]
    pub fn pool(&self, others: &[Counted]) {
        self.attend_fleet();
        let now = clock::now();
        let breakers = self.breakers();
        let mut pool = self.lock_pool();
        let entries = self.entries();
        pool.hear(others, |name| entries.contains_key(name), now);
        if pool.is_alone() {
            return;
        }
        let mut judged = Vec::new();
        for (entry, pinned, look) in breakers {
            if !look.is_quiet || !look.is_closed || look.totals.bad == 0 || pinned.mode == Mode::Off {
                continue;
            }
            let others = pool.others(&entry.name, &look, now);
            let made = pinned
                .breaker()
                .and_then(|(breaker, _)| breaker.judge_with(others.totals, look.period, now));
            judged.extend(made.map(|(made, own)| (entry, pinned, made, own, others)));
        }
        // Nothing is told under a lock.
        drop(pool);
        for (entry, pinned, made, own, others) in judged {
            let pooled = Pooled {
                own,
                fleet: made.totals,
                instances: others.count + 1,
            };
            event::transition_pooled(&pinned, made, pooled);
            meter::tell(&entry);
        }
    }

    /// Somebody meets the fleet that the policy names, whatever it makes of it.
    #[doc(hidden)]
    #[inline]
    pub fn attend_fleet(&self) {
        self.inner.fleet_attended.store(true, Ordering::Relaxed);
    }

    /// A table that nothing reads is said to be so, once, to whoever wrote it: by now somebody would have come.
    #[inline]
    pub(crate) fn tick_fleet(&self) {
        if self.inner.fleet_attended.load(Ordering::Relaxed) {
            return;
        }
        let in_force = self.in_force();
        let since = clock::wall().duration_since(in_force.loaded_at).unwrap_or_default();
        if in_force.policy.fleet().is_some()
            && since >= UNREAD
            && !self.inner.fleet_attended.swap(true, Ordering::Relaxed)
        {
            event::emit(&Event::FleetUnread {
                file: &in_force.policy.file().display().to_string(),
            });
        }
    }

    /// Forgets what others counted: from now on each breaker judges alone.
    #[inline]
    pub fn unpool(&self) {
        self.lock_pool().forget();
    }

    /// What others add to a breaker now, where they add anything.
    #[inline]
    pub(crate) fn others(&self, entry: &Entry) -> Option<Others> {
        let pool = self.lock_pool();
        if pool.is_alone() {
            return None;
        }
        let now = clock::now();
        let pinned = entry.pin();
        let look = pinned
            .breaker()
            .filter(|_| !pinned.settings.breaker_shared)?
            .0
            .look(now);
        let others = look.is_quiet.then(|| pool.others(&entry.name, &look, now))?;
        (others.totals.calls > 0).then_some(others)
    }

    /// Every breaker, in the order of the names that own them.
    #[inline]
    fn breakers(&self) -> Vec<(Arc<Entry>, Arc<Pinned>, Look)> {
        let now = clock::now();
        let entries = self.entries();
        let all = entries.values().filter_map(|entry| {
            let pinned = entry.pin();
            let (breaker, _) = pinned.breaker().filter(|_| !pinned.settings.breaker_shared)?;
            let look = breaker.look(now);
            Some((Arc::clone(entry), pinned, look))
        });
        sorted(all.collect(), |(one, ..), (other, ..)| one.name.cmp(&other.name))
    }

    #[inline]
    fn lock_pool(&self) -> MutexGuard<'_, Pool> {
        self.inner.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
