//! What is defined twice, with both places. The parser's own words name only the second.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, parse_document};

use crate::fault::{Fault, FaultName};
use crate::locate::Text;
use crate::name::shown;
use crate::walk::MAX_FAULTS;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Header,
    /// A table that a longer header or a dotted key implies.
    Implied,
    Dotted,
    Value,
}

struct First {
    made: Made,
    span: Range<usize>,
    value: Option<Range<usize>>,
}

/// Every key and table that is defined a second time.
pub(crate) fn repeats(text: &Text<'_>, file: &str) -> Vec<Fault> {
    let source = Source::new(text.text);
    let tokens = source.lex().into_vec();
    let mut events: Vec<Event> = Vec::with_capacity(tokens.len());
    parse_document(&tokens, &mut events, &mut ());
    let mut finder = Finder {
        text,
        file,
        source,
        seen: HashMap::new(),
        faults: Vec::new(),
    };
    finder.read(&events);
    finder.faults
}

struct Finder<'t, 'a> {
    text: &'t Text<'a>,
    file: &'t str,
    source: Source<'a>,
    seen: HashMap<Vec<Cow<'a, str>>, First>,
    faults: Vec<Fault>,
}

impl<'a> Finder<'_, 'a> {
    fn read(&mut self, events: &[Event]) {
        let mut header: Vec<Cow<'a, str>> = Vec::new();
        let mut path: Vec<(Cow<'a, str>, Range<usize>)> = Vec::new();
        // The inline tables and lists around, and below which path their keys are: none in a list, nor in what is itself
        // there a second time.
        let mut inside: Vec<Option<Vec<Cow<'a, str>>>> = Vec::new();
        let mut array = false;
        let mut header_start = 0;
        let mut after_key = false;
        for event in events {
            let span = event.span().start()..event.span().end();
            let table = inside.last().map_or(Some(&header), Option::as_ref);
            match (event.kind(), table) {
                (EventKind::StdTableOpen | EventKind::ArrayTableOpen, _) => {
                    array = event.kind() == EventKind::ArrayTableOpen;
                    header_start = span.start;
                    path.clear();
                }
                (EventKind::StdTableClose | EventKind::ArrayTableClose, _) => {
                    header = path.drain(..).map(|(name, _)| name).collect();
                    if !array {
                        self.header(&header, header_start..span.end);
                    }
                }
                (EventKind::InlineTableOpen | EventKind::ArrayOpen, table) => {
                    let own = table
                        .filter(|_| after_key)
                        .map(|table| self.key(table, &mut path, None));
                    inside.push(own.flatten().filter(|_| event.kind() == EventKind::InlineTableOpen));
                    after_key = false;
                }
                (EventKind::InlineTableClose | EventKind::ArrayClose, _) => {
                    inside.pop();
                    path.clear();
                }
                (EventKind::SimpleKey, Some(_)) => {
                    if let Some(raw) = self.source.get(event) {
                        let mut name = Cow::Borrowed("");
                        raw.decode_key(&mut name, &mut ());
                        path.push((name, span));
                    }
                }
                (EventKind::KeyValSep, Some(_)) => after_key = true,
                (EventKind::Scalar, Some(table)) if after_key => {
                    self.key(table, &mut path, Some(span));
                    after_key = false;
                }
                (EventKind::Newline, _) if inside.is_empty() => {
                    path.clear();
                    after_key = false;
                }
                _ => {}
            }
        }
    }

    fn header(&mut self, header: &[Cow<'a, str>], span: Range<usize>) {
        for depth in 1..header.len() {
            if let Some(first) = self
                .seen
                .get(&header[..depth])
                .filter(|first| first.made == Made::Value)
            {
                let at = first.span.clone();
                let name = dotted(&header[..depth]);
                let message =
                    format!("`{name}` already has a value, which a header cannot extend; write it in one way");
                self.fault(&header[..depth], &span, &at, message, None);
                return;
            }
            self.seen.entry(header[..depth].to_vec()).or_insert_with(|| First {
                made: Made::Implied,
                span: span.clone(),
                value: None,
            });
        }
        match self.seen.get_mut(header) {
            Some(first) if first.made == Made::Implied => first.made = Made::Header,
            Some(first) => {
                let (made, at) = (first.made, first.span.clone());
                let what = if made == Made::Header {
                    "merge the two"
                } else {
                    "write it in one way"
                };
                let message = format!("table `{}` is defined twice; {what}", dotted(header));
                self.fault(header, &span, &at, message, None);
            }
            None => {
                self.seen.insert(
                    header.to_vec(),
                    First {
                        made: Made::Header,
                        span,
                        value: None,
                    },
                );
            }
        }
    }

    /// Takes a key of `table`, and gives its whole path if it is there for the first time.
    fn key(
        &mut self,
        table: &[Cow<'a, str>],
        path: &mut Vec<(Cow<'a, str>, Range<usize>)>,
        value: Option<Range<usize>>,
    ) -> Option<Vec<Cow<'a, str>>> {
        let mut full = table.to_vec();
        let count = path.len();
        let start = path.first()?.1.start;
        for (at, (name, span)) in path.drain(..).enumerate() {
            full.push(name);
            let span = start..span.end;
            let last = at + 1 == count;
            match self.seen.get(&full) {
                Some(first) if last || first.made == Made::Value || first.made == Made::Header => {
                    let same = match (&first.value, &value) {
                        (Some(old), Some(new)) if last => self.text.text[old.clone()] == self.text.text[new.clone()],
                        _ => false,
                    };
                    let note = if same {
                        "; both say the same: delete one"
                    } else {
                        "; delete one"
                    };
                    let message = format!("`{}` is defined twice{note}", dotted(&full));
                    let old = first.span.clone();
                    self.fault(&full, &span, &old, message, value);
                    return None;
                }
                Some(_) => {}
                None => {
                    let (made, value) = if last {
                        (Made::Value, value.clone())
                    } else {
                        (Made::Dotted, None)
                    };
                    self.seen.insert(full.clone(), First { made, span, value });
                }
            }
        }
        Some(full)
    }

    fn fault(
        &mut self,
        path: &[Cow<'a, str>],
        span: &Range<usize>,
        first: &Range<usize>,
        message: String,
        value: Option<Range<usize>>,
    ) {
        if self.faults.len() >= MAX_FAULTS {
            return;
        }
        let place = self.text.place(first);
        let related = format!("first defined at {}:{}", place.line, place.column);
        let mut fault = Fault::new(FaultName::Duplicate, self.file, dotted(path), message)
            .at(self.text, span)
            .relate(self.text, first, related);
        if let Some(value) = value {
            fault = fault.with_value(&self.text.text[value]);
        }
        self.faults.push(fault);
    }
}

fn dotted(path: &[Cow<'_, str>]) -> String {
    path.iter().map(|part| shown(part)).collect::<Vec<_>>().join(".")
}
