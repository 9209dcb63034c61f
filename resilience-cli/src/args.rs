//! The words of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::trace::TraceFormat;

/// Checks and explains `resilience.toml`, the file that holds every number of the guards.
#[derive(Debug, Parser)]
#[command(name = "resilience", bin_name = "resilience", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The loader's own verdict, then the lints.
    Check(Check),
    /// Every effective number with its place and origin; without a dependency the table for sign-off.
    Explain(Explain),
    /// The JSON Schema of the file, for editors.
    Schema,
    /// Effective values that changed, and what each does to running state.
    Diff(Diff),
    /// Numbers from recorded calls, as a TOML diff with reasons.
    Suggest(Suggest),
    /// Writes a trace of the calls that a running service makes, for `suggest` and `simulate`.
    Record(Record),
    /// Writes the overrides file: the operator's hand over a dependency's mode.
    Override(Override),
    /// What the source guards and with which fallbacks, and what it does not guard.
    Audit(Audit),
    /// What a running service says of itself, worst first, and what there is to do.
    Status(Status),
    /// Runs the real layers on a virtual clock against described traffic, second by second.
    Simulate(Simulate),
    /// Completions for a shell, on standard output.
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// The manual page, on standard output: `resilience man | man -l -`.
    Man,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    Text,
    Json,
    /// Annotations of GitHub Actions.
    Github,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The policy file; else what `RESILIENCE_POLICY` says, else `resilience.toml`.
    pub(crate) file: Option<PathBuf>,
    /// Exit with 1 on warnings, too.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Apply the `RESILIENCE__…` variables of the environment, as a running service does.
    #[arg(long)]
    pub(crate) env: bool,
    /// How to print it.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: CheckFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The policy file; else what `RESILIENCE_POLICY` says, else `resilience.toml`.
    pub(crate) file: Option<PathBuf>,
    /// A dependency, or an operation as `payrail.refund`. May stand alone.
    pub(crate) dependency: Option<String>,
    /// Apply the `RESILIENCE__…` variables of the environment, as a running service does.
    #[arg(long)]
    pub(crate) env: bool,
    /// How to print it.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Draw the worst case, moment by moment, into this file as well.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Name the fallbacks that this source tree has, in the table for sign-off.
    #[arg(long, value_name = "PATH")]
    pub(crate) source: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    #[value(alias = "text")]
    Table,
    Json,
    /// A graph for Markdown.
    Mermaid,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Audit {
    /// The source tree; else the working directory.
    pub(crate) path: Option<PathBuf>,
    /// The policy file; else what each package's attributes read.
    #[arg(long)]
    pub(crate) policy: Option<PathBuf>,
    /// The snapshot of a running service, a file or `http://…`: names the fallbacks that never ran.
    #[arg(long, value_name = "FILE|URL|-")]
    pub(crate) snapshot: Option<String>,
    /// Look at tests and benches, too.
    #[arg(long)]
    pub(crate) tests: bool,
    /// How to print it.
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: AuditFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// The policy in force.
    pub(crate) old: PathBuf,
    /// The policy to come.
    pub(crate) new: PathBuf,
    /// How to print it.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Override {
    /// A dependency, or an operation as `payrail.refund`.
    pub(crate) dependency: String,
    /// enforce, observe, isolate or off.
    #[arg(required_unless_present = "clear")]
    pub(crate) mode: Option<String>,
    /// Who sets it.
    #[arg(long, required_unless_present = "clear")]
    pub(crate) by: Option<String>,
    /// Why.
    #[arg(long, required_unless_present = "clear")]
    pub(crate) reason: Option<String>,
    /// For how long, at most 7 days: `1h`, `30m`.
    #[arg(long = "for", required_unless_present = "clear")]
    pub(crate) lasting: Option<String>,
    /// A word for the fallback, to choose between prepared ways of degrading.
    #[arg(long)]
    pub(crate) answer: Option<String>,
    /// Take the override of this dependency back.
    #[arg(long, conflicts_with_all = ["mode", "by", "reason", "lasting", "answer"])]
    pub(crate) clear: bool,
    /// The policy file; its `runtime.overrides` names the file that is written.
    #[arg(long)]
    pub(crate) policy: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// A snapshot in a file, `-` for standard input, or the `http://` address of one or of the admin page.
    pub(crate) from: String,
    /// How to print it.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormat {
    Csv,
    /// One object a line.
    #[value(alias = "jsonl")]
    Json,
}

impl RecordFormat {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Record {
    /// The `http://` address of the admin page of a service that lets itself be recorded; or what was read from one, in a
    /// file or, as `-`, from standard input. A token is taken from `RESILIENCE_ADMIN_TOKEN`.
    pub(crate) from: String,
    /// The file to write, which may not be there yet; else standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Add to the file if it is there.
    #[arg(long, requires = "out")]
    pub(crate) append: bool,
    /// Only this dependency, with its operations; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) dependency: Vec<String>,
    /// For how long: `60s`, `5m`; else until Ctrl-C.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasting: Option<String>,
    /// How to write it; else as the file's name ends, and CSV where that says nothing.
    #[arg(long, value_enum)]
    pub(crate) format: Option<RecordFormat>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Suggest {
    /// Recorded calls: CSV or JSON lines of `time, latency, outcome[, key]`, an access log with a duration, or spans of
    /// OpenTelemetry; `-` for standard input.
    pub(crate) trace: PathBuf,
    /// The policy that the numbers are to go into; else what `RESILIENCE_POLICY` says, else `resilience.toml`.
    #[arg(long)]
    pub(crate) policy: Option<PathBuf>,
    /// The dependency, or an operation as `payrail.refund`, that the calls are of.
    #[arg(long)]
    pub(crate) dependency: Option<String>,
    /// How many instances of the service made these calls; else as the trace names them, else as the policy says.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) instances: Option<u32>,
    /// How the trace is written; else told from its first line.
    #[arg(long, value_enum)]
    pub(crate) trace_format: Option<TraceFormat>,
    /// How to print it.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Simulate {
    /// The scenario file, or recorded traffic to replay: what is no `.toml` is a trace, as for `suggest`.
    pub(crate) scenario: PathBuf,
    /// A policy file; several stand side by side. Else what `RESILIENCE_POLICY` says, else `resilience.toml`.
    #[arg(long)]
    pub(crate) policy: Vec<PathBuf>,
    /// Draw what happened into this file, as SVG.
    #[arg(long)]
    pub(crate) svg: Option<PathBuf>,
    /// Run the same without guards beside it.
    #[arg(long)]
    pub(crate) without: bool,
    /// Of recorded traffic: the dependency that the calls are of, or the only one to replay.
    #[arg(long)]
    pub(crate) dependency: Option<String>,
    /// Of recorded traffic: how many instances the calls are dealt over; else one.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) instances: Option<u32>,
    /// How the recorded traffic is written; else told from its first line.
    #[arg(long, value_enum)]
    pub(crate) trace_format: Option<TraceFormat>,
    /// How to print it.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Table,
    /// Print every row of time in the text, too.
    #[arg(long)]
    pub(crate) seconds: bool,
}

/// The formats of what has rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    Text,
    Json,
    Csv,
}
