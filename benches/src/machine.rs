//! Where and when it was measured.

use std::fs;
use std::process::Command;
use std::time::SystemTime;

/// The peers and what decides about them, whose versions are printed.
const CRATES: &[&str] = &[
    "resilience-runtime",
    "recloser",
    "failsafe",
    "seatbelt",
    "tower-resilience-circuitbreaker",
    "tower-resilience-bulkhead",
    "tower-resilience-timelimiter",
    "sentinel-core",
    "tower",
    "tokio",
    "quanta",
    "coarsetime",
];

/// The machine, the system and the tools, in one line each.
#[derive(Debug)]
pub struct Machine {
    /// The processor and its number of cores.
    pub processor: String,
    /// Kernel and clock.
    pub system: String,
    /// The compiler.
    pub compiler: String,
    /// When it began.
    pub date: String,
    /// Ours, by commit.
    pub commit: String,
    /// Names and versions.
    pub versions: Vec<String>,
}

impl Machine {
    /// Reads all of it.
    pub fn read() -> Self {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = text
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
            .map(|(_, name)| name);
        let source = file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        Self {
            processor: format!("{}, {cores} cores", model.unwrap_or("an unknown processor")),
            system: format!("Linux {}, clock source {source}", file("/proc/sys/kernel/osrelease")),
            compiler: said(Command::new("rustc").arg("--version")),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            commit: said(Command::new("git").args([
                "-C",
                env!("CARGO_MANIFEST_DIR"),
                "describe",
                "--always",
                "--dirty",
            ])),
            versions: versions(),
        }
    }
}

/// The load of the last minute.
pub fn load() -> String {
    file("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned()
}

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

fn said(command: &mut Command) -> String {
    let output = command.output().ok().filter(|output| output.status.success());
    output.map_or_else(
        || "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// From the lock file that this was built with.
fn versions() -> Vec<String> {
    let lock: toml::Table = include_str!("../Cargo.lock").parse().expect("cargo wrote it");
    let packages = lock["package"].as_array().expect("cargo wrote it");
    let version = |name: &&str| {
        // Where a peer brings an older one too, ours is the last.
        let package = packages
            .iter()
            .rfind(|package| package["name"].as_str() == Some(*name))?;
        Some(format!("{name} {}", package["version"].as_str()?))
    };
    CRATES.iter().filter_map(version).collect()
}
