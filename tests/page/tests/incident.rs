//! One incident, told four times: by the page, the snapshot, the events and the stream. They have to agree in every
//! frame that is looked at.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use resilience_admin::Admin;
use resilience_page_tests::{Browser, Site};
use resilience_runtime::{Mode, Override, Policy, Runtime};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

const POLICY: &str = r#"
version = 1

[defaults]
timeout = "1s"
breaker.window          = "4 calls"
breaker.minimum_calls   = 4
breaker.cooldown        = "2s"
breaker.cooldown_jitter = 0.0

[dependency.payrail]
fail = "closed"
bulkhead.max_concurrent = 4

[dependency.payrail.operation.refund]
timeout = "2s"

[dependency.payrail.operation.report]
breaker.window = "8 calls"

[dependency.redis]
fail = "open"
"#;

/// The steps of the incident; the frame after each is looked at.
enum Step {
    Good(&'static str, usize),
    Bad(&'static str, usize),
    /// Calls that may be refused.
    Try(&'static str, usize),
    Set(&'static str, Mode),
    Clear(&'static str),
    /// The cooldown of an open breaker passes.
    Until(&'static str, &'static str),
}

const STORY: [Step; 20] = [
    Step::Good("payrail", 3),
    Step::Good("redis", 9),
    Step::Good("payrail", 5),
    Step::Bad("payrail", 2),
    Step::Try("payrail", 6),
    Step::Bad("redis", 1),
    Step::Set("redis", Mode::Isolate),
    Step::Try("redis", 5),
    Step::Until("payrail", "half_open"),
    Step::Bad("payrail", 1),
    Step::Try("payrail.refund", 3),
    Step::Clear("redis"),
    Step::Good("redis", 4),
    Step::Bad("payrail.report", 8),
    Step::Until("payrail", "half_open"),
    Step::Good("payrail", 1),
    Step::Set("payrail", Mode::Observe),
    Step::Bad("payrail", 4),
    Step::Clear("payrail"),
    Step::Until("payrail.report", "half_open"),
];

#[tokio::test]
async fn page_snapshot_events_and_stream_agree_in_every_frame() {
    let Some(browser) = Browser::open(1000, 900, false).await else {
        return;
    };
    let heard = Heard::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(heard.clone())).expect("the only one");
    let runtime = Runtime::new(Policy::from_toml(POLICY).expect("a good policy"));
    let site = Site::start(Admin::new(runtime.clone()));
    browser.visit(&format!("{}/page", site.address)).await;

    let mut frames = 0;
    for step in &STORY {
        play(&runtime, step).await;
        frames += agree(&browser, &site, &heard).await;
    }
    assert_eq!(frames, STORY.len(), "every frame was looked at");
    browser.close().await;
}

async fn play(runtime: &Runtime, step: &Step) {
    let call = async |name: &str, times: usize, good: bool| {
        let guard = runtime.guard(name).expect("a known name");
        for _ in 0..times {
            let body = || async move {
                if good {
                    Ok(())
                } else {
                    Err(io::Error::from(io::ErrorKind::TimedOut))
                }
            };
            let _ = guard.call(body).await;
        }
    };
    match step {
        Step::Good(name, times) | Step::Try(name, times) => call(name, *times, true).await,
        Step::Bad(name, times) => call(name, *times, false).await,
        Step::Set(name, mode) => {
            let hand = Override::new(*mode, "kim", "drill", Duration::from_secs(600));
            runtime.set_mode(name, hand).expect("a good override");
        }
        Step::Clear(name) => runtime.clear_mode(name).expect("a known name"),
        Step::Until(name, state) => {
            let snapshot = || runtime.snapshot().dependency(name).and_then(|found| found.state);
            let by = Instant::now() + Duration::from_secs(30);
            while snapshot() != Some(state) {
                assert!(Instant::now() < by, "`{name}` never became {state}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// What must be the same wherever it is read.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    state: String,
    mode: String,
    transitions: usize,
}

/// Waits for a frame that was made between two equal snapshots, and compares.
async fn agree(browser: &Browser, site: &Site, heard: &Heard) -> usize {
    loop {
        let before = snapshot(site).await;
        let read = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("a clock that is set");
        let later = format!("Number(document.documentElement.dataset.at) > {}", read.as_secs_f64());
        browser.until(&later).await;
        let page = page(browser).await;
        let events = heard.transitions();
        if snapshot(site).await != before {
            // Time alone has moved a breaker in between: look again.
            continue;
        }
        assert_eq!(page, before, "page and snapshot");
        let of_snapshot: usize = before
            .iter()
            .filter(|(name, _)| *name != "payrail.refund")
            .map(|(_, told)| told.transitions)
            .sum();
        assert_eq!(
            events.values().sum::<usize>(),
            of_snapshot,
            "events and snapshot: {events:?}"
        );
        return 1;
    }
}

async fn snapshot(site: &Site) -> BTreeMap<String, Told> {
    let snapshot: Value = reqwest::get(format!("{}/snapshot", site.address))
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    let dependencies = snapshot["dependencies"].as_object().expect("dependencies");
    dependencies
        .iter()
        .map(|(name, found)| {
            let text = |key: &str| found[key].as_str().unwrap_or("none").to_owned();
            let told = Told {
                state: text("state"),
                mode: text("mode"),
                transitions: found["transitions"].as_array().expect("a list").len(),
            };
            (name.clone(), told)
        })
        .collect()
}

/// What stands on the screen.
async fn page(browser: &Browser) -> BTreeMap<String, Told> {
    let script = "[...document.querySelectorAll('.card')].map((card) => [card.dataset.name, card.dataset.state, card.dataset.mode])";
    let cards = browser.read(script).await;
    let names =
        "[...document.querySelectorAll('#journal [data-kind=\"breaker.transition\"] b')].map((one) => one.textContent)";
    let journal = browser.read(names).await;
    let told = |name: &str| {
        journal
            .as_array()
            .expect("a list")
            .iter()
            .filter(|one| *one == name)
            .count()
    };
    cards
        .as_array()
        .expect("cards")
        .iter()
        .map(|card| {
            let text = |at: usize| card[at].as_str().expect("text").to_owned();
            // An operation that shares the breaker shares its story, which the page tells once.
            let teller = if text(0) == "payrail.refund" {
                "payrail".to_owned()
            } else {
                text(0)
            };
            let told = Told {
                state: text(1),
                mode: text(2),
                transitions: told(&teller),
            };
            (text(0), told)
        })
        .collect()
}

/// The transitions that were told as events, by dependency.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<BTreeMap<String, usize>>>);

impl Heard {
    fn transitions(&self) -> BTreeMap<String, usize> {
        self.0.lock().expect("no panic under it").clone()
    }
}

impl<S: Subscriber> Layer<S> for Heard {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "resilience" {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        if fields.0.get("event").is_some_and(|name| name == "breaker.transition") {
            let name = fields.0.remove("dependency").unwrap_or_default();
            *self.0.lock().expect("no panic under it").entry(name).or_default() += 1;
        }
    }
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
