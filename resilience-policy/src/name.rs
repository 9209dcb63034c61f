//! Names of dependencies, operations, templates and resources, and the nearest one to a misspelt name.

use crate::likeness::{is_one_slip, likeness};

const RESERVED: [&str; 13] = [
    "runtime",
    "defaults",
    "template",
    "dependency",
    "resource",
    "operation",
    "version",
    "breaker",
    "bulkhead",
    "retry",
    "fallback",
    "traffic",
    "chaos",
];

pub(crate) const RULE: &str = "1 to 64 of `a-z 0-9 _ -`, first a letter, no `__`, and none of the file's own words";

/// Why a name is refused, with what to write instead where that is clear.
pub(crate) fn refusal(name: &str) -> Option<(String, Option<String>)> {
    let shown = shown(name);
    if RESERVED.contains(&name) {
        return Some((
            format!("`{shown}` is a word of the file itself and cannot be a name"),
            None,
        ));
    }
    let why = if name.is_empty() {
        "a name cannot be empty".to_owned()
    } else if name.chars().count() > 64 {
        format!("the name `{shown}` is longer than 64 characters")
    } else if let Some(bad) = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '_' | '-')) {
        format!("the name `{shown}` holds `{}`", bad.escape_debug())
    } else if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        format!("the name `{shown}` does not begin with a letter")
    } else if name.contains("__") {
        format!("the name `{shown}` holds `__`, which parts environment variables")
    } else {
        return None;
    };
    Some((why, proposal(name)))
}

fn proposal(name: &str) -> Option<String> {
    let mut ours = String::new();
    for c in name.trim().chars() {
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => ours.push(c),
            '_' if !ours.ends_with('_') => ours.push('_'),
            _ if !ours.ends_with(['-', '_']) => ours.push('-'),
            _ => {}
        }
    }
    let ours = ours.trim_matches(['-', '_']);
    let good = !ours.is_empty() && ours != name && refusal(ours).is_none();
    good.then(|| ours.to_owned())
}

/// A name or text as it may stand in a message: escaped and cut.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == 64 {
            out.push('…');
            break;
        }
        if c == '"' || c == '\'' || c == '\\' {
            out.push(c);
        } else {
            out.extend(c.escape_debug());
        }
    }
    out
}

/// The known name that a misspelt one most probably means.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(name, &mut known.into_iter())
}

fn nearest_of<'a>(name: &str, known: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    // Jaro-Winkler costs the product of the lengths, and no name of ours is longer than this.
    if name.len() > 128 {
        return None;
    }
    let wanted = plain(name);
    known
        .map(|candidate| (likeness(wanted.as_bytes(), plain(candidate).as_bytes()), candidate))
        .filter(|(likeness, candidate)| {
            *likeness >= 0.87 || wanted.len() > 2 && is_one_slip(wanted.as_bytes(), plain(candidate).as_bytes())
        })
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| candidate)
}

/// Without what people vary: case and the signs between words.
pub(crate) fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_gets_the_nearest() {
        let known = [
            "failure_rate",
            "minimum_calls",
            "cooldown",
            "cooldown_max",
            "probes",
            "probe_successes",
        ];
        assert_eq!(nearest("failure_rte", known), Some("failure_rate"));
        assert_eq!(nearest("minimum-calls", known), Some("minimum_calls"));
        assert_eq!(nearest("coolDown", known), Some("cooldown"));
        assert_eq!(nearest("probe", known), Some("probes"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn awkward_names_are_refused_with_a_proposal() {
        for (name, ours) in [
            ("api.example.com", Some("api-example-com")),
            ("", None),
            (" payments ", Some("payments")),
            ("Payments", Some("payments")),
            ("a\nb", Some("a-b")),
            ("支付", None),
            ("defaults", None),
            ("breaker", None),
            ("a__b", Some("a_b")),
            ("1a", None),
        ] {
            let (_, proposal) = refusal(name).unwrap_or_else(|| panic!("`{name}` was accepted"));
            assert_eq!(proposal.as_deref(), ours, "{name}");
        }
        for name in ["payrail", "redis-2", "a", "constructor", "payments_eu"] {
            assert_eq!(refusal(name), None, "{name}");
        }
    }
}
