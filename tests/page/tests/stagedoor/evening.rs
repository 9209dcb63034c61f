//! The example as a process, and what it prints: the events as a subscriber got them, and whether the story held.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::frame::Frame;
use crate::reading::Snapshot;

/// Moments are printed in hundredths, and computed from two clocks.
const NEAR: f64 = 0.05;
/// Open ends by the clock, and is told when somebody looks; who made a change tells it a moment after it can be read.
const TOLD_WITHIN: f64 = 1.0;

pub(crate) struct Evening {
    /// Of the admin router, with a slash at the end.
    pub(crate) address: String,
    process: Child,
    lines: UnboundedReceiver<String>,
}

impl Evening {
    /// Builds it as `cargo test --workspace` does, which has it already, and waits until it says where it is.
    pub(crate) async fn begin() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--workspace", "--example", "stagedoor"])
            .current_dir(&root)
            .status();
        assert!(built.await.expect("cargo").success(), "the example does not build");
        // target/debug/deps/this-test stands beside target/debug/examples.
        let this = std::env::current_exe().expect("a test has a file");
        let built = this
            .ancestors()
            .nth(2)
            .expect("cargo's folders")
            .join("examples/stagedoor");
        let mut process = Command::new(built)
            .current_dir(&root)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .expect("the example");
        let mut out = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let (sender, mut lines) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok(Some(line)) = out.next_line().await {
                let _ = sender.send(line);
            }
        });
        let address = loop {
            let line = lines.recv().await.expect("an address before the end");
            if let Some(page) = line.strip_prefix("page ") {
                break page.trim().to_owned();
            }
        };
        Self {
            address,
            process,
            lines,
        }
    }

    /// Waits for its end. Whether the story held is not looked at here: a browser beside it takes a part of the machine.
    pub(crate) async fn end(&mut self) -> Events {
        let mut events = Events::default();
        while let Some(line) = self.lines.recv().await {
            if let Some((name, change)) = change(&line) {
                events.changes.entry(name).or_default().push(change);
            }
        }
        let ended = self.process.wait().await.expect("a process that ends");
        assert!(
            matches!(ended.code(), Some(0 | 1)),
            "the evening was cut short: {ended}"
        );
        events
    }
}

type Change = (f64, [String; 3]);

/// `  6.12 s  payrail: closed → open (failure_rate)`
fn change(line: &str) -> Option<(String, Change)> {
    let (at, told) = line.split_once(" s  ")?;
    let (name, told) = told.split_once(": ")?;
    let (from, told) = told.split_once(" → ")?;
    let (to, cause) = told.split_once(" (")?;
    let change = [from, to, cause.trim_end_matches(')')].map(str::to_owned);
    Some((name.to_owned(), (at.trim().parse().ok()?, change)))
}

/// The changes of state that were told as events, by dependency.
#[derive(Default)]
pub(crate) struct Events {
    changes: BTreeMap<String, Vec<Change>>,
}

impl Events {
    fn of(&self, name: &str) -> &[Change] {
        self.changes.get(name).map_or(&[], Vec::as_slice)
    }

    /// When the example began, by the clock on the wall: no change is told before it is made.
    pub(crate) fn start(&self, last: &Snapshot) -> f64 {
        let kept = last
            .changes
            .iter()
            .flat_map(|(name, kept)| kept.iter().zip(self.of(name)));
        kept.map(|((at, _), (second, _))| at - second).fold(f64::MIN, f64::max)
    }

    /// The snapshots of a frame have just those changes which had been told by then.
    pub(crate) fn agrees(&self, frame: &Frame, start: f64) {
        for snapshot in [&frame.before, &frame.after] {
            for (name, kept) in &snapshot.changes {
                let told = self.of(name);
                assert!(kept.len() <= told.len(), "{name}: {kept:?} of {told:?}");
                for ((at, what), (second, told)) in kept.iter().zip(told) {
                    let late = second + start - at;
                    assert_eq!(what, told, "{name}");
                    assert!(
                        (-NEAR..TOLD_WITHIN).contains(&late),
                        "{name}: {what:?} at {at} was told {late} s later"
                    );
                }
                let by = |moment: f64| told.iter().filter(|(second, _)| second + start < moment).count();
                let (least, most) = (by(snapshot.asked - NEAR), by(snapshot.answered + TOLD_WITHIN));
                assert!(
                    (least..=most).contains(&kept.len()),
                    "{name}: {} changes where {least} to {most} were told",
                    kept.len()
                );
            }
        }
    }

    /// The dependencies that were told of.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.changes.keys().map(String::as_str).collect()
    }
}
