//! Findings as GitHub Actions shows them beside the lines of a change.

use std::io::{self, Write};

use resilience_policy::Fault;

/// One workflow command: `error` or `warning`.
pub(crate) fn annotate(level: &str, fault: &Fault, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "::{level} file={}", property(fault.file()))?;
    // Theirs is the last character, ours the one behind it.
    let last = fault.end_column().map(|behind| behind.saturating_sub(1).max(1));
    let numbers = [("line", fault.line()), ("col", fault.column()), ("endColumn", last)];
    for (name, number) in numbers {
        if let Some(number) = number {
            write!(out, ",{name}={number}")?;
        }
    }
    writeln!(out, ",title={}::{}", property(fault.name()), data(&message(fault)))
}

fn message(fault: &Fault) -> String {
    let mut text = if fault.key().is_empty() || fault.message().contains(fault.key()) {
        fault.message().to_owned()
    } else {
        format!("{}: {}", fault.key(), fault.message())
    };
    let suggestion = fault.suggestion().map(|suggestion| format!("write {suggestion}"));
    let allowed = fault.allowed().filter(|allowed| !fault.message().contains(allowed));
    let related = fault
        .related()
        .iter()
        .map(|other| format!("{}:{}:{}: {}", other.file, other.line, other.column, other.message));
    let more = suggestion
        .into_iter()
        .chain(allowed.map(|allowed| format!("allowed here: {allowed}")))
        .chain(related);
    for line in more {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// A message: what ends a line or begins an escape is escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property: what ends one is escaped, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
