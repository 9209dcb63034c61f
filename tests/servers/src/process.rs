//! A process that does not outlive who started it.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts it; what it prints goes to `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> io::Result<Self> {
        let log = File::options().append(true).create(true).open(log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(Self { child })
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal by its name to the process, and to those that it started if it is asked to.
    pub(crate) fn signal(&self, name: &str, family: bool) {
        let pid = self.child.id();
        let mut pids = vec![pid.to_string()];
        if family {
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            pids.extend(children.unwrap_or_default().split_whitespace().map(str::to_owned));
        }
        // One that has just ended is no fault.
        let _ = Command::new("kill")
            .arg(format!("-{name}"))
            .args(pids)
            .stderr(Stdio::null())
            .status();
    }

    /// Waits for the end; kills it if that does not come.
    pub(crate) fn end(&mut self) {
        let by = Instant::now() + Duration::from_secs(10);
        while !self.has_ended() && Instant::now() < by {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that nobody listens at, for now.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// Looks until it is so, or panics with the server's log.
pub(crate) fn until(process: &mut Process, log: &Path, mut so: impl FnMut() -> bool) -> bool {
    let by = Instant::now() + PATIENCE;
    while !so() {
        if process.has_ended() {
            return false;
        }
        let said = || std::fs::read_to_string(log).unwrap_or_default();
        assert!(Instant::now() < by, "the server did not start:\n{}", said());
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}
