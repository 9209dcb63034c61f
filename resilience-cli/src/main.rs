//! `resilience`

use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    ExitCode::from(resilience_cli::run(std::env::args_os(), &mut out, &mut err))
}
