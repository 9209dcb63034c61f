//! A test in processes of its own.

use std::process::{Child, Command, Stdio};

/// Says to the test binary that it is the process of a case, and which one of several.
const CASE: &str = "RESILIENCE_TEST_CASE";

/// Runs `body` in so many processes at once, each with its number from 0. `test` is the path of the calling test.
#[track_caller]
pub(crate) fn processes(test: &str, count: usize, body: impl FnOnce(usize)) {
    if let Ok(number) = std::env::var(CASE) {
        return body(number.parse().expect("a number of ours"));
    }
    let started: Vec<Child> = (0..count).map(|number| start(this(test), number)).collect();
    judge(started);
}

/// The same in one process.
#[track_caller]
pub(crate) fn process(test: &str, body: impl FnOnce()) {
    processes(test, 1, |_| body());
}

/// The same as a user whom permissions bind; root may read everything.
#[cfg(unix)]
#[track_caller]
pub(crate) fn process_of_nobody(test: &str, body: impl FnOnce()) {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    /// The user that every Unix has for what owns nothing.
    const NOBODY: u32 = 65_534;

    if std::env::var_os(CASE).is_some() {
        return body();
    }
    // The build's own folder may lie where only root may go, so that nobody gets a copy.
    let folder = tempfile::tempdir().unwrap();
    if std::fs::metadata(folder.path()).unwrap().uid() != 0 {
        return process(test, body);
    }
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let binary = folder.path().join("rig");
    std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    let mut command = Command::new(&binary);
    command.arg(test).uid(NOBODY).gid(NOBODY).current_dir(folder.path());
    judge(vec![start(command, 0)]);
}

fn this(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(test);
    command
}

fn start(mut command: Command, number: usize) -> Child {
    command
        .args(["--exact", "--nocapture", "--test-threads=1"])
        .env(CASE, number.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[track_caller]
fn judge(started: Vec<Child>) {
    let mut failed = Vec::new();
    for (number, child) in started.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        // A misspelt path would run no test at all, and that with success.
        if !output.status.success() || !text.contains("1 passed") {
            failed.push(format!(
                "process {number}:\n{text}\n{}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
