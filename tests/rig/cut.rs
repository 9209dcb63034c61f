//! A file that is seen before it is whole.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::own::{process, processes};
use crate::stand::{Rig, Watched, edition, hash, wait};

const PROCESSES: usize = 16;
const ROUNDS: u64 = 63;

/// In place, with the time of the last change that it had.
fn write(file: &Path, text: &[u8], modified: SystemTime) {
    fs::write(file, text).unwrap();
    File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(modified)
        .unwrap();
}

#[test]
fn case_16_a_thousand_cuts_and_always_the_old_or_the_new_one_in_full() {
    processes(
        "cut::case_16_a_thousand_cuts_and_always_the_old_or_the_new_one_in_full",
        PROCESSES,
        |number| {
            let watched = Watched::new();
            let mut random = fastrand::Rng::with_seed(u64::try_from(number).unwrap());
            let modified = SystemTime::now();
            for round in 1..=ROUNDS {
                let (text, old, new) = (edition(round), hash(round - 1), hash(round));
                let cut = random.usize(1..text.len());
                write(&watched.file, &text.as_bytes()[..cut], modified);
                let pause = Duration::from_millis([0, 20, 50, 110, 250, 800][random.usize(..6)]);
                let begun = Instant::now();
                while begun.elapsed() < pause {
                    let now = watched.hash();
                    assert!(
                        now == old || now == new,
                        "cut at {cut}: neither the old nor the new one"
                    );
                    std::thread::sleep(Duration::from_millis(5));
                }
                write(&watched.file, text.as_bytes(), modified);
                wait(&format!("round {round}, cut at {cut} for {pause:?}"), || {
                    let now = watched.hash();
                    assert!(
                        now == old || now == new,
                        "cut at {cut}: neither the old nor the new one"
                    );
                    now == new
                });
            }
            // Nothing was said of the cuts: none of them stayed long enough to be what somebody saved.
            assert_eq!(watched.events.count("policy.refused"), 0);
        },
    );
}

#[test]
fn case_16_a_cut_that_stays_is_refused_once_and_says_what_it_may_be() {
    process(
        "cut::case_16_a_cut_that_stays_is_refused_once_and_says_what_it_may_be",
        || {
            let rig = Rig::new();
            let text = edition(1);
            fs::write(
                &rig.watched.file,
                &text[..text.find("closed").expect("it stands there") + 3],
            )
            .unwrap();
            let refused = rig.refused();
            assert!(refused.contains("may still be being written"), "{refused}");
            rig.assert_kept(&hash(0));
            fs::write(&rig.watched.file, &text).unwrap();
            rig.watched.wait_for(1);
            assert_eq!(rig.watched.events.count("policy.refused"), 0);
            rig.finish(2);
        },
    );
}
