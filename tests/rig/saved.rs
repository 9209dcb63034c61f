//! Saves that are good: each is seen, and each is one reload.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use crate::events::save;
use crate::own::{process, processes};
use crate::saves;
use crate::stand::{Rig, Watched, beside, edition, hash};

const TIMES: u64 = 50;

#[test]
fn case_18_each_way_of_saving_is_seen_fifty_times_in_a_row_and_is_one_reload() {
    processes(
        "saved::case_18_each_way_of_saving_is_seen_fifty_times_in_a_row_and_is_one_reload",
        saves::ALL.len(),
        |number| {
            let (name, save) = saves::ALL[number];
            let watched = Watched::new();
            for counter in 1..=TIMES {
                save(&watched.file, &edition(counter));
                watched.wait_for(counter);
                let reloaded = watched.events.next("policy.reloaded");
                assert!(reloaded.contains("changes=1 "), "{name}: {reloaded}");
            }
            assert_eq!(watched.events.count("policy.reloaded"), 0, "{name}");
        },
    );
}

#[test]
fn case_18_a_touch_and_files_beside_it_are_nothing() {
    process("saved::case_18_a_touch_and_files_beside_it_are_nothing", || {
        let rig = Rig::new();
        for time in 0..TIMES {
            let now = std::time::SystemTime::now();
            let file = fs::File::options().append(true).open(&rig.watched.file).unwrap();
            file.set_modified(now + Duration::from_secs(time)).unwrap();
            for name in [".resilience.toml.swp", "resilience.toml~", "4913", "other.toml"] {
                fs::write(beside(&rig.watched.file, name), edition(99)).unwrap();
            }
        }
        // The edit that follows is the first reload, and so the only one.
        save(&rig.watched.file, &edition(1));
        let reloaded = rig.watched.events.next("policy.reloaded");
        assert!(reloaded.contains(&hash(1)), "{reloaded}");
        rig.finish(2);
    });
}

#[test]
fn case_18_two_saves_within_a_tenth_of_a_second_end_with_the_second() {
    process(
        "saved::case_18_two_saves_within_a_tenth_of_a_second_end_with_the_second",
        || {
            let rig = Rig::new();
            for round in 0..20 {
                save(&rig.watched.file, &edition(2 * round + 1));
                save(&rig.watched.file, &edition(2 * round + 2));
                rig.watched.wait_for(2 * round + 2);
            }
            rig.assert_kept(&hash(40));
            rig.finish(41);
        },
    );
}

#[test]
fn a_config_map_that_is_swapped_is_seen_fifty_times_in_a_row() {
    process(
        "saved::a_config_map_that_is_swapped_is_seen_fifty_times_in_a_row",
        || {
            let folder = tempfile::tempdir().unwrap();
            let mount = folder.path().to_owned();
            let publish = |counter: u64| {
                // As the kubelet does it: a folder of the time, a link to it made beside, and the link moved over.
                let (new, old) = (format!("..{counter}"), format!("..{}", counter.wrapping_sub(1)));
                fs::create_dir(mount.join(&new)).unwrap();
                fs::write(mount.join(&new).join("resilience.toml"), edition(counter)).unwrap();
                symlink(&new, mount.join("..data_tmp")).unwrap();
                fs::rename(mount.join("..data_tmp"), mount.join("..data")).unwrap();
                let _ = fs::remove_dir_all(mount.join(old));
            };
            publish(0);
            let file = mount.join("resilience.toml");
            symlink("..data/resilience.toml", &file).unwrap();
            let watched = Watched::at(folder, file);
            for counter in 1..=TIMES {
                publish(counter);
                watched.wait_for(counter);
                watched.events.next("policy.reloaded");
            }
            assert_eq!(watched.events.count("policy.reloaded"), 0);
            assert_eq!(watched.events.count("policy.missing"), 0);
        },
    );
}

#[test]
fn an_edit_that_makes_no_event_is_found_by_looking() {
    process("saved::an_edit_that_makes_no_event_is_found_by_looking", || {
        // The folder that is watched holds a link; what is edited lies elsewhere, as on a mount that tells nothing.
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (file, real) = (folder.path().join("resilience.toml"), elsewhere.path().join("policy"));
        fs::write(&real, edition(0)).unwrap();
        symlink(&real, &file).unwrap();
        let rig = Rig::of(Watched::at(folder, file));
        for counter in 1..=5 {
            fs::write(&real, edition(counter)).unwrap();
            rig.watched.wait_for(counter);
        }
        rig.assert_kept(&hash(5));
        rig.finish(6);
    });
}

#[test]
fn two_hundred_saves_a_second_are_five_reloads_a_second_at_most_and_end_with_the_last() {
    process(
        "saved::two_hundred_saves_a_second_are_five_reloads_a_second_at_most_and_end_with_the_last",
        || {
            let rig = Rig::new();
            let begun = Instant::now();
            let mut counter = 0;
            while begun.elapsed() < Duration::from_secs(5) {
                counter += 1;
                save(&rig.watched.file, &edition(counter));
                std::thread::sleep(Duration::from_millis(5));
            }
            let last = Instant::now();
            rig.watched.wait_for(counter);
            let took = last.elapsed();
            let reloads = rig.watched.events.count("policy.reloaded");
            let most = (begun.elapsed().as_secs_f64() * 5.0).ceil();
            assert!(
                f64::from(u32::try_from(reloads).unwrap()) <= most,
                "{reloads} reloads, the last took {took:?}"
            );
            rig.assert_kept(&hash(counter));
            rig.finish(counter + 1);
        },
    );
}

#[test]
fn case_19_calls_go_on_while_a_large_file_is_read_and_one_edit_of_it_is_one_change() {
    const MANY: usize = 1_500;
    process(
        "saved::case_19_calls_go_on_while_a_large_file_is_read_and_one_edit_of_it_is_one_change",
        || {
            let large = |first: &str| {
                let mut text = edition(1);
                for number in 0..MANY {
                    let timeout = if number == 0 { first } else { "1s" };
                    let _ = write!(
                        text,
                        "[dependency.d{number}]\nfail = \"open\"\ntimeout = \"{timeout}\"\n\
                         breaker = {{ window = \"10s\" }}\nbulkhead.max_concurrent = 20\nretry.max_attempts = 2\n",
                    );
                }
                text
            };
            let rig = Rig::new();
            let before = rig.calls();
            save(&rig.watched.file, &large("1s"));
            let reloaded = rig.watched.events.next("policy.reloaded");
            assert!(
                reloaded.contains(&format!("changes={} ", MANY + 1)),
                "{}",
                reloaded.len()
            );
            // To settle alone takes a tenth of a second, and to read such a file as long as twenty calls of the load.
            assert!(rig.calls() > before + 20, "the calls waited for the file");
            rig.assert_kept(&rig.watched.hash());
            save(&rig.watched.file, &large("2s"));
            let reloaded = rig.watched.events.next("policy.reloaded");
            assert!(
                reloaded.contains("changes=1 ") && reloaded.contains("dependency.d0.timeout: 1s → 2s"),
                "{reloaded}"
            );
            rig.assert_kept(&rig.watched.hash());
            rig.finish(2);
        },
    );
}
