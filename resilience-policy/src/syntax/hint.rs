//! What a mistake of syntax probably is: other formats' habits, templates not filled in, merges not finished.

use std::ops::Range;

use crate::fault::{Fault, FaultName};
use crate::locate::Text;
use crate::units::{clock_face, propose_duration};

/// A file of another kind, or one with an unfinished merge: one cause, told once and first.
pub(crate) fn foreign(text: &Text<'_>, file: &str) -> Vec<Fault> {
    let syntax = |index: usize, message: &str| {
        Fault::new(FaultName::Syntax, file, "", message).at(text, &text.line_range(index))
    };
    let lines = || (0..text.lines()).map(|index| (index, text.line(index)));
    let is_marker = |line: &str| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>");
    if lines().any(|(_, line)| is_marker(line)) {
        return lines()
            .filter(|(_, line)| is_marker(line) || line.trim_end() == "=======" || line.starts_with("|||||||"))
            .map(|(index, _)| {
                syntax(
                    index,
                    "an unfinished merge; choose one side and delete the marker lines",
                )
            })
            .collect();
    }
    let mut written = lines().filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let Some((first, line)) = written.next() else {
        return Vec::new();
    };
    if line.trim_start().starts_with('{') {
        return vec![syntax(
            first,
            "this looks like JSON; the policy is written in TOML: `[dependency.payrail]`, `timeout = \"3s\"`",
        )];
    }
    let yaml = |line: &str| line.trim() == "---" || yaml_pair(line).is_some() || line.trim_start().starts_with("- ");
    if yaml(line) && written.next().is_some() && lines().all(|(_, line)| !line.contains('=') && !line.starts_with('['))
    {
        return vec![syntax(
            first,
            "this looks like YAML; the policy is written in TOML: `[dependency.payrail]`, `timeout = \"3s\"`",
        )];
    }
    Vec::new()
}

fn yaml_pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let plain = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (plain && (value.is_empty() || value.starts_with(' '))).then(|| (key, value.trim()))
}

/// What the hints look at.
pub(super) struct Hints<'t, 'a> {
    text: &'t Text<'a>,
    file: &'t str,
    /// The lines that are headers.
    headers: Vec<usize>,
}

impl<'t, 'a> Hints<'t, 'a> {
    pub(super) fn new(text: &'t Text<'a>, file: &'t str) -> Self {
        let is_header = |index: &usize| text.line(*index).trim_start().starts_with('[');
        Self {
            text,
            file,
            headers: (0..text.lines()).filter(is_header).collect(),
        }
    }

    /// The fault for one line that the parser could not read.
    pub(super) fn fault(&self, parser_says: &str, span: &Range<usize>) -> Fault {
        let text = self.text;
        let index = text.line_index(span.start.min(text.text.len()));
        let range = text.line_range(index);
        let line = text.line(index);
        let fault = |message: String| self.named(index, message);
        if let Some((written, start)) = self.value_of(index)
            && let Some((message, suggestion)) = value_hint(written)
        {
            let place = start..start + written.len();
            return fault(message).at(text, &place).with_value(written).suggest(suggestion);
        }
        if let Some((message, suggestion)) = line_hint(line) {
            let start = range.start + (line.len() - line.trim_start().len());
            return fault(message).at(text, &(start..range.end)).suggest(suggestion);
        }
        let mut message = plain_words(parser_says);
        if text.text[range.end..].trim().is_empty() && !text.text.ends_with('\n') {
            message.push_str("; the text ends here: the file may still be being written");
        }
        fault(message).at(text, span)
    }

    /// The list that was opened above a line and never closed, with the line on which it begins.
    pub(super) fn open_list(&self, index: usize) -> Option<(Fault, usize)> {
        let opened = (0..index).rev().find(|above| self.path_of_line(*above).is_some())?;
        let (written, start) = self.value_of(opened).filter(|(written, _)| written.starts_with('['))?;
        let message = "the list is not closed with `]`";
        let fault = self
            .named(opened, message.into())
            .at(self.text, &(start..start + written.len()));
        Some((fault.with_value(written), opened))
    }

    fn named(&self, index: usize, message: String) -> Fault {
        Fault::new(
            FaultName::Syntax,
            self.file,
            self.path_of_line(index).unwrap_or_default(),
            message,
        )
    }

    /// What stands behind `key =` on a line, without its comment, and where it begins.
    fn value_of(&self, index: usize) -> Option<(&'a str, usize)> {
        let (key, value) = self.text.line(index).split_once('=')?;
        if key.trim().is_empty() {
            return None;
        }
        let start = self.text.line_range(index).start + key.len() + 1 + (value.len() - value.trim_start().len());
        Some((value.split(" #").next().unwrap_or(value).trim(), start))
    }

    /// The path of the key on a line of the form `key = …`, from the nearest header above it.
    pub(super) fn path_of_line(&self, index: usize) -> Option<String> {
        let (key, _) = self.text.line(index).split_once('=')?;
        let key = key.trim();
        if key.is_empty() || key.contains(['[', ']', '{', '}', '#', ' ']) {
            return None;
        }
        let above = self.headers.partition_point(|header| *header < index);
        let Some(header) = above
            .checked_sub(1)
            .map(|at| self.text.line(self.headers[at]).trim_start())
        else {
            return Some(key.to_owned());
        };
        let inside = header.trim_start_matches('[').split(']').next().unwrap_or_default();
        let parts = inside.split('.').map(|part| part.trim().trim_matches(['"', '\'']));
        Some(parts.chain([key]).collect::<Vec<_>>().join("."))
    }
}

fn plain_words(parser_says: &str) -> String {
    let ours = match parser_says.split(',').next().unwrap_or_default() {
        "invalid basic string" => "the text is not closed with `\"`",
        "invalid literal string" => "the text is not closed with `'`",
        "unclosed table" => "the header is not closed with `]`, or its name holds a blank",
        "unclosed array" => "the list is not closed with `]`",
        "key with no value" => "a key without `=` and a value",
        "unquoted keys cannot be empty" | "missing key" => "a key is missing before `=`",
        _ => "",
    };
    if !ours.is_empty() {
        return ours.into();
    }
    let mut words = parser_says.to_owned();
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    words
}

fn line_hint(line: &str) -> Option<(String, Option<String>)> {
    let line = line.trim();
    if line.starts_with("//") || line.starts_with("/*") || line.starts_with("--") {
        return Some((
            "a comment begins with `#`".into(),
            Some(format!("# {}", line.trim_start_matches(['/', '*', '-', ' ']))),
        ));
    }
    if line.contains("{{") || line.contains("${") || line.contains("<%") {
        return Some((
            "a placeholder was not filled in, and this loader expands none; write the value itself".into(),
            None,
        ));
    }
    if let Some((key, value)) = yaml_pair(line) {
        let value = if value.is_empty() { "…" } else { value };
        return Some((
            "TOML parts a key and its value by `=`, not by `:`".into(),
            Some(format!("{key} = {value}")),
        ));
    }
    if line.starts_with('[')
        && let Some(name) = line.trim_matches(['[', ']']).split('.').find(|part| !part.is_ascii())
    {
        return Some((
            format!("`{name}` needs letters of `a-z`; names are 1 to 64 of `a-z 0-9 _ -`"),
            None,
        ));
    }
    None
}

/// What is wrong with an unquoted value, and how it would be written.
fn value_hint(value: &str) -> Option<(String, Option<String>)> {
    if value.contains("${") || value.contains("{{") || value.contains("<%") {
        return Some((
            "a placeholder was not filled in, and this loader expands none; write the value itself".into(),
            None,
        ));
    }
    if let Some(before) = value.strip_suffix(';') {
        return Some(("a line does not end with `;`".into(), Some(before.trim_end().into())));
    }
    if let Some((before, _)) = value.split_once("//")
        && before.matches('"').count() % 2 == 0
        && before.matches('\'').count() % 2 == 0
    {
        return Some(("a comment begins with `#`".into(), Some(before.trim_end().into())));
    }
    if value.is_empty() {
        return Some(("a value is missing after `=`; write it, or remove the key".into(), None));
    }
    match value.to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "true" => return Some(("a switch is `true` or `false`".into(), Some("true".into()))),
        "no" | "off" | "n" | "false" => return Some(("a switch is `true` or `false`".into(), Some("false".into()))),
        "null" | "nil" | "none" | "~" | "undefined" => {
            return Some((
                format!("TOML has no `{value}`; to leave a value out remove the key"),
                None,
            ));
        }
        "nan" | "-nan" | "+nan" | "infinity" | "-infinity" | "inf" => {
            return Some((
                format!("`{value}` is no number; write a finite one, or remove the key"),
                None,
            ));
        }
        _ => {}
    }
    if let Some(number) = value
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok())
    {
        let share = number / 100.0;
        let message = format!("a rate is a fraction from 0 to 1; for {number} per cent write {share}");
        return Some((message, Some(share.to_string())));
    }
    if let Some((whole, part)) = value.split_once(',')
        && [whole, part]
            .iter()
            .all(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    {
        return Some(("the decimal sign is a point".into(), Some(format!("{whole}.{part}"))));
    }
    if value.starts_with('.') && value.parse::<f64>().is_ok() {
        return Some((
            "a fraction needs a digit before its point".into(),
            Some(format!("0{value}")),
        ));
    }
    if value.len() > 1 && value.starts_with('0') && value.bytes().all(|b| b.is_ascii_digit()) {
        let plain = value.trim_start_matches('0');
        let plain = if plain.is_empty() { "0" } else { plain };
        return Some(("a number does not begin with 0".into(), Some(plain.into())));
    }
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        let ours = clock_face(value).or_else(|| propose_duration(value));
        if let Some(ours) = ours {
            return Some((
                "a duration stands in quotes, with its unit".into(),
                Some(format!("\"{ours}\"")),
            ));
        }
    }
    let bare = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    bare.then(|| ("a text stands in quotes".into(), Some(format!("\"{value}\""))))
}
