//! The file goes away, and comes back.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::events::save;
use crate::own::process;
use crate::stand::{Rig, beside, edition, hash, wait};

/// Looks are so many a second at most, where nothing changes: four by the clock, and some that events brought.
const WAKES: u64 = 12;

#[test]
fn case_17_a_file_that_is_gone_for_five_seconds_changes_nothing() {
    process(
        "gone::case_17_a_file_that_is_gone_for_five_seconds_changes_nothing",
        || {
            let rig = Rig::new();
            fs::remove_file(&rig.watched.file).unwrap();
            rig.watched.events.next("policy.missing");
            let (begun, woken) = (Instant::now(), wakes());
            while begun.elapsed() < Duration::from_secs(5) {
                rig.assert_kept(&hash(0));
                let policy = rig.watched.runtime.snapshot().policy;
                assert!(policy.stale && policy.refusal.unwrap().contains("is missing since 20"));
                std::thread::sleep(Duration::from_millis(20));
            }
            let woken = wakes().zip(woken).map(|(now, then)| now - then);
            assert!(woken.is_none_or(|woken| woken <= 5 * WAKES), "{woken:?} wakes in 5 s");
            save(&rig.watched.file, &edition(0));
            wait("the file", || !rig.watched.runtime.snapshot().policy.stale);
            assert_eq!(rig.watched.events.count("policy.missing"), 0);
            rig.finish(1);
        },
    );
}

#[test]
fn case_17_a_folder_that_is_made_anew_and_a_file_that_comes_from_another_disk_are_seen() {
    process(
        "gone::case_17_a_folder_that_is_made_anew_and_a_file_that_comes_from_another_disk_are_seen",
        || {
            let rig = Rig::new();
            let folder = rig.watched.folder.path();
            fs::remove_dir_all(folder).unwrap();
            rig.watched.events.next("policy.missing");
            rig.assert_kept(&hash(0));
            fs::create_dir(folder).unwrap();
            save(&rig.watched.file, &edition(1));
            rig.watched.wait_for(1);
            // What a move between disks is: a copy, and the removal of what was copied.
            let elsewhere = tempfile::tempdir_in(other_disk()).unwrap();
            let other = elsewhere.path().join("policy");
            fs::copy(&rig.watched.file, &other).unwrap();
            fs::remove_file(&rig.watched.file).unwrap();
            rig.watched.events.next("policy.missing");
            rig.assert_kept(&hash(1));
            fs::copy(&other, &rig.watched.file).unwrap();
            wait("the file", || !rig.watched.runtime.snapshot().policy.stale);
            rig.finish(2);
        },
    );
}

#[test]
fn case_17_a_hundred_quick_removals_leave_nothing_open() {
    process("gone::case_17_a_hundred_quick_removals_leave_nothing_open", || {
        let rig = Rig::new();
        let (files, watches) = (open_files(), inotify_watches());
        for cycle in 0..100 {
            let away = beside(&rig.watched.file, "away");
            let is_looked_at = cycle % 20 == 0;
            if is_looked_at {
                wait("the file", || !rig.watched.runtime.snapshot().policy.stale);
            }
            fs::rename(&rig.watched.file, &away).unwrap();
            if is_looked_at {
                rig.watched.events.next("policy.missing");
                rig.assert_kept(&hash(0));
            }
            fs::rename(&away, &rig.watched.file).unwrap();
        }
        wait("the file", || !rig.watched.runtime.snapshot().policy.stale);
        assert_eq!((open_files(), inotify_watches()), (files, watches));
        rig.finish(1);
    });
}

fn other_disk() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory } else { Path::new(".") }
}

/// How often the watching thread was woken; nothing where the system does not tell.
fn wakes() -> Option<u64> {
    let mut threads = fs::read_dir("/proc/self/task").ok()?.flatten();
    let watching = threads.find(|thread| {
        fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.starts_with("resilience-watc"))
    })?;
    let status = fs::read_to_string(watching.path().join("status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

fn open_files() -> Option<usize> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count())
}

fn inotify_watches() -> Option<usize> {
    let infos = fs::read_dir("/proc/self/fdinfo").ok()?.flatten();
    let of = |info: fs::DirEntry| {
        let text = fs::read_to_string(info.path()).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("inotify ")).count()
    };
    Some(infos.map(of).sum())
}
