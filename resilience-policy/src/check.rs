//! From bytes to a policy, with every fault on the way.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::DeTable;

use crate::build;
use crate::chain::Chain;
use crate::environment;
use crate::error::PolicyError;
use crate::fault::{Fault, FaultName};
use crate::fleet::FleetSettings;
use crate::hash;
use crate::level::{Level, Where, Written};
use crate::locate::Text;
use crate::names::Names;
use crate::policy::{Dependency, Inner, Policy, Resource, RuntimeSettings, Value};
use crate::provenance::Origin;
use crate::reference::Id;
use crate::rules::Rules;
use crate::syntax::{self, Syntax};
use crate::walk::Walk;

/// The overrides file, where the policy names none.
const OVERRIDES: &str = "resilience.overrides.toml";

/// What a file gives, good or not.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inspection {
    /// What could be understood. Where `error` is set, what is at fault stands at its built-in value and is known to
    /// the lints as doubtful, so this policy is for reports and not for use.
    pub policy: Policy,
    /// Every fault.
    pub error: Option<PolicyError>,
}

/// Reads a policy from its bytes, keeping what can be understood beside the faults.
pub fn inspect(bytes: &[u8], file: &Path, environment: &[(String, String)]) -> Inspection {
    let shown = file.to_string_lossy();
    let broken = |faults| Inspection {
        policy: empty(file),
        error: Some(PolicyError::new(faults)),
    };
    let text = match syntax::decode(bytes, &shown) {
        Ok(text) => Text::new(text),
        Err(fault) => return broken(vec![*fault]),
    };
    let faults = syntax::precheck(&text, &shown);
    if !faults.is_empty() {
        return broken(faults);
    }
    if let Some((faults, more)) = syntax::flood(&text, &shown) {
        let error = Some(PolicyError::new(faults).and(more));
        return Inspection {
            policy: empty(file),
            error,
        };
    }
    let (tree, errors) = DeTable::parse_recoverable(text.text);
    let judged = syntax::judge(&text, &shown, &errors);
    let reading = Reading {
        text: &text,
        file: &shown,
        path: file,
        environment,
    };
    match &judged.mended {
        None => reading.policy(tree.get_ref(), &judged),
        Some(mended) => reading.policy(DeTable::parse_recoverable(mended).0.get_ref(), &judged),
    }
}

struct Reading<'t, 'a> {
    text: &'t Text<'a>,
    file: &'t str,
    path: &'t Path,
    environment: &'t [(String, String)],
}

impl Reading<'_, '_> {
    fn policy(&self, tree: &DeTable<'_>, judged: &Syntax) -> Inspection {
        let partial = judged.partial;
        let mut walk = Walk::new(self.text, self.file, &judged.lost);
        let mut written = walk.file(tree, partial);
        let mut faults = judged.faults.clone();
        let more = judged.more + walk.more;
        faults.extend(walk.faults);
        environment::apply(&mut written, self.environment, &mut faults);

        let mut rules = Rules {
            text: self.text,
            file: self.file,
            faults: Vec::new(),
        };
        let dependencies = self.dependencies(&written, &mut rules, partial);
        rules.fleet(&written);
        if !partial {
            faults.extend(once(rules.faults));
        }
        let policy = Policy {
            inner: Arc::new(self.inner(&written, dependencies)),
        };
        let error = (!faults.is_empty()).then(|| PolicyError::new(faults).and(more));
        Inspection { policy, error }
    }

    fn dependencies(&self, written: &Written, rules: &mut Rules<'_, '_>, partial: bool) -> Names<Arc<Dependency>> {
        let file: Arc<str> = self.file.into();
        let mut dependencies = Names::default();
        for (name, (own, operations)) in written.dependencies.each() {
            let (template, doubtful) = template_of(own, written);
            let doubtful = doubtful || partial;
            let chain = Chain::new(levels(vec![(own, Origin::Own)], template, written), doubtful);
            let missing = rules.check(&chain, name, None);
            let built = build::dependency(self.text, &file, &chain, name, None);
            dependencies.insert(name.clone(), Arc::new(built));
            for (operation, level) in operations.each() {
                let name_of = format!("{name}.{operation}");
                let near = vec![(level, Origin::Own), (own, Origin::Dependency)];
                let chain = Chain::new(levels(near, template, written), doubtful);
                rules.check(&chain, &name_of, Some(&missing));
                let built = build::dependency(self.text, &file, &chain, &name_of, Some(name));
                dependencies.insert(name_of, Arc::new(built));
            }
        }
        dependencies
    }

    fn inner(&self, written: &Written, dependencies: Names<Arc<Dependency>>) -> Inner {
        let value = |id: Id| written.runtime.entry(id).and_then(|entry| entry.value.as_ref());
        let text = |id: Id| match value(id) {
            Some(Value::String(text)) => Some(text.clone()),
            _ => None,
        };
        let runtime = RuntimeSettings {
            instance: text(Id::Instance),
            overrides: text(Id::Overrides).map_or_else(|| PathBuf::from(OVERRIDES), PathBuf::from),
            chaos: matches!(value(Id::ChaosSwitch), Some(Value::Bool(true))),
        };
        let mut resources = Names::default();
        for (name, level) in written.resources.each() {
            let capacity = level.entry(Id::ResourceCapacity).map(|entry| &entry.value);
            if let Some(Some(Value::Integer(capacity))) = capacity {
                let capacity = capacity.unsigned_abs();
                let line = self.text.line_number(level.header.start);
                resources.insert(name.clone(), Resource { capacity, line });
            }
        }
        let fleet = written.fleet.as_ref();
        let fleet = fleet.and_then(|level| FleetSettings::new(level, self.text, self.file));
        let hash = hash::of(&runtime, fleet.as_ref(), &dependencies, &resources);
        let runtime_lines = written.runtime.entries.iter().filter_map(|entry| match &entry.place {
            Where::File { key } => Some((entry.id, self.text.line_number(key.start))),
            Where::Variable(_) => None,
        });
        Inner {
            file: self.path.into(),
            hash,
            runtime,
            fleet,
            runtime_lines: runtime_lines.collect(),
            dependencies,
            resources,
        }
    }
}

/// The template a dependency inherits, and whether it names one that is not known.
fn template_of<'w>(own: &'w Level, written: &'w Written) -> (Option<(&'w str, &'w Level)>, bool) {
    match own.entry(Id::Inherits).map(|entry| &entry.value) {
        None => (None, false),
        Some(Some(Value::String(name))) => match written.templates.get(name) {
            Some(level) => (Some((name, level)), false),
            None => (None, true),
        },
        Some(_) => (None, true),
    }
}

fn levels<'w>(
    mut near: Vec<(&'w Level, Origin)>,
    template: Option<(&str, &'w Level)>,
    written: &'w Written,
) -> Vec<(&'w Level, Origin)> {
    near.extend(template.map(|(name, level)| (level, Origin::Template(name.into()))));
    near.extend(written.defaults.iter().map(|level| (level, Origin::Defaults)));
    near
}

/// What a template or a dependency gets wrong is found again in everybody who inherits it; it is told once.
fn once(faults: Vec<Fault>) -> Vec<Fault> {
    let mut seen = Names::default();
    let mut told = Vec::with_capacity(faults.len());
    for fault in faults {
        let what = format!("{:?}", (fault.file(), fault.place, fault.name, fault.key()));
        if !seen.has(&what) {
            seen.insert(what, ());
            told.push(fault);
        }
    }
    told
}

fn empty(file: &Path) -> Policy {
    let runtime = RuntimeSettings {
        overrides: OVERRIDES.into(),
        ..RuntimeSettings::default()
    };
    let (dependencies, resources) = (Names::default(), Names::default());
    let hash = hash::of(&runtime, None, &dependencies, &resources);
    Policy {
        inner: Arc::new(Inner {
            file: file.into(),
            hash,
            runtime,
            fleet: None,
            runtime_lines: Vec::new(),
            dependencies,
            resources,
        }),
    }
}

/// The bytes of a file that may be anything: a directory, a pipe that never ends, too large.
#[inline]
pub(crate) fn bytes_of(path: &Path) -> Result<Vec<u8>, Box<Fault>> {
    let file = path.to_string_lossy();
    let unreadable = |why: String| Box::new(Fault::new(FaultName::Unreadable, &file, "", why));
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => unreadable("the file does not exist".into()),
        _ => unreadable(format!("the file cannot be read: {}", io_words(&error))),
    };
    // Asked before it is opened: opening a pipe waits for who writes into it.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(unreadable("this is not a regular file".into()));
    }
    // What it says of its length may be outgrown by the time it is read.
    let most = syntax::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).map_err(failed)?;
    opened.take(most).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > syntax::MAX_BYTES {
        return Err(Box::new(syntax::too_large(&file)));
    }
    Ok(bytes)
}

#[inline]
fn io_words(error: &std::io::Error) -> String {
    error.to_string().to_lowercase()
}
