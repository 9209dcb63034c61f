//! The policy file and the overrides file, watched. Content decides: what is read is compared, so a touch is no
//! change and a change that no event announced is found all the same.

mod changes;

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use resilience_policy::names::Names;
use resilience_policy::{Policy, overrides};

use crate::bell::Bell;
use crate::clock;
use crate::event::{self, Event};
use crate::mode::Override;
use crate::runtime::{InForce, Runtime, see};
use changes::{Change, Tracked};

/// Events only make a look come sooner; without any, the files are read this often.
const POLL: Duration = Duration::from_millis(250);

/// A thread that watches; dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct Watch {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
    #[cfg(feature = "watch")]
    events: Option<notify::RecommendedWatcher>,
}

impl Watch {
    /// Watches `file`, whose content at the load was `bytes`; `None` where there is no file yet.
    #[inline]
    pub(crate) fn start(
        runtime: Runtime,
        file: PathBuf,
        bytes: Option<Vec<u8>>,
        environment: Vec<(String, String)>,
    ) -> Self {
        if bytes.is_none() {
            ::tracing::info!(
                target: event::TARGET,
                "no policy file: the numbers compiled in are in force until `{}` appears", file.display(),
            );
        }
        let bell = Arc::new(Bell::default());
        #[cfg(feature = "watch")]
        let events = directory_events(&file, Arc::clone(&bell));
        let mut watcher = Watcher::new(runtime, file, bytes, environment);
        // The overrides are in force before the first call, not a moment after it.
        watcher.look();
        let wakes = Arc::clone(&bell);
        let spawned = std::thread::Builder::new()
            .name("resilience-watch".to_owned())
            .spawn(move || {
                while wakes.wait(POLL) {
                    watcher.look();
                    // A burst of events is one look.
                    wakes.hush();
                }
                #[cfg(feature = "metrics")]
                watcher.runtime.tick_metrics(false);
            });
        let thread = spawned
            .inspect_err(|error| {
                ::tracing::error!(target: event::TARGET, error = %error, "no thread to watch the policy file: edits need a restart");
            })
            .ok();
        Self {
            bell,
            thread,
            #[cfg(feature = "watch")]
            events,
        }
    }
}

impl Drop for Watch {
    #[inline]
    fn drop(&mut self) {
        #[cfg(feature = "watch")]
        drop(self.events.take());
        self.bell.end();
        if let Some(thread) = self.thread.take() {
            // It holds no lock of a caller's and looks at two small files at most before it sees the end.
            let _ = thread.join();
        }
    }
}

/// The directory is watched, not the file: an editor's rename and a `ConfigMap`'s swap replace the file.
#[cfg(feature = "watch")]
#[inline]
fn directory_events(file: &Path, bell: Arc<Bell>) -> Option<notify::RecommendedWatcher> {
    use notify::{RecursiveMode, Watcher as _};
    let directory = file
        .parent()
        .filter(|path| !path.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let on_event = move |event: notify::Result<notify::Event>| {
        // Our own reading of the file is an access event; waking for it would never end.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            bell.ring();
        }
    };
    notify::recommended_watcher(on_event)
        .and_then(|mut watcher| watcher.watch(directory, RecursiveMode::NonRecursive).map(|()| watcher))
        .inspect_err(|error| {
            ::tracing::info!(target: event::TARGET, error = %error, "no events for the policy's directory; its content is polled");
        })
        .ok()
}

struct Watcher {
    runtime: Runtime,
    policy: Tracked,
    overrides: Tracked,
    environment: Vec<(String, String)>,
}

impl Watcher {
    #[inline]
    fn new(runtime: Runtime, file: PathBuf, bytes: Option<Vec<u8>>, environment: Vec<(String, String)>) -> Self {
        let overrides = overrides_file(&runtime, &file);
        Self {
            runtime,
            policy: match bytes {
                Some(bytes) => Tracked::loaded(file, bytes),
                None => Tracked::optional(file),
            },
            overrides: Tracked::optional(overrides),
            environment,
        }
    }

    #[inline]
    fn look(&mut self) {
        see(clock::now());
        match self.policy.look() {
            Change::None => {}
            Change::Missing => {
                let file = self.policy.path().display().to_string();
                let since = resilience_policy::overrides::utc(clock::wall());
                self.runtime
                    .refuse(format!("{file}: the file is missing since {since}"));
                event::emit(&Event::Missing { file: &file });
            }
            Change::Unreadable(error) => self.refuse(&error),
            Change::Content(bytes) => self.take_policy(&bytes),
        }
        match self.overrides.look() {
            Change::None => {}
            Change::Missing => self.runtime.take_overrides(Names::default()),
            Change::Unreadable(error) => self.refuse_overrides(&error),
            Change::Content(bytes) => self.take_overrides(&bytes),
        }
        self.runtime.tick_overrides();
        self.runtime.tick_fleet();
        #[cfg(feature = "metrics")]
        self.runtime.tick_metrics(true);
    }

    #[inline]
    fn take_policy(&mut self, bytes: &[u8]) {
        let parsed = Policy::parse(bytes, self.policy.path(), &self.environment);
        let policy = match parsed {
            Ok(policy) => policy,
            Err(error) => return self.refuse(&error),
        };
        match self.runtime.take(policy) {
            Ok(_) => {
                let overrides = overrides_file(&self.runtime, self.policy.path());
                if overrides != self.overrides.path() {
                    self.overrides = Tracked::moved(overrides);
                }
            }
            Err(error) => self.tell_refusal(&error),
        }
    }

    #[inline]
    fn refuse(&self, error: &dyn Display) {
        self.runtime.refuse(error.to_string());
        self.tell_refusal(error);
    }

    #[inline]
    fn tell_refusal(&self, error: &dyn Display) {
        let file = self.policy.path().display().to_string();
        let stays = Stays {
            error,
            in_force: self.runtime.in_force(),
        };
        event::emit(&Event::Refused {
            file: &file,
            error: &stays,
        });
    }

    /// A bad overrides file keeps the last good one.
    #[inline]
    fn take_overrides(&self, bytes: &[u8]) {
        match overrides::parse(bytes, self.overrides.path(), clock::wall()) {
            Ok(entries) => {
                for entry in &entries {
                    self.say_if_unknown(entry);
                }
                let mut said = Names::default();
                for entry in entries {
                    let set = Override {
                        mode: entry.mode,
                        by: entry.by,
                        reason: entry.reason,
                        until: entry.until,
                        answer: entry.answer,
                    };
                    said.insert(entry.name, set);
                }
                self.runtime.take_overrides(said);
            }
            Err(error) => self.refuse_overrides(&error),
        }
    }

    #[inline]
    fn refuse_overrides(&self, error: &dyn Display) {
        let file = self.overrides.path().display().to_string();
        event::emit(&Event::Refused { file: &file, error });
    }

    /// A misspelt name acts on nothing, which must not look as if it did. It holds if the policy gains the name.
    #[inline]
    fn say_if_unknown(&self, entry: &overrides::Entry) {
        if let Err(unknown) = self.runtime.entry(&entry.name) {
            let file = self.overrides.path().display();
            ::tracing::warn!(
                target: event::TARGET, dependency = entry.name, line = entry.line,
                "{file}:{}: this override acts on nothing: {unknown}; the others of the file are in force", entry.line,
            );
        }
    }
}

/// A refusal, and what goes on in spite of it.
struct Stays<'a> {
    error: &'a dyn Display,
    in_force: Arc<InForce>,
}

impl Display for Stays<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InForce { policy, loaded_at } = &*self.in_force;
        let since = resilience_policy::overrides::utc(*loaded_at);
        write!(
            f,
            "{}\n   the policy loaded at {since} (hash {}) stays in force for all {} dependencies",
            self.error,
            policy.hash(),
            policy.dependencies().filter(|one| one.parent.is_none()).count(),
        )
    }
}

#[inline]
fn overrides_file(runtime: &Runtime, policy: &Path) -> PathBuf {
    let named = runtime.policy().runtime().overrides.clone();
    policy.parent().map_or(named.clone(), |directory| directory.join(named))
}
