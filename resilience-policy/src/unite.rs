//! Policies of several packages in one binary, united by the names of their dependencies.

use std::sync::Arc;

use crate::diff::path;
use crate::error::PolicyError;
use crate::fault::{Fault, FaultName, Related};
use crate::hash;
use crate::locate::Place;
use crate::names::{Names, sorted};
use crate::policy::{Dependency, Inner, Policy, Resource};
use crate::reference::Id;

pub(crate) fn unite(parts: &[(&str, Policy)]) -> Result<Policy, PolicyError> {
    let Some((_, first)) = parts.first() else {
        return Policy::from_toml("version = 1\n");
    };
    let mut dependencies: Names<(usize, Arc<Dependency>)> = Names::default();
    let mut resources: Names<(usize, Resource)> = Names::default();
    let mut faults = Vec::new();
    for (at, (_, policy)) in parts.iter().enumerate() {
        for (name, dependency) in policy.inner.dependencies.each() {
            match dependencies.get(name) {
                Some((before, other)) => differences(parts, (*before, other), (at, dependency), &mut faults),
                None => dependencies.insert(name.clone(), (at, Arc::clone(dependency))),
            }
        }
        for (name, resource) in policy.inner.resources.each() {
            match resources.get(name) {
                Some((before, other)) if other.capacity != resource.capacity => {
                    let key = format!("resource.{name}.capacity");
                    let values = (other.capacity.to_string(), resource.capacity.to_string());
                    faults.push(fault(
                        parts,
                        &key,
                        (*before, Some(other.line)),
                        (at, Some(resource.line)),
                        &values,
                    ));
                }
                Some(_) => {}
                None => resources.insert(name.clone(), (at, resource.clone())),
            }
        }
    }
    if !faults.is_empty() {
        return Err(PolicyError::new(faults));
    }
    let (dependencies, resources) = (dependencies.map(|(_, one)| one), resources.map(|(_, one)| one));
    let runtime = first.runtime().clone();
    let fleet = first.fleet().cloned();
    let hash = hash::of(&runtime, fleet.as_ref(), &dependencies, &resources);
    Ok(Policy {
        inner: Arc::new(Inner {
            file: first.file().into(),
            hash,
            runtime,
            fleet,
            runtime_lines: first.inner.runtime_lines.clone(),
            dependencies,
            resources,
        }),
    })
}

fn differences(
    parts: &[(&str, Policy)],
    (before, old): (usize, &Dependency),
    (at, new): (usize, &Dependency),
    faults: &mut Vec<Fault>,
) {
    for id in sorted(Id::ALL.to_vec(), |one, other| one.key().path.cmp(other.key().path)) {
        let text = |dependency: &Dependency| {
            let value = dependency.value(id);
            value.map_or_else(|| "none".into(), |value| value.to_string())
        };
        let values = (text(old), text(new));
        if values.0 != values.1 {
            let line = |dependency: &Dependency| dependency.provenance.line(id).or(Some(dependency.line));
            let key = format!("{}.{}", path(new), id.key().path);
            faults.push(fault(parts, &key, (before, line(old)), (at, line(new)), &values));
        }
    }
}

fn fault(
    parts: &[(&str, Policy)],
    key: &str,
    (before, old_line): (usize, Option<u32>),
    (at, new_line): (usize, Option<u32>),
    (old, new): &(String, String),
) -> Fault {
    let ((old_package, old_policy), (new_package, new_policy)) = (&parts[before], &parts[at]);
    let message = format!(
        "`{key}` is {new} in package `{new_package}` and {old} in package `{old_package}`; one name has one set of \
         numbers in a binary: let both packages read one file, or name the dependencies apart"
    );
    let mut fault = Fault::new(
        FaultName::Contradiction,
        &new_policy.file().to_string_lossy(),
        key,
        message,
    );
    fault.value = Some(new.clone());
    fault.place = new_line.map(|line| Place {
        line,
        column: 1,
        end_column: 2,
    });
    fault.related.push(Related {
        file: old_policy.file().to_string_lossy().into_owned(),
        line: old_line.unwrap_or(1),
        column: 1,
        message: format!("package `{old_package}` says {old}"),
    });
    fault
}
