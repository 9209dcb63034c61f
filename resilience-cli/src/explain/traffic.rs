//! What the expected traffic makes of the numbers, and who else draws on the same resources.

use std::fmt::Write as _;

use resilience_policy::{Dependency, Figures, Policy};

/// Empty where nothing is expected and nothing shared.
pub(super) fn figures(policy: &Policy, dependency: &Dependency) -> String {
    let figures = Figures::of(dependency);
    let mut text = String::new();
    let rows = [
        ("calls a second, each instance", figures.calls_per_second_per_instance),
        ("seconds between two calls", figures.seconds_between_calls),
        ("calls in the window", figures.calls_per_window),
        ("seconds that the window reaches back", figures.seconds_to_fill_window),
        ("slots busy (Little's law)", figures.slots_needed),
    ];
    let known = rows.iter().any(|(_, figure)| figure.is_some());
    for (what, figure) in rows.into_iter().chain([
        (
            "probes at once, all instances",
            figures.probes_all_instances.filter(|_| known),
        ),
        ("slots, all instances", figures.slots_all_instances.filter(|_| known)),
    ]) {
        if let Some(figure) = figure {
            let _ = writeln!(text, "  {what:38} {}", rounded(figure));
        }
    }
    for (name, resource) in policy
        .resources()
        .filter(|(name, _)| dependency.uses.iter().any(|used| used == name))
    {
        let users: Vec<String> = policy
            .dependencies()
            .filter(|other| !other.slots_shared && other.uses.iter().any(|used| used == name))
            .map(|other| match Figures::of(other).slots_all_instances {
                Some(slots) => format!("{} may take {}", other.name, rounded(slots)),
                None => format!("{} without bound", other.name),
            })
            .collect();
        let _ = writeln!(text, "  {name}: capacity {}; {}", resource.capacity, users.join(", "));
    }
    text
}

fn rounded(figure: f64) -> String {
    let text = format!("{figure:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
