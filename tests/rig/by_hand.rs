//! The operator's hand by file, by command and by code: all three are the same hand.

use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};

use resilience_runtime::{Mode, Override};

use crate::own::process;
use crate::stand::{Watched, beside, wait};

fn command(watched: &Watched, words: &[&str]) {
    let policy = [OsString::from("--policy"), watched.file.clone().into()];
    let words = ["resilience", "override"].iter().chain(words).map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = resilience_cli::run(words.chain(policy), &mut out, &mut err);
    assert_eq!(code, 0, "{}", String::from_utf8_lossy(&err));
}

#[test]
fn a_running_process_obeys_the_command_within_two_seconds_and_code_and_file_agree_with_it() {
    process(
        "by_hand::a_running_process_obeys_the_command_within_two_seconds_and_code_and_file_agree_with_it",
        || {
            let watched = Watched::new();
            let of = |name: &str| watched.runtime.snapshot().dependency(name).unwrap().clone();
            let begun = Instant::now();
            let said = ["--by", "ops", "--reason", "drill", "--for", "1h", "--answer", "later"];
            command(&watched, &[&["search", "isolate"], &said[..]].concat());
            wait("the hand", || of("search").mode == "isolate");
            assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
            let by_command = of("search").overridden.unwrap();
            assert_eq!(
                (
                    by_command.by.as_str(),
                    by_command.reason.as_str(),
                    by_command.answer.as_deref()
                ),
                ("ops", "drill", Some("later"))
            );

            // The same in code is the same to every reader.
            let mut hand = Override::new(Mode::Isolate, "ops", "drill", Duration::from_secs(3_600));
            hand.answer = Some("later".into());
            watched.runtime.set_mode("ledger", hand).unwrap();
            let by_code = of("ledger").overridden.unwrap();
            assert_eq!(
                (by_code.mode, by_code.by, by_code.reason, by_code.answer),
                (by_command.mode, by_command.by, by_command.reason, by_command.answer)
            );
            assert!((by_code.until - by_command.until).abs() < 60.0);

            // The later one counts, whoever it is.
            let hand = Override::new(Mode::Observe, "dev", "look", Duration::from_secs(60));
            watched.runtime.set_mode("search", hand).unwrap();
            assert_eq!(of("search").mode, "observe");
            command(&watched, &[&["search", "off"], &said[..]].concat());
            wait("the command over the code", || of("search").mode == "off");
            // A reload of the policy lifts none of them.
            crate::events::save(&watched.file, &crate::stand::edition(1));
            watched.wait_for(1);
            assert_eq!((of("search").mode, of("ledger").mode), ("off", "isolate"));

            command(&watched, &["search", "--clear"]);
            wait("the hand taken off", || of("search").mode == "enforce");
            assert_eq!(of("ledger").mode, "isolate");
        },
    );
}

#[test]
fn an_override_of_a_misspelt_name_says_so_and_the_others_hold() {
    process(
        "by_hand::an_override_of_a_misspelt_name_says_so_and_the_others_hold",
        || {
            let watched = Watched::new();
            let until = humantime::format_rfc3339_seconds(std::time::SystemTime::now() + Duration::from_secs(600));
            let entry = |name: &str| {
                format!("[{name}]\nmode = \"isolate\"\nby = \"ops\"\nreason = \"drill\"\nuntil = \"{until}\"\n")
            };
            let text = format!("{}{}", entry("serch"), entry("ledger"));
            fs::write(beside(&watched.file, "resilience.overrides.toml"), text).unwrap();
            let said = watched.events.with("acts on nothing");
            assert!(
                said.contains("resilience.overrides.toml:1:") && said.contains("did you mean `search`?"),
                "{said}"
            );
            wait("the other hand", || {
                watched.runtime.snapshot().dependency("ledger").unwrap().mode == "isolate"
            });
        },
    );
}

#[test]
fn another_overrides_file_takes_the_place_of_the_old_one_without_a_gap() {
    process(
        "by_hand::another_overrides_file_takes_the_place_of_the_old_one_without_a_gap",
        || {
            let watched = Watched::new();
            let said = ["--by", "ops", "--reason", "drill", "--for", "1h"];
            command(&watched, &[&["search", "isolate"], &said[..]].concat());
            command(&watched, &[&["ledger", "observe"], &said[..]].concat());
            let mode = |name: &str| watched.runtime.snapshot().dependency(name).unwrap().mode;
            wait("the hands", || {
                (mode("search"), mode("ledger")) == ("isolate", "observe")
            });
            let text = fs::read_to_string(beside(&watched.file, "resilience.overrides.toml")).unwrap();
            let kept = text.split_once("\n[\"ledger\"]").unwrap().0;
            fs::write(beside(&watched.file, "other.toml"), format!("{kept}\n")).unwrap();
            let policy =
                crate::stand::edition(0).replace("version = 1\n", "version = 1\nruntime.overrides = \"other.toml\"\n");
            crate::events::save(&watched.file, &policy);
            wait("the other file", || {
                assert_eq!(mode("search"), "isolate");
                mode("ledger") == "enforce"
            });
        },
    );
}
