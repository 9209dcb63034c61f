//! The page during the example's whole evening: at every moment that is looked at, page and snapshot say the same, and
//! at the end so do the events that the example prints.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use resilience_page_tests::Browser;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_agrees_with_snapshot_and_events_through_the_whole_evening() {
    let Some(browser) = Browser::open(1280, 900, false).await else {
        return;
    };
    let (mut evening, mut lines) = start();
    let page = loop {
        let line = lines.recv().await.expect("an address before the end");
        if let Some(page) = line.trim().strip_prefix("page ") {
            break page.trim().to_owned();
        }
    };
    browser.visit(&page).await;

    let (mut compared, mut last, mut pictured) = (0, None, false);
    while let Some(before) = snapshot(&page).await {
        let read = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("a clock that is set");
        let later = format!("Number(document.documentElement.dataset.at) > {}", read.as_secs_f64());
        // The last frame may never come: the example ends when its story does.
        if timeout(Duration::from_secs(5), browser.until(&later)).await.is_err() {
            break;
        }
        let shown = told(&browser).await;
        let Some(after) = snapshot(&page).await else { break };
        if before == after {
            assert_eq!(shown, before, "page and snapshot, frame {compared}");
            compared += 1;
        }
        let open = before
            .values()
            .any(|(state, _, changes)| state == "open" && *changes > 2);
        if open && compared > 5 && !pictured {
            browser.picture("page-stagedoor", true).await;
            pictured = true;
        }
        last = Some(after);
    }
    browser.close().await;

    // The story is printed as its events come; what it says of the breakers is what the snapshot kept.
    let mut printed = BTreeMap::<String, usize>::new();
    while let Some(line) = lines.recv().await {
        if let Some((name, _)) = line.split_once(" s  ").and_then(|(_, told)| told.split_once(": "))
            && line.contains(" → ")
        {
            *printed.entry(name.to_owned()).or_default() += 1;
        }
    }
    let _ = evening.wait().await;
    let last = last.expect("a snapshot");
    let kept: BTreeMap<_, _> = last
        .into_iter()
        .map(|(name, (_, _, changes))| (name, changes))
        .filter(|(_, changes)| *changes > 0)
        .collect();
    assert_eq!(kept, printed, "snapshot and events");
    assert!(
        kept.len() == 3 && compared >= 10,
        "{compared} frames of an evening that opened {kept:?}"
    );
    eprintln!("{compared} frames compared");
}

/// The example, and what it prints.
fn start() -> (Child, mpsc::UnboundedReceiver<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut child = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--example", "stagedoor"])
        .current_dir(root)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .expect("cargo");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            let _ = sender.send(line);
        }
    });
    (child, receiver)
}

/// State, mode, and how many changes of state are told.
type Told = BTreeMap<String, (String, String, usize)>;

/// What the service says; nothing once it has ended.
async fn snapshot(page: &str) -> Option<Told> {
    let answer = reqwest::get(format!("{page}snapshot")).await.ok()?;
    let snapshot: Value = answer.json().await.ok()?;
    let dependencies = snapshot["dependencies"].as_object().expect("dependencies");
    let told = dependencies.iter().map(|(name, found)| {
        let text = |key: &str| found[key].as_str().unwrap_or("none").to_owned();
        let changes = found["transitions"].as_array().map_or(0, Vec::len);
        (name.clone(), (text("state"), text("mode"), changes))
    });
    Some(told.collect())
}

/// What stands on the screen.
async fn told(browser: &Browser) -> Told {
    let script = "(() => { const told = {}; \
        for (const one of document.querySelectorAll('#journal [data-kind=\"breaker.transition\"] b')) \
            told[one.textContent] = (told[one.textContent] ?? 0) + 1; \
        return [...document.querySelectorAll('.card')].map(({ dataset }) => \
            [dataset.name, dataset.state, dataset.mode, told[dataset.name] ?? 0]) })()";
    let cards = browser.read(script).await;
    let cards = cards.as_array().expect("cards").iter();
    let told = cards.map(|card| {
        let text = |at: usize| card[at].as_str().expect("text").to_owned();
        let changes = card[3].as_u64().and_then(|changes| usize::try_from(changes).ok());
        (text(0), (text(1), text(2), changes.expect("a count")))
    });
    told.collect()
}
