//! Bytes to a tree of spanned values: limits first, then the encoding, then the syntax, all its faults at once.

mod hint;
mod repeat;

use std::borrow::Cow;
use std::ops::Range;

use toml::de::{DeTable, Error};
use toml_parser::decoder::Encoding;
use toml_parser::parser::EventReceiver;
use toml_parser::{ErrorSink, Raw, Span};

use crate::fault::{Fault, FaultName};
use crate::locate::Text;
use crate::names::Names;
use crate::walk::MAX_FAULTS;

use hint::Hints;

/// The largest file that is read.
pub(crate) const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The deepest nesting of tables and lists.
const MAX_LEVELS: usize = 16;
/// Above this a text is asked for its mistakes before a tree is made of it.
const LARGE: usize = 1024 * 1024;

/// The text behind the bytes, or the one fault that makes it no text.
pub(crate) fn decode<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, Box<Fault>> {
    if bytes.len() > MAX_BYTES {
        return Err(Box::new(too_large(file)));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        let text = Text::new("");
        let message = "the file is UTF-16; save it as UTF-8";
        return Err(Box::new(
            Fault::new(FaultName::Encoding, file, "", message).at(&text, &(0..0)),
        ));
    }
    let body = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(body).map_err(|error| {
        let good = error.valid_up_to();
        let byte = body[good];
        let text = std::str::from_utf8(&body[..good]).expect("valid up to here, says the error");
        let message = format!("the byte 0x{byte:02X} is not UTF-8; save the file as UTF-8");
        Box::new(Fault::new(FaultName::Encoding, file, "", message).at(&Text::new(text), &(good..good)))
    })
}

pub(crate) fn too_large(file: &str) -> Fault {
    Fault::new(
        FaultName::TooLarge,
        file,
        "",
        "the file is larger than 16 MiB, the most that is read",
    )
}

/// What the syntax gave: the faults, and what is left to walk.
pub(crate) struct Syntax {
    pub(crate) faults: Vec<Fault>,
    /// Faults that were only counted.
    pub(crate) more: usize,
    /// The text with blanks in place of the lines with mistakes, if there are any: it is read a second time, so that
    /// the other faults of the file are found as well.
    pub(crate) mended: Option<String>,
    /// The paths of the keys on those lines: they are written, if not readable, and so are not missing.
    pub(crate) lost: Names<()>,
    /// The tree lacks more than that, so that nothing may be called missing.
    pub(crate) partial: bool,
}

/// Turns the parser's errors into faults.
pub(crate) fn judge(text: &Text<'_>, file: &str, errors: &[Error]) -> Syntax {
    let hints = Hints::new(text, file);
    let (mut faults, mut bad_lines, rest) = open_lists(text, &hints, errors);
    let errors = rest.as_deref().unwrap_or(errors);
    let mut more = 0;
    let (mut partial, mut lost) = (false, Names::default());
    let (mut mended, mut second) = (None::<String>, None::<Vec<Error>>);
    // What is wrong with a value the parser says only where the lines are lines: each reading may find more.
    for _ in 0..READINGS {
        let mut new_lines = Lines::default();
        if mended.is_none() {
            new_lines = std::mem::take(&mut bad_lines);
        }
        for error in second
            .as_deref()
            .unwrap_or(errors)
            .iter()
            .filter(|error| !is_redefinition(error))
        {
            let span = span_of(error, text);
            let line = text.line_index(span.start);
            if bad_lines.has(line) || !new_lines.insert(line) {
                continue;
            }
            if faults.len() < MAX_FAULTS {
                faults.push(hints.fault(error.message(), &span));
            } else {
                more += 1;
            }
        }
        if new_lines.0.is_empty() {
            break;
        }
        let mut bytes = mended.map_or_else(|| text.text.as_bytes().to_vec(), String::into_bytes);
        for index in &new_lines.0 {
            bytes[text.line_range(*index)].fill(b' ');
            if let Some(path) = hints.path_of_line(*index) {
                lost.insert(path, ());
            } else {
                partial = true;
                blank_table(text, *index, &mut bytes);
            }
        }
        for line in new_lines.0 {
            bad_lines.insert(line);
        }
        let whole = String::from_utf8(bytes).expect(WHOLE_LINES);
        second = Some(DeTable::parse_recoverable(&whole).1);
        mended = Some(whole);
    }
    partial |= second
        .as_ref()
        .is_some_and(|errors| errors.iter().any(|error| !is_redefinition(error)));
    let left = second.as_deref().unwrap_or(errors);
    partial |= left.iter().any(|error| error.message().starts_with("cannot extend"));
    let whole = mended.as_deref().map(Text::new);
    faults.extend(redefined(whole.as_ref().unwrap_or(text), file, left));
    Syntax {
        faults,
        more,
        mended,
        lost,
        partial,
    }
}

/// Numbers of lines, in order. Who finds them finds them nearly so, and then another costs a look at the last.
#[derive(Default)]
struct Lines(Vec<usize>);

impl Lines {
    fn has(&self, line: usize) -> bool {
        self.0.binary_search(&line).is_ok()
    }

    /// Whether it was not there before.
    fn insert(&mut self, line: usize) -> bool {
        let place = self.0.binary_search(&line);
        if let Err(at) = place {
            self.0.insert(at, line);
        }
        place.is_err()
    }
}

/// How often a text with mistakes is read at most.
const READINGS: usize = 4;
const WHOLE_LINES: &str = "whole lines are whole characters, and blanks are ASCII";

/// A list that is never closed swallows the lines below it, and the parser complains of each: it is told once, blanked
/// with its lines, and the text read again.
fn open_lists(text: &Text<'_>, hints: &Hints<'_, '_>, errors: &[Error]) -> (Vec<Fault>, Lines, Option<Vec<Error>>) {
    /// Each costs another reading.
    const MOST: usize = 8;
    let (mut faults, mut bad_lines, mut rest) = (Vec::new(), Lines::default(), None::<Vec<Error>>);
    while faults.len() < MOST {
        let errors = rest.as_deref().unwrap_or(errors);
        let about_lists = errors.iter().filter(|error| error.message().contains("array"));
        let Some(first) = about_lists
            .map(|error| text.line_index(span_of(error, text).start))
            .min()
        else {
            break;
        };
        let below = hints.path_of_line(first).is_some() || text.line(first).trim_start().starts_with('[');
        let Some((fault, opened)) = hints
            .open_list(first)
            .filter(|(_, opened)| below && !bad_lines.has(*opened))
        else {
            break;
        };
        faults.push(fault);
        for line in opened..first {
            bad_lines.insert(line);
        }
        rest = Some(DeTable::parse_recoverable(&blanked(text, &bad_lines)).1);
    }
    (faults, bad_lines, rest)
}

/// Where an error lies; the end of the text where it does not say.
fn span_of(error: &Error, text: &Text<'_>) -> Range<usize> {
    let end = text.text.len();
    error
        .span()
        .map_or(end..end, |span| span.start.min(end)..span.end.min(end))
}

/// The text with blanks in place of some lines, every other byte where it was.
fn blanked(text: &Text<'_>, lines: &Lines) -> String {
    let mut bytes = text.text.as_bytes().to_vec();
    for index in &lines.0 {
        bytes[text.line_range(*index)].fill(b' ');
    }
    String::from_utf8(bytes).expect(WHOLE_LINES)
}

/// What is defined twice, where the parser says that something is.
fn redefined(text: &Text<'_>, file: &str, errors: &[Error]) -> Vec<Fault> {
    let redefinitions: Vec<_> = errors.iter().filter(|error| is_redefinition(error)).collect();
    if redefinitions.is_empty() {
        return Vec::new();
    }
    let found = repeat::repeats(text, file);
    if !found.is_empty() {
        return found;
    }
    // Inside a list, where keys have no path: there the parser's own place is all there is.
    let fault = |error: &&Error| {
        let span = error.span().unwrap_or(0..0);
        let written = &text.text[span.clone()];
        let message = format!("`{}` is defined twice; delete one", crate::name::shown(written));
        Fault::new(FaultName::Duplicate, file, written, message).at(text, &span)
    };
    redefinitions.iter().map(fault).collect()
}

/// What stands below a header that cannot be read belongs to no table; it would land in the one above.
fn blank_table(text: &Text<'_>, header: usize, bytes: &mut [u8]) {
    if !text.line(header).trim_start().starts_with('[') {
        return;
    }
    let below = (header + 1..text.lines()).take_while(|index| !text.line(*index).trim_start().starts_with('['));
    for index in below {
        bytes[text.line_range(index)].fill(b' ');
    }
}

fn is_redefinition(error: &Error) -> bool {
    error.message().starts_with("duplicate key") || error.message().starts_with("cannot extend value")
}

/// Counts mistakes, one a line, and keeps the first: a tree of a large file with millions of them would cost seconds and
/// gigabytes.
struct Mistakes<'t, 'a> {
    text: &'t Text<'a>,
    /// That of the last one.
    line: Option<usize>,
    kept: Vec<toml_parser::ParseError>,
    more: usize,
}

impl ErrorSink for Mistakes<'_, '_> {
    fn report_error(&mut self, error: toml_parser::ParseError) {
        let line = error.unexpected().map(|span| self.text.line_index(span.start()));
        if line.is_some() && line == self.line {
            return;
        }
        self.line = line;
        if self.kept.len() < MAX_FAULTS {
            self.kept.push(error);
        } else {
            self.more += 1;
        }
    }
}

/// Reads keys and values too, of whose mistakes the parser alone knows nothing: `= 1`, `a =`, `a = b`.
struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    fn raw(&self, span: Span, encoding: Option<Encoding>) -> Raw<'a> {
        Raw::new_unchecked(self.0.get(span.start()..span.end()).unwrap_or_default(), encoding, span)
    }
}

impl EventReceiver for Reader<'_> {
    fn simple_key(&mut self, span: Span, encoding: Option<Encoding>, mistakes: &mut dyn ErrorSink) {
        self.raw(span, encoding).decode_key(&mut Cow::Borrowed(""), mistakes);
    }

    fn scalar(&mut self, span: Span, encoding: Option<Encoding>, mistakes: &mut dyn ErrorSink) {
        let _ = self.raw(span, encoding).decode_scalar(&mut Cow::Borrowed(""), mistakes);
    }
}

/// The mistakes of a large text, where it is little else.
pub(crate) fn flood(text: &Text<'_>, file: &str) -> Option<(Vec<Fault>, usize)> {
    if text.text.len() < LARGE {
        return None;
    }
    let tokens = toml_parser::Source::new(text.text).lex().into_vec();
    let mut mistakes = Mistakes {
        text,
        line: None,
        kept: Vec::new(),
        more: 0,
    };
    toml_parser::parser::parse_document(&tokens, &mut Reader(text.text), &mut mistakes);
    if mistakes.more == 0 {
        return None;
    }
    let hints = Hints::new(text, file);
    let faults = mistakes.kept.iter().map(|error| {
        let span = error.unexpected().map_or(0..0, |span| span.start()..span.end());
        hints.fault(error.description(), &span)
    });
    Some((faults.collect(), mistakes.more))
}

/// What must be known before the parser may see the text: characters that end lines in secret, merges, depth.
pub(crate) fn precheck(text: &Text<'_>, file: &str) -> Vec<Fault> {
    let mut faults = strange_characters(text, file);
    if faults.is_empty() {
        faults = hint::foreign(text, file);
    }
    if faults.is_empty() {
        faults.extend(too_deep(text, file));
    }
    faults
}

fn strange_characters(text: &Text<'_>, file: &str) -> Vec<Fault> {
    let bytes = text.text.as_bytes();
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    for (at, byte) in bytes.iter().copied().enumerate() {
        let why = match byte {
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => {
                "a carriage return (U+000D) without a line feed; the file was probably saved with line ends of an old \
                 Mac: save it with LF or CRLF"
            }
            0x1A => "a Ctrl-Z (U+001A), an end-of-file mark of old DOS programs; delete it",
            0 => "a NUL byte (U+0000); the file was probably cut or is no text",
            0xEF if bytes[at..].starts_with(b"\xEF\xBB\xBF") && (at == 0 || bytes[at - 1] == b'\n') => {
                "a byte-order mark (U+FEFF) inside the file; two files were probably joined: delete it"
            }
            0x01..=0x08 | 0x0B | 0x0C | 0x0E..=0x1F | 0x7F => {
                "a control character, which TOML does not allow; delete it"
            }
            _ => continue,
        };
        // One kind is one cause: a thousand of them need one message.
        if !seen.contains(&byte) {
            seen.push(byte);
            let width = if byte == 0xEF { 3 } else { 1 };
            let message = if why.starts_with("a control") {
                format!("U+{byte:04X} is {why}")
            } else {
                why.to_owned()
            };
            faults.push(Fault::new(FaultName::Encoding, file, "", message).at(text, &(at..at + width)));
        }
    }
    faults
}

/// Deep nesting costs the parser its stack, so it is counted on the tokens, which cannot recurse.
fn too_deep(text: &Text<'_>, file: &str) -> Option<Fault> {
    use toml_parser::lexer::TokenKind;
    let (mut header, mut dots, mut open) = (0, 0, 0_usize);
    let (mut in_header, mut line_start) = (false, true);
    for token in toml_parser::Source::new(text.text).lex() {
        match token.kind() {
            TokenKind::Newline => {
                if in_header {
                    header = dots;
                    in_header = false;
                }
                if open == 0 {
                    dots = 0;
                    line_start = true;
                } else {
                    // A list that is never closed must not gather the points of every number below it.
                    dots = dots.min(1);
                }
                continue;
            }
            TokenKind::Whitespace => continue,
            TokenKind::LeftSquareBracket if line_start => {
                in_header = true;
                header = 0;
            }
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket if !in_header => open += 1,
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket if !in_header => open = open.saturating_sub(1),
            TokenKind::Dot => dots += 1,
            TokenKind::Equals if open == 0 => dots = dots.min(MAX_LEVELS + 1),
            TokenKind::Comma => dots = dots.min(1),
            _ => {}
        }
        line_start = false;
        let levels = header + dots + open + 1;
        if levels > MAX_LEVELS {
            let span: Range<usize> = token.span().start()..token.span().end();
            let message = "nested deeper than 16 levels, the most that is read";
            return Some(
                Fault::new(FaultName::TooDeep, file, "", message)
                    .at(text, &span)
                    .allowed_here("16 levels"),
            );
        }
    }
    None
}

#[cfg(test)]
mod tests;
