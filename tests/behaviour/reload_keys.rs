//! What a change of each key does while calls run, key by key from the loader's own table: a key without a row here
//! fails, and so does one that acts at another moment than the reference says.

mod breaker;
mod fallbacks;
mod others;
mod room;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use resilience_policy::reference::{Id, Reload, Table};
use resilience_runtime::{Guard, Policy, Runtime};
use tokio::task::JoinHandle;

use crate::kit::{self, Clock, Gate, Script, parse, settle};

/// A key, what stands beside it, its line before and after, and what shows that the change acts when it should.
struct Row {
    id: Id,
    reload: Reload,
    /// The dependency: `far`, or one that a function of these tests names.
    dependency: &'static str,
    beside: &'static str,
    old: &'static str,
    new: &'static str,
    acts: fn(Live) -> Pin<Box<dyn Future<Output = ()>>>,
}

/// A runtime whose policy changes in one key.
struct Live {
    runtime: Runtime,
    guard: Guard,
    clock: Clock,
    id: Id,
    policies: [Policy; 2],
}

/// A row: key and class, what stands beside it, the line before and after, and what it does.
macro_rules! row {
    ($id:ident $reload:ident $dependency:literal, $beside:expr, $old:expr => $new:expr, |$live:ident| $acts:block) => {
        crate::reload_keys::Row {
            id: resilience_policy::reference::Id::$id,
            reload: resilience_policy::reference::Reload::$reload,
            dependency: $dependency,
            beside: $beside,
            old: $old,
            new: $new,
            acts: |$live| Box::pin(async move $acts),
        }
    };
}
use row;

impl Row {
    fn policy(&self, line: &str) -> Policy {
        let line = line.to_owned();
        let (top, own) = match self.id.key().table {
            Table::Runtime | Table::Fleet | Table::Resource => (line, String::new()),
            Table::Chaos => ("runtime.chaos = true".to_owned(), line),
            _ => (String::new(), line),
        };
        let fail = if own.starts_with("fail ") {
            ""
        } else {
            "fail = \"open\""
        };
        parse(&format!(
            "version = 1\n{top}\n[template.one]\nabout = \"one\"\n[template.two]\nabout = \"two\"\n\
             [dependency.{}]\n{fail}\n{}\n{own}\n",
            self.dependency, self.beside
        ))
    }

    fn live(&self) -> Live {
        let policies = [self.policy(self.old), self.policy(self.new)];
        let runtime = Runtime::new(policies[0].clone());
        Live {
            guard: runtime.guard(self.dependency).unwrap(),
            runtime,
            clock: Clock::start(),
            id: self.id,
            policies,
        }
    }
}

impl Live {
    /// The edit. Its report names this one key, old and new, its line and what it does.
    fn change(&self) {
        let report = self.runtime.reload(self.policies[1].clone()).unwrap();
        let key = match self.id {
            // What a dependency inherits is no value of its own: its report is that of what is inherited.
            Id::Inherits => Id::About.key(),
            id => id.key(),
        };
        // A resource's path has its own name in it.
        let name = if key.table == Table::Resource {
            key.name
        } else {
            key.path
        };
        let [change] = report.changes() else {
            panic!("`{name}`: {report}")
        };
        assert!(change.key().ends_with(name), "`{name}`: {report}");
        assert_ne!(change.old(), change.new());
        assert!(change.line().is_some(), "{report}");
        assert_eq!(change.effect(), key.reload.effect());
        assert!(
            report
                .to_string()
                .contains(&format!("{} → {}", change.old(), change.new()))
        );
    }

    async fn one(&self, step: &str) -> &'static str {
        kit::call(&self.guard, &Script::new(step)).await
    }

    async fn each(&self, script: &str) -> Vec<&'static str> {
        let count = script.split_whitespace().count();
        kit::calls(&self.guard, &Script::new(script), count).await
    }

    /// How one call of this step ends, and after how many milliseconds.
    async fn timed(&self, step: &str) -> (&'static str, u128) {
        let clock = Clock::start();
        (self.one(step).await, clock.now().as_millis())
    }

    /// How often the body begins in one call.
    async fn starts(&self, step: &str) -> usize {
        let body = Script::new(step);
        kit::call(&self.guard, &body).await;
        body.starts()
    }

    fn begin(&self, gate: &Gate) -> JoinHandle<(&'static str, u128)> {
        let (guard, gate, clock) = (self.guard.clone(), gate.clone(), Clock::start());
        tokio::spawn(async move { (kit::seen(&guard.call(|| gate.run()).await), clock.now().as_millis()) })
    }

    async fn begun(&self, gate: &Gate, count: usize) -> Vec<JoinHandle<(&'static str, u128)>> {
        let tasks = (0..count).map(|_| self.begin(gate)).collect();
        settle().await;
        tasks
    }

    async fn at_ms(&self, millis: u64) {
        self.clock.at(kit::ms(millis)).await;
        settle().await;
    }

    fn read(&self) -> resilience_runtime::DependencySnapshot {
        let snapshot = self.runtime.snapshot();
        snapshot.dependencies.into_values().next().unwrap()
    }

    fn state(&self) -> &'static str {
        self.read().state.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn each_key_acts_when_the_reference_says() {
    let mut rows = BTreeMap::new();
    for row in [breaker::rows(), room::rows(), fallbacks::rows(), others::rows()]
        .into_iter()
        .flatten()
    {
        assert!(rows.insert(row.id, row).is_none(), "a key has one row");
    }
    for id in Id::ALL {
        let key = id.key();
        // It has one value, so that it cannot change.
        if *id == Id::Version {
            continue;
        }
        let row = rows
            .get(id)
            .unwrap_or_else(|| panic!("nothing shows what a change of `{}` does while running", key.path));
        assert_eq!(row.reload, key.reload, "`{}` is not what the reference says", key.path);
        println!("{}: {}", key.path, key.reload.class());
        (row.acts)(row.live()).await;
    }
}
