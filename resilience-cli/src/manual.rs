//! Completions and the manual page, both from the words of the command line.

use std::io::{self, Write};

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Args;

/// What the exit codes mean, as the manual has it; a test holds the commands to it.
const EXIT: &str = "\
.SH \"EXIT STATUS\"
.TP
.B 0
All is well; for \\fBdiff\\fR: no effective value changes.
.TP
.B 1
Faults or denied warnings (\\fBcheck\\fR, \\fBexplain\\fR, \\fBsimulate\\fR), gaps (\\fBaudit\\fR), changes (\\fBdiff\\fR), something that is
refused (\\fBstatus\\fR), a recording that is not whole (\\fBrecord\\fR), an override that was not written (\\fBoverride\\fR).
.TP
.B 2
Something cannot be read or written, or the words are no command.
";

pub(crate) fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "resilience", &mut text);
    out.write_all(&text)?;
    Ok(0)
}

/// One page for all: the command, then each of its own with its options.
pub(crate) fn page(out: &mut dyn Write) -> io::Result<u8> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let mut text = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        section(sub, &mut text)?;
    }
    text.write_all(EXIT.as_bytes())?;
    out.write_all(&text)?;
    Ok(0)
}

/// A command of the command: its own parts, one level down.
fn section(command: &Command, text: &mut Vec<u8>) -> io::Result<()> {
    let mut part = Vec::new();
    let man = Man::new(command.clone());
    man.render_synopsis_section(&mut part)?;
    man.render_description_section(&mut part)?;
    man.render_options_section(&mut part)?;
    writeln!(text, ".SH \"{}\"", command.get_name().to_uppercase())?;
    let part = String::from_utf8_lossy(&part);
    // Each part begins with the same two lines about apostrophes, which the title has said for all.
    for line in part
        .lines()
        .filter(|line| !line.starts_with(".ie ") && !line.starts_with(".el "))
    {
        match line.strip_prefix(".SH ") {
            Some("SYNOPSIS" | "DESCRIPTION") => writeln!(text, ".PP")?,
            Some(heading) => writeln!(text, ".SS {heading}")?,
            None => writeln!(text, "{line}")?,
        }
    }
    Ok(())
}
