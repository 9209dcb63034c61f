//! The formats, and how one is told from its first record.

use std::fmt;

use clap::ValueEnum;

/// How a trace is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// `time,latency,outcome[,key]`, with or without a header.
    Csv,
    /// One JSON object a line, with the same names.
    Jsonl,
    /// Access logs of nginx or Apache with a duration at the end.
    Access,
    /// OpenTelemetry spans: OTLP as JSON, one export a line or one document.
    Otlp,
}

impl TraceFormat {
    /// Told from the first line that says something.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let first = super::lines(bytes).find_map(|(_, line)| line.ok()).unwrap_or_default();
        let start = first.trim_start();
        if start.starts_with(['{', '[']) && !super::access::is_line(first) {
            // A document over several lines says so only further down.
            let head = &bytes[..bytes.len().min(4096)];
            let names_spans = |word: &[u8]| head.windows(word.len()).any(|piece| piece == word);
            return if names_spans(b"\"resourceSpans\"") || names_spans(b"\"scopeSpans\"") {
                Self::Otlp
            } else {
                Self::Jsonl
            };
        }
        if super::access::is_line(first) {
            Self::Access
        } else {
            Self::Csv
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Access => "access",
            Self::Otlp => "otlp",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Jsonl => "JSON lines",
            Self::Access => "an access log",
            Self::Otlp => "OTLP spans",
        })
    }
}
