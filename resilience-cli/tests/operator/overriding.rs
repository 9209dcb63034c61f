//! `resilience override`: what becomes of the file that others write, too.

use std::path::Path;

use crate::kit::{Desk, run};

const POLICY: &str = "version = 1
[dependency.payrail]
fail = \"closed\"
[dependency.redis]
fail = \"open\"
[dependency.redis.operation.scan]
timeout = \"1s\"
";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("resilience.toml", POLICY);
    desk
}

fn set(desk: &Desk, name: &str, mode: &str) -> (u8, String, String) {
    let words = [
        "override", name, mode, "--by", "ann", "--reason", "drill", "--for", "1h", "--policy", "@",
    ];
    run(&words, &[&desk.path("resilience.toml")])
}

fn clear(desk: &Desk, name: &str) -> (u8, String, String) {
    run(
        &["override", name, "--clear", "--policy", "@"],
        &[&desk.path("resilience.toml")],
    )
}

fn text(desk: &Desk) -> String {
    std::fs::read_to_string(desk.path("resilience.overrides.toml")).unwrap()
}

#[test]
fn what_others_wrote_stays_as_they_wrote_it() {
    let desk = desk();
    let theirs = "# Ask bob before you touch these.\n\n# Redis: ticket 17\n[redis] # by hand\nmode='observe'\nby = 'bob' # on call\nreason = \"slow\"\nuntil = 2999-01-01T00:00:00Z\n";
    let theirs = theirs.replace("2999-01-01T00:00:00Z", &soon());
    desk.file("resilience.overrides.toml", &theirs);
    assert_eq!(set(&desk, "payrail", "isolate").0, 0);
    let both = text(&desk);
    assert!(
        both.starts_with(&theirs) && both.contains("\n[\"payrail\"]\nmode = \"isolate\"\n"),
        "{both}"
    );
    // Again: one entry, the new one.
    assert_eq!(set(&desk, "payrail", "off").0, 0);
    assert_eq!(
        (text(&desk).matches("payrail").count(), text(&desk).contains("isolate")),
        (1, false)
    );
    assert_eq!(clear(&desk, "payrail").0, 0);
    assert_eq!(text(&desk).trim_end(), theirs.trim_end());
    // Theirs goes with the comment that belongs to it, and the head stays.
    assert_eq!(clear(&desk, "redis").0, 0);
    assert_eq!(text(&desk).trim_end(), "# Ask bob before you touch these.");
}

#[test]
fn a_file_that_cannot_be_taken_apart_is_written_anew_and_says_the_same() {
    let desk = desk();
    let inline = format!(
        "redis = {{ mode = \"off\", by = \"bob\", reason = \"x\", until = {} }}\n",
        soon()
    );
    desk.file("resilience.overrides.toml", &inline);
    assert_eq!(set(&desk, "redis.scan", "observe").0, 0);
    let both = text(&desk);
    assert!(
        both.contains("mode = \"off\"") && both.contains("[\"redis.scan\"]\nmode = \"observe\""),
        "{both}"
    );
    assert_eq!(clear(&desk, "redis").0, 0);
    assert!(
        !text(&desk).contains("bob") && text(&desk).contains("redis.scan"),
        "{}",
        text(&desk)
    );
}

#[test]
fn what_has_ended_is_swept_out() {
    let desk = desk();
    let ended = "[redis]\nmode = \"off\"\nby = \"bob\"\nreason = \"x\"\nuntil = 2020-01-01T00:00:00Z\n";
    desk.file("resilience.overrides.toml", ended);
    assert_eq!(set(&desk, "payrail", "isolate").0, 0);
    assert!(!text(&desk).contains("redis"), "{}", text(&desk));
}

#[test]
fn an_override_of_what_the_policy_has_lost_can_be_taken_back() {
    let desk = desk();
    assert_eq!(set(&desk, "redis", "isolate").0, 0);
    desk.file("resilience.toml", "version = 1\n");
    assert_eq!(set(&desk, "redis", "off").0, 1);
    assert_eq!(clear(&desk, "redis").0, 0);
    assert_eq!(clear(&desk, "redis").0, 1);
}

#[test]
fn a_bad_file_is_left_alone() {
    let desk = desk();
    desk.file("resilience.overrides.toml", "[redis]\nmode = 3\n");
    let (code, _, err) = set(&desk, "payrail", "isolate");
    assert_eq!((code, text(&desk).as_str()), (1, "[redis]\nmode = 3\n"));
    assert!(err.contains("nothing was written"), "{err}");
}

#[cfg(unix)]
#[test]
fn a_link_and_the_rights_of_its_file_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let desk = desk();
    let real = desk.file("real.toml", "");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, desk.path("resilience.overrides.toml")).unwrap();
    assert_eq!(set(&desk, "payrail", "isolate").0, 0);
    assert!(desk.path("resilience.overrides.toml").is_symlink());
    let rights = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(rights(&real), 0o640);
    assert!(std::fs::read_to_string(real).unwrap().contains("isolate"));
}

#[test]
fn a_folder_that_cannot_be_written_to_is_2() {
    let desk = desk();
    desk.file(
        "resilience.toml",
        &format!("{POLICY}[runtime]\noverrides = \"none/o.toml\"\n"),
    );
    let (code, _, err) = set(&desk, "payrail", "isolate");
    assert_eq!(code, 2);
    assert!(err.contains("cannot be written"), "{err}");
}

/// A day from now: no override may last longer than seven.
fn soon() -> String {
    let day = std::time::Duration::from_secs(86_400);
    resilience_policy::overrides::utc(std::time::SystemTime::now() + day)
}
