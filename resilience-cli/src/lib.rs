//! The `resilience` command. Everything it does is [`run`], so that tests need no process.

mod args;
mod audit;
mod check;
mod diff;
mod explain;
mod fetch;
mod github;
mod json;
mod manual;
mod overriding;
mod record;
mod schema;
mod simulate;
mod source;
mod status;
mod suggest;
mod trace;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use args::{Args, Command};

/// The exit code where the file could not be read, and for words that are no command.
const UNREADABLE: u8 = 2;

/// Runs one command. The first argument is the program's name. Gives the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(asked) => {
            if !asked.use_stderr() {
                // `--help` and `--version`.
                let _ = write!(out, "{asked}");
                return 0;
            }
            let _ = write!(err, "{asked}");
            return UNREADABLE;
        }
    };
    let done = match args.command {
        Command::Check(options) => check::run(&options, out, err),
        Command::Explain(options) => explain::run(&options, out, err),
        Command::Schema => schema::run(out),
        Command::Diff(options) => diff::run(&options, out, err),
        Command::Suggest(options) => suggest::run(&options, out, err),
        Command::Record(options) => record::run(&options, out, err),
        Command::Override(options) => overriding::run(&options, out, err),
        Command::Audit(options) => audit::run(&options, out, err),
        Command::Status(options) => status::run(&options, out, err),
        Command::Simulate(options) => simulate::run(&options, out, err),
        Command::Completions { shell } => manual::completions(shell, out),
        Command::Man => manual::page(out),
    };
    // A pipe that nobody reads any more, as in `resilience explain | head`, is no failure worth a word.
    done.unwrap_or(UNREADABLE)
}
