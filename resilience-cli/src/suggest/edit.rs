//! The policy with the suggestions written into it, and what that changes.

use resilience_policy::{Fault, Policy, PolicyError, lint};
use similar::TextDiff;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use super::advice::{Advice, Suggestion};

/// The edited text, its difference, and what `check` says of it.
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) diff: String,
    /// Findings of the lints that the old text does not have.
    pub(super) warnings: Vec<Fault>,
}

/// Writes what is advised into the text of the policy; an empty text becomes a file of its own.
///
/// # Errors
///
/// The loader does not accept the result.
pub(super) fn edit(old: &str, file: &str, advice: &[(String, Advice)]) -> Result<Edited, PolicyError> {
    let says_something = |(_, advice): &(String, Advice)| !advice.suggestions.is_empty() || advice.drop_breaker;
    if !advice.iter().any(says_something) {
        return Ok(Edited {
            text: old.to_owned(),
            diff: String::new(),
            warnings: Vec::new(),
        });
    }
    let mut document: DocumentMut = old.parse().unwrap_or_default();
    if old.trim().is_empty() {
        document.insert("version", Item::Value(1.into()));
    }
    for (name, advice) in advice.iter().filter(|one| says_something(one)) {
        // What could not be written shows below: the loader is asked, and the difference is made from the text.
        let _ = write(&mut document, name, advice);
    }
    let text = document.to_string();
    let policy = Policy::from_toml(&text)?;
    let before = Policy::from_toml(old)
        .map(|policy| lint(&policy, old))
        .unwrap_or_default();
    let is_new = |fault: &Fault| {
        let same = |old: &Fault| (old.name(), old.key()) == (fault.name(), fault.key());
        !before.iter().any(same)
    };
    let warnings = lint(&policy, &text).into_iter().filter(is_new).collect();
    let from = if old.is_empty() { "/dev/null" } else { file };
    let diff = TextDiff::from_lines(old, &text)
        .unified_diff()
        .context_radius(3)
        .header(from, file)
        .to_string();
    Ok(Edited { text, diff, warnings })
}

fn write(document: &mut DocumentMut, name: &str, advice: &Advice) -> Option<()> {
    let (dependency, operation) = match name.split_once('.') {
        Some((dependency, operation)) => (dependency, Some(operation)),
        None => (name, None),
    };
    let all = table(document.as_item_mut(), "dependency", true)?;
    let is_new = all.get(dependency).is_none();
    let mut place = table(all, dependency, false)?;
    if is_new {
        let fail = place.as_table_like_mut()?;
        fail.insert("fail", Item::Value(commented("closed".into(), UNDECIDED)));
    }
    if let Some(operation) = operation {
        place = table(table(place, "operation", true)?, operation, false)?;
    }
    if advice.drop_breaker {
        // One's own goes, and one that is inherited is switched off.
        let is_inline = place.is_inline_table();
        let of = place.as_table_like_mut()?;
        of.remove("breaker");
        let off = if is_inline {
            false.into()
        } else {
            commented(false.into(), NO_BREAKER)
        };
        of.insert("breaker", Item::Value(off));
    }
    for suggestion in &advice.suggestions {
        match suggestion.key.split_once('.') {
            Some((of, key)) => set(table(place, of, false)?, key, suggestion)?,
            None => set(place, suggestion.key, suggestion)?,
        }
    }
    Some(())
}

const UNDECIDED: &str = "yours to decide: may a caller get something lesser? then \"open\", and `agreed`";
const NO_BREAKER: &str = "too little for a breaker to go by: a bulkhead";

/// The table of this name, made in the way its surroundings are written. `None` where something else stands there: the
/// loader has refused such a file before.
fn table<'a>(parent: &'a mut Item, name: &str, implicit: bool) -> Option<&'a mut Item> {
    let inline = parent.is_inline_table();
    let item = parent.as_table_like_mut()?.entry(name).or_insert_with(|| {
        if inline {
            return Item::Value(Value::InlineTable(InlineTable::new()));
        }
        let mut table = Table::new();
        table.set_implicit(implicit);
        Item::Table(table)
    });
    item.is_table_like().then_some(item)
}

/// Sets a value where it stands, with the comment that stands behind it; a new line gets its reason as a comment.
fn set(table: &mut Item, key: &str, suggestion: &Suggestion) -> Option<()> {
    let has_lines = table.is_table();
    let table = table.as_table_like_mut()?;
    let mut value = suggestion.value.to_toml();
    match table.get(key).and_then(Item::as_value) {
        Some(old) => keep_comment(&mut value, old),
        None if has_lines => value = commented(value, &suggestion.short),
        None => {}
    }
    // In place, so that the key keeps its own spaces and the lines above it.
    match table.get_mut(key) {
        Some(item) => *item = Item::Value(value),
        None => drop(table.insert(key, Item::Value(value))),
    }
    Some(())
}

/// The comment stays in its column.
fn keep_comment(value: &mut Value, old: &Value) {
    let length = |value: &Value| value.clone().decorated("", "").to_string().chars().count();
    let (before, after) = (length(old), length(value));
    *value.decor_mut() = old.decor().clone();
    let Some(suffix) = old.decor().suffix().and_then(|suffix| suffix.as_str()) else {
        return;
    };
    let spaces = suffix.len() - suffix.trim_start_matches(' ').len();
    if spaces > 1 && suffix.trim_start().starts_with('#') {
        let wanted = (spaces + before).saturating_sub(after).max(1);
        let moved = format!("{}{}", " ".repeat(wanted), suffix.trim_start_matches(' '));
        value.decor_mut().set_suffix(moved);
    }
}

fn commented(mut value: Value, why: &str) -> Value {
    value.decor_mut().set_prefix(" ");
    value.decor_mut().set_suffix(format!("  # {why}"));
    value
}
