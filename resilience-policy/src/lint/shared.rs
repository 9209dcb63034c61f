//! Lints that look at several dependencies at once.

use super::{above, at_line};
use crate::diff::path;
use crate::fault::{Fault, Related};
use crate::figures::Figures;
use crate::locate::Text;
use crate::names::Names;
use crate::policy::{Dependency, Policy};
use crate::reference::Id;

/// Two operations that share one breaker: the one that fails opens it for the other.
pub(super) fn mixed_operations(policy: &Policy, file: &str, text: &Text<'_>) -> Vec<Fault> {
    let mut by_parent: Names<Vec<&Dependency>> = Names::default();
    for operation in policy
        .dependencies()
        .filter(|operation| operation.breaker_shared && operation.breaker.is_some())
    {
        let parent = operation.parent.as_deref().unwrap_or_default();
        by_parent.get_or_default(parent).push(operation);
    }
    by_parent
        .each()
        .filter_map(|(parent, sharing)| {
            let dependency = policy.dependency(parent)?;
            let [first, second, ..] = sharing[..] else { return None };
            let message = format!(
                "`{}` and `{}` share one breaker: where one of them fails, the other is refused with it, or hides it; \
                 give one its own `[{}.breaker]`",
                first.name,
                second.name,
                path(second),
            );
            let mut fault = Fault::named("mixed_operations", file, path(dependency), message);
            fault.numbers = vec![("operations", count(sharing.len()))];
            fault.related = sharing
                .iter()
                .map(|operation| related(file, operation, "shares the breaker"))
                .collect();
            Some(at_line(fault, text, dependency.line))
        })
        .collect()
}

/// More slots over all users and instances than the resource has.
pub(super) fn resource_oversubscribed(policy: &Policy, file: &str, text: &Text<'_>) -> Vec<Fault> {
    policy
        .resources()
        .filter_map(|(name, resource)| {
            let users: Vec<(&Dependency, f64)> = policy
                .dependencies()
                .filter(|dependency| !dependency.slots_shared && dependency.uses.iter().any(|used| used == name))
                .filter(|dependency| {
                    !dependency
                        .doubtful
                        .iter()
                        .any(|id| matches!(id, Id::MaxConcurrent | Id::Uses))
                })
                .filter_map(|dependency| Some((dependency, Figures::of(dependency).slots_all_instances?)))
                .collect();
            #[allow(clippy::cast_precision_loss)] // a capacity is at most 10⁹
            let capacity = resource.capacity as f64;
            let slots: f64 = users.iter().map(|(_, slots)| slots).sum();
            if !above(slots, capacity) {
                return None;
            }
            let (guilty, radius) = blast_radius(&users, capacity)?;
            let who = match users.len() {
                1 => format!("`{}` may take {slots} of `{name}`", guilty.name),
                many => format!("{many} dependencies may take {slots} of `{name}`"),
            };
            let message = format!(
                "{who} over all instances, and it has {capacity}: when `{}` hangs, {radius} innocent go down with it; \
                 lower `max_concurrent` until the sum fits",
                guilty.name,
            );
            let mut fault = Fault::named(
                "resource_oversubscribed",
                file,
                format!("resource.{name}.capacity"),
                message,
            );
            fault.value = Some(resource.capacity.to_string());
            fault.numbers = vec![
                ("limits_on_resource", slots),
                ("capacity", capacity),
                ("dependencies", count(users.len())),
                ("blast_radius", radius),
            ];
            fault.related = users
                .iter()
                .map(|(user, slots)| related(file, user, &format!("`{}` may take {slots}", user.name)))
                .collect();
            Some(at_line(fault, text, resource.line))
        })
        .collect()
}

/// The dependency whose hanging takes most of the others down: those whose slots no longer fit into what it leaves.
fn blast_radius<'a>(users: &[(&'a Dependency, f64)], capacity: f64) -> Option<(&'a Dependency, f64)> {
    let down = |guilty: usize| {
        let left = capacity - users[guilty].1;
        count(
            users
                .iter()
                .enumerate()
                .filter(|(at, (_, slots))| *at != guilty && above(*slots, left.max(0.0)))
                .count(),
        )
    };
    let worst = (0..users.len()).max_by(|left, right| down(*left).total_cmp(&down(*right)))?;
    Some((users[worst].0, down(worst)))
}

fn related(file: &str, dependency: &Dependency, message: &str) -> Related {
    Related {
        file: file.into(),
        line: dependency.line,
        column: 1,
        message: message.into(),
    }
}

#[allow(clippy::cast_precision_loss)] // so many dependencies fit in no file
fn count(number: usize) -> f64 {
    number as f64
}
