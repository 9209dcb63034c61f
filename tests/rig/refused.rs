//! Files that are refused, and files that mean the same: the policy in force stays, state and calls with it.

use std::fs;

use crate::events::save;
use crate::own::processes;
use crate::stand::{Rig, edition, hash};

/// What happens to a good text.
type Spoil = fn(&str) -> String;

/// An empty file in each form, and what is said of it.
const EMPTY: [(&str, &str); 5] = [
    ("", "the file is empty"),
    ("# nothing to see here\n", "the file is empty"),
    ("\n \n\n", "the file is empty"),
    ("version = 1\n", "removes all 3 dependencies"),
    ("version = 1\n[dependency.payments]\n", "resilience.toml:2:1"),
];

#[test]
fn case_14_an_empty_file_takes_no_protection_away() {
    processes(
        "refused::case_14_an_empty_file_takes_no_protection_away",
        EMPTY.len(),
        |number| {
            let (text, words) = EMPTY[number];
            let rig = Rig::new();
            // In place, as `> resilience.toml` does it.
            fs::write(&rig.watched.file, text).unwrap();
            let refused = rig.refused();
            assert!(refused.contains(words), "{refused}");
            rig.assert_kept(&hash(0));
            // A touch, and the same bytes again, are no second refusal.
            save(&rig.watched.file, text);
            rig.finish(1);
        },
    );
}

#[test]
fn case_15_other_line_ends_are_the_same_policy() {
    let same: [Spoil; 5] = [
        |text| format!("\u{feff}{text}"),
        |text| text.replace('\n', "\r\n"),
        |text| text.replacen('\n', "\r\n", 3),
        |text| text.trim_end().to_owned(),
        |text| text.replace("\ntimeout", "\n\ttimeout"),
    ];
    processes(
        "refused::case_15_other_line_ends_are_the_same_policy",
        same.len(),
        |number| {
            let rig = Rig::new();
            fs::write(&rig.watched.file, same[number](&edition(0))).unwrap();
            let reloaded = rig.watched.events.next("policy.reloaded");
            assert!(reloaded.contains("no effective change"), "{reloaded}");
            rig.assert_kept(&hash(0));
            rig.finish(1);
        },
    );
}

#[test]
fn case_15_a_character_that_no_editor_meant_is_named() {
    let bad: [(Spoil, &str, &str); 3] = [
        (|text| format!("{text}\u{feff}{text}"), "U+FEFF", ":19:1"),
        (|text| text.replace('\n', "\r"), "U+000D", ":1:"),
        (|text| format!("{text}\u{1a}\n"), "U+001A", ":19:1"),
    ];
    processes(
        "refused::case_15_a_character_that_no_editor_meant_is_named",
        bad.len(),
        |number| {
            let (spoil, character, place) = bad[number];
            let rig = Rig::new();
            save(&rig.watched.file, &spoil(&edition(0)));
            let refused = rig.refused();
            assert!(
                refused.contains(character) && refused.contains(&format!("resilience.toml{place}")),
                "{refused}"
            );
            rig.assert_kept(&hash(0));
            rig.finish(1);
        },
    );
}
