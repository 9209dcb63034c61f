//! What stands in the file's place and is no file, and a file that may not be read any more.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::events::save;
use crate::own::{process_of_nobody, processes};
use crate::stand::{Rig, Watched, edition, hash, wait};

#[test]
fn permission_that_is_lost_and_given_again_changes_nothing() {
    process_of_nobody("odd::permission_that_is_lost_and_given_again_changes_nothing", || {
        let rig = Rig::new();
        let allow = |mode| fs::set_permissions(&rig.watched.file, fs::Permissions::from_mode(mode)).unwrap();
        allow(0o000);
        let refused = rig.refused();
        assert!(refused.contains("cannot be read: permission denied"), "{refused}");
        rig.assert_kept(&hash(0));
        allow(0o644);
        wait("the file", || !rig.watched.runtime.snapshot().policy.stale);
        rig.finish(1);
    });
}

#[test]
fn a_folder_a_pipe_and_a_file_without_end_in_its_place_stop_nothing() {
    type Put = fn(&Watched);
    let odd: [(Put, &str); 4] = [
        (|watched| fs::create_dir(&watched.file).unwrap(), "not a regular file"),
        (
            |watched| assert!(Command::new("mkfifo").arg(&watched.file).status().unwrap().success()),
            "not a regular file",
        ),
        (
            |watched| std::os::unix::fs::symlink("/dev/zero", &watched.file).unwrap(),
            "not a regular file",
        ),
        (
            |watched| fs::File::create(&watched.file).unwrap().set_len(1 << 34).unwrap(),
            "larger than 16 MiB",
        ),
    ];
    processes(
        "odd::a_folder_a_pipe_and_a_file_without_end_in_its_place_stop_nothing",
        odd.len(),
        |number| {
            let (put, words) = odd[number];
            let rig = Rig::new();
            fs::remove_file(&rig.watched.file).unwrap();
            put(&rig.watched);
            let refused = rig.refused();
            assert!(refused.contains(words), "{refused}");
            rig.assert_kept(&hash(0));
            let _ = fs::remove_dir(&rig.watched.file);
            save(&rig.watched.file, &edition(1));
            rig.watched.wait_for(1);
            rig.finish(2);
        },
    );
}
