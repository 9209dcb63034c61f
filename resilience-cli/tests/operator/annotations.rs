//! `resilience check --format github`.

use crate::kit::{Desk, run};

#[test]
fn faults_and_warnings_become_annotations_at_their_places() {
    let desk = Desk::new();
    let text = "version = 1\n[dependency.payrail]\nfail = \"open\"\ntimeout = 3\nbreaker.failure_rte = 0.5\n";
    let file = desk.file("resilience.toml", text);
    let (code, out, err) = run(&["check", "@", "--format", "github"], &[&file]);
    assert_eq!((code, err.as_str()), (1, ""));
    let at = file.display();
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with(&format!(
            "::error file={at},line=4,col=11,endColumn=11,title=bad_duration::"
        )),
        "{out}"
    );
    assert!(lines[0].contains("%0Awrite \"3ms\" or \"3s\""), "{out}");
    assert!(
        lines[1].starts_with(&format!(
            "::error file={at},line=5,col=9,endColumn=19,title=unknown_key::"
        )),
        "{out}"
    );
    assert!(lines[1].contains("failure_rate"), "{out}");
    let warnings: Vec<&&str> = lines
        .iter()
        .filter(|line| line.starts_with("::warning file="))
        .collect();
    assert!(warnings.iter().any(|line| line.contains(",title=unsigned::")), "{out}");
    assert!(lines.last().unwrap().contains("2 faults, "), "{out}");
}

#[test]
fn what_would_end_a_command_or_a_property_is_escaped() {
    let desk = Desk::new();
    let folder = desk.path("a,b: 50%");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("resilience.toml");
    std::fs::write(&file, "version = 1\n[dependency.x]\nfail = \"100%\\n::error::\"\n").unwrap();
    let (_, out, _) = run(&["check", "@", "--format", "github"], &[&file]);
    let first = out.lines().next().unwrap();
    assert!(first.contains("a%2Cb%3A 50%25/resilience.toml,line=3,"), "{out}");
    assert_eq!(
        out.lines().filter(|line| line.starts_with("::error")).count(),
        1,
        "{out}"
    );
}

#[test]
fn a_good_file_gives_no_annotation_and_a_missing_one_gives_one() {
    let desk = Desk::new();
    let file = desk.file("resilience.toml", "version = 1\n");
    let (code, out, _) = run(&["check", "@", "--format", "github"], &[&file]);
    assert_eq!((code, out.contains("::")), (0, false), "{out}");
    let (code, out, err) = run(&["check", "@", "--format", "github"], &[&desk.path("none.toml")]);
    assert_eq!((code, err.as_str()), (2, ""));
    assert!(
        out.starts_with("::error file=") && out.contains(",title=unreadable::"),
        "{out}"
    );
}
