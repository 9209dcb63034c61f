//! A real `postgres`.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::{Process, free_port, until};

/// A server with one role, `postgres`, whom it trusts. It keeps its port and its data over `stop` and
/// `start_again`.
pub struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    user: Option<User>,
    settings: Vec<String>,
    port: u16,
    process: Process,
}

/// It refuses to run as root; then it runs as one of these.
#[derive(Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

impl Postgres {
    /// One with nothing in it. It gives its data up for speed if the machine fails.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with settings, `["max_connections=10"]`.
    ///
    /// # Panics
    /// If it is there and does not start.
    pub fn start_with(settings: &[&str]) -> Option<Self> {
        let initdb = crate::installed("initdb", versions())?;
        let programs = initdb.parent().expect("a program is in a folder").to_owned();
        let folder = TempDir::new().expect("a temporary folder can be made");
        let user = user_instead_of_root(folder.path());
        if let Some(user) = user {
            chown(folder.path(), Some(user.uid), Some(user.gid)).expect("root may give a folder away");
        }
        let mut command = Command::new(initdb);
        command
            .args([
                "--username=postgres",
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                "--pgdata",
            ])
            .arg(folder.path().join("data"));
        let made = run_as(&mut command, user, &folder)
            .output()
            .expect("an installed program can be started");
        assert!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        let settings: Vec<_> = settings.iter().map(|&setting| setting.to_owned()).collect();
        // Somebody else may take the port between our look and its bind.
        for _ in 0..10 {
            let port = free_port();
            if let Some(process) = run(&programs, &folder, user, &settings, port) {
                return Some(Self {
                    programs,
                    folder,
                    user,
                    settings,
                    port,
                    process,
                });
            }
        }
        panic!("PostgreSQL ended as soon as it was started:\n{}", log(&folder));
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// As the client `sqlx` reads it; a database that is always there is `postgres`.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Ends it and all of its sessions, telling each of them: SIGINT, its fast shutdown.
    pub fn stop(&mut self) {
        self.process.signal("INT", false);
        self.process.end();
    }

    /// It keeps its connections and answers nothing: SIGSTOP to it and to its sessions.
    pub fn freeze(&self) {
        self.process.signal("STOP", true);
    }

    /// It goes on where it stood: SIGCONT.
    pub fn thaw(&self) {
        self.process.signal("CONT", true);
    }

    /// Starts it after `stop`, at the same port, with its data.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_again(&mut self) {
        let process = run(&self.programs, &self.folder, self.user, &self.settings, self.port);
        self.process = process.unwrap_or_else(|| panic!("PostgreSQL did not start again:\n{}", log(&self.folder)));
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Frozen sessions hear nothing. Without ceremony otherwise: SIGQUIT, its immediate shutdown.
        self.thaw();
        self.process.signal("QUIT", false);
        self.process.end();
    }
}

/// Where Debian and its kin keep the programs, the newest first.
fn versions() -> Vec<PathBuf> {
    let folders = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<_> = folders.map(|folder| folder.path().join("bin")).collect();
    folders.sort_unstable();
    folders.reverse();
    folders
}

fn user_instead_of_root(ours: &Path) -> Option<User> {
    let uid = fs::metadata(ours).expect("a folder that was just made is there").uid();
    if uid != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = ["postgres", "nobody"].iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(str::parse);
        Some(User {
            uid: numbers.next()?.ok()?,
            gid: numbers.next()?.ok()?,
        })
    });
    Some(user.expect("a machine has a user `postgres` or `nobody`"))
}

fn run_as<'a>(command: &'a mut Command, user: Option<User>, folder: &TempDir) -> &'a mut Command {
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command.current_dir(folder.path())
}

fn log(folder: &TempDir) -> String {
    fs::read_to_string(folder.path().join("log")).unwrap_or_default()
}

fn run(programs: &Path, folder: &TempDir, user: Option<User>, settings: &[String], port: u16) -> Option<Process> {
    let ours = folder.path();
    let mut command = Command::new(programs.join("postgres"));
    command
        .arg("-D")
        .arg(ours.join("data"))
        .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-F", "-k"])
        .arg(ours);
    for setting in ["shared_buffers=16MB", "synchronous_commit=off", "full_page_writes=off"] {
        command.args(["-c", setting]);
    }
    for setting in settings {
        command.args(["-c", setting]);
    }
    run_as(&mut command, user, folder);
    let log = ours.join("log");
    let mut process = Process::start(&mut command, &log).expect("an installed program can be started");
    let state = ours.join("data/postmaster.pid");
    until(&mut process, &log, || is_ready(&state)).then_some(process)
}

/// The last line of its lock file says so.
fn is_ready(state: &Path) -> bool {
    fs::read_to_string(state).is_ok_and(|text| text.lines().nth(7).is_some_and(|line| line.trim() == "ready"))
}
