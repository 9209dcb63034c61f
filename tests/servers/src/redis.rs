//! A real Redis.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::process::{Process, free_port, until};

/// A Redis server. It keeps its port and its folder over `kill` and `start_again`.
pub struct Redis {
    program: PathBuf,
    folder: TempDir,
    settings: Vec<String>,
    port: u16,
    process: Process,
}

impl Redis {
    /// One with nothing in it; nothing is saved but by `SAVE`.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with settings of the command line, `["--maxclients", "4"]`.
    ///
    /// # Panics
    /// If Redis is there and does not start.
    pub fn start_with(settings: &[&str]) -> Option<Self> {
        let program = crate::installed("redis-server", [])?;
        let folder = TempDir::new().expect("a temporary folder can be made");
        let settings: Vec<_> = settings.iter().map(|&setting| setting.to_owned()).collect();
        // Somebody else may take the port between our look and its bind.
        for _ in 0..10 {
            let port = free_port();
            if let Some(process) = run(&program, &folder, &settings, port) {
                return Some(Self {
                    program,
                    folder,
                    settings,
                    port,
                    process,
                });
            }
        }
        panic!("Redis ended as soon as it was started:\n{}", log(&folder));
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// As the client `redis` reads it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Ends it at once, as a crash would: SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// It keeps its connections and answers nothing: SIGSTOP.
    pub fn freeze(&self) {
        self.process.signal("STOP", false);
    }

    /// It goes on where it stood: SIGCONT.
    pub fn thaw(&self) {
        self.process.signal("CONT", false);
    }

    /// Starts it after `kill`, at the same port, with what was saved, and with these settings too.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_again(&mut self, settings: &[&str]) {
        self.settings.extend(settings.iter().map(|&setting| setting.to_owned()));
        let process = run(&self.program, &self.folder, &self.settings, self.port);
        self.process = process.unwrap_or_else(|| panic!("Redis did not start again:\n{}", log(&self.folder)));
    }
}

fn log(folder: &TempDir) -> String {
    std::fs::read_to_string(folder.path().join("log")).unwrap_or_default()
}

fn run(program: &PathBuf, folder: &TempDir, settings: &[String], port: u16) -> Option<Process> {
    let mut command = Command::new(program);
    command
        .args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--dir",
        ])
        .arg(folder.path())
        .args(settings)
        .current_dir(folder.path());
    let log = folder.path().join("log");
    let mut process = Process::start(&mut command, &log).expect("an installed program can be started");
    // Whatever it answers, it is there; one that is still loading says so.
    until(&mut process, &log, || answers(port)).then_some(process)
}

fn answers(port: u16) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"PING\r\n")?;
        let mut first = [0];
        stream.read_exact(&mut first)?;
        Ok(matches!(first[0], b'+' | b'-'))
    };
    ask().unwrap_or(false)
}
