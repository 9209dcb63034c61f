//! From a byte of the text to its line and column.

use std::ops::Range;

/// A place in a file: 1-based, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) end_column: u32,
}

/// A text with the starts of its lines. A byte-order mark is no part of it.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at + 1),
        );
        Self { text, starts }
    }

    /// The number of the line that holds this byte, from 0.
    pub(crate) fn line_index(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }

    pub(crate) fn line_number(&self, at: usize) -> u32 {
        number(self.line_index(at) + 1)
    }

    /// The bytes of a line, without its end.
    pub(crate) fn line_range(&self, index: usize) -> Range<usize> {
        let start = self.starts[index];
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        let line = &self.text[start..end];
        start..start + line.strip_suffix('\r').unwrap_or(line).len()
    }

    pub(crate) fn line(&self, index: usize) -> &'a str {
        &self.text[self.line_range(index)]
    }

    pub(crate) fn lines(&self) -> usize {
        self.starts.len()
    }

    /// Where a span begins, and where it ends on the line on which it begins.
    pub(crate) fn place(&self, span: &Range<usize>) -> Place {
        let start = self.boundary(span.start.min(self.text.len()));
        let index = self.line_index(start);
        let line = self.line_range(index);
        let end = self.boundary(span.end.clamp(start, line.end.max(start)));
        let column = self.text[line.start..start].chars().count();
        let width = self.text[start..end].chars().count().max(1);
        Place {
            line: number(index + 1),
            column: number(column + 1),
            end_column: number(column + 1 + width),
        }
    }

    fn boundary(&self, mut at: usize) -> usize {
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// A file of at most 16 MiB has no more lines or columns than this holds.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_under_either_line_end() {
        for text in ["a = 1\nä = \"ü\" x\n", "a = 1\r\nä = \"ü\" x\r\n"] {
            let at = text.find('x').expect("it is there");
            let place = Text::new(text).place(&(at..at + 1));
            assert_eq!((place.line, place.column, place.end_column), (2, 9, 10));
        }
    }

    #[test]
    fn the_end_of_the_text_has_a_place() {
        let text = Text::new("a = 1\n");
        assert_eq!(
            text.place(&(6..6)),
            Place {
                line: 2,
                column: 1,
                end_column: 2
            }
        );
        assert_eq!(
            Text::new("").place(&(0..0)),
            Place {
                line: 1,
                column: 1,
                end_column: 2
            }
        );
    }
}
