//! Completions and the manual page know every command.

use crate::kit::run;

const COMMANDS: [&str; 10] = [
    "check",
    "explain",
    "schema",
    "diff",
    "record",
    "override",
    "audit",
    "status",
    "completions",
    "man",
];

#[test]
fn completions_know_every_command_in_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, err) = run(&["completions", shell], &[]);
        assert_eq!((code, err.as_str()), (0, ""), "{shell}");
        for word in COMMANDS.iter().chain(&["deny-warnings"]) {
            assert!(out.contains(word), "{shell} does not know {word}");
        }
    }
    assert_eq!(run(&["completions", "cmd"], &[]).0, 2);
}

#[test]
fn the_manual_has_a_section_for_every_command_and_the_exit_codes() {
    let (code, out, err) = run(&["man"], &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains(".TH resilience 1"), "{out}");
    for command in COMMANDS {
        assert!(
            out.contains(&format!(".SH \"{}\"\n", command.to_uppercase())),
            "no section {command}"
        );
    }
    for words in ["\\-\\-deny\\-warnings", ".SH \"EXIT STATUS\"", "\\-\\-source"] {
        assert!(out.contains(words), "no {words}");
    }
}
