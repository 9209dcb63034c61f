//! `cargo resilience`: cargo passes the word `resilience` as the first argument.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os()
        .enumerate()
        .filter(|(at, word)| *at != 1 || word != "resilience");
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    ExitCode::from(resilience_cli::run(args.map(|(_, word)| word), &mut out, &mut err))
}
