//! Colour, where the output is a terminal and nobody said `NO_COLOR`.

use std::env;
use std::io::{self, IsTerminal};

use crate::story::Claim;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    colour: bool,
}

impl Paint {
    pub(crate) fn of_stdout() -> Self {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            colour: io::stdout().is_terminal() && !unwanted,
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.dress("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.dress("2", text)
    }

    /// Padded before it is dressed: the escapes have no width.
    pub(crate) fn state(self, state: &str, width: usize) -> String {
        let code = match state {
            "closed" => "32",
            state if state.starts_with("open") => "31",
            _ => "33",
        };
        self.dress(code, &format!("{state:<width$}"))
    }

    pub(crate) fn errors(self, errors: u64, width: usize) -> String {
        let text = format!("{errors:>width$}");
        if errors == 0 { text } else { self.dress("31", &text) }
    }

    pub(crate) fn verdict(self, claim: &Claim) -> String {
        if claim.held {
            self.dress("32", "held    ")
        } else if claim.broken() {
            self.dress("31", "BROKEN  ")
        } else {
            self.dress("33", "unjudged")
        }
    }

    fn dress(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
