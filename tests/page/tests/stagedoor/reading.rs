//! What one reading of the snapshot, the metrics or the screen says, in the same words.

use std::collections::BTreeMap;
use std::time::SystemTime;

use prometheus_parse::{Sample, Scrape, Value as Number};
use resilience_page_tests::Browser;
use serde_json::Value;

/// What is said of one dependency.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Told {
    /// What only grows.
    pub(crate) counts: BTreeMap<String, u64>,
    /// State and mode.
    pub(crate) words: BTreeMap<&'static str, String>,
    /// What goes up and down.
    pub(crate) gauges: BTreeMap<&'static str, f64>,
}

pub(crate) type All = BTreeMap<String, Told>;

/// A change of state: its moment, and from, to and cause.
pub(crate) type Change = (f64, [String; 3]);

#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) asked: f64,
    pub(crate) answered: f64,
    pub(crate) hash: String,
    pub(crate) told: All,
    pub(crate) changes: BTreeMap<String, Vec<Change>>,
    /// Seconds until the next probe.
    pub(crate) next_probe: BTreeMap<String, f64>,
}

pub(crate) struct Metrics {
    pub(crate) hash: String,
    pub(crate) told: All,
}

pub(crate) struct Page {
    /// When the service began to make the frame.
    pub(crate) at: f64,
    pub(crate) policy: String,
    pub(crate) told: All,
    /// `next test in …`, in seconds.
    pub(crate) next_probe: BTreeMap<String, f64>,
}

impl Metrics {
    /// Whether it counts at least what the snapshot before it does: a call is told a moment after it is counted, and the
    /// thread that does it may be held up in between.
    pub(crate) fn is_up_with(&self, snapshot: &Snapshot) -> bool {
        snapshot.told.iter().all(|(name, told)| {
            let scraped = &self.told[name].counts;
            told.counts
                .iter()
                .all(|(key, count)| *count == 0 || scraped.get(key) >= Some(count))
        })
    }
}

pub(crate) fn now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.expect("a clock that is set").as_secs_f64()
}

impl Snapshot {
    /// Nothing once the service has ended.
    pub(crate) async fn read(address: &str) -> Option<Self> {
        let asked = now();
        let answer = reqwest::get(format!("{address}snapshot")).await.ok()?;
        let snapshot: Value = answer.json().await.ok()?;
        let answered = now();
        let dependencies = snapshot["dependencies"].as_object().expect("dependencies");
        let of = |read: fn(&Value) -> Told| {
            dependencies
                .iter()
                .map(move |(name, found)| (name.clone(), read(found)))
        };
        let probes = dependencies.iter();
        Some(Self {
            asked,
            answered,
            hash: text(&snapshot["policy"]["hash"]),
            told: of(of_snapshot).collect(),
            changes: dependencies
                .iter()
                .map(|(name, found)| (name.clone(), changes(&found["transitions"])))
                .collect(),
            next_probe: probes
                .filter_map(|(name, found)| Some((name.clone(), found["next_probe_in"].as_f64()?)))
                .collect(),
        })
    }
}

fn of_snapshot(found: &Value) -> Told {
    let mut told = Told::default();
    for (list, what) in [
        ("outcomes", "calls ended"),
        ("served", "calls served"),
        ("attempts", "attempts"),
        ("rejections", "rejected"),
        ("fallbacks", "fallback"),
        ("probes", "probes"),
    ] {
        for (word, count) in found[list].as_object().expect("counts by word") {
            let count = count.as_u64().expect("a count");
            told.counts.insert(format!("{what} {word}"), count);
        }
    }
    let changes = found["transitions"].as_array().expect("a list").len();
    told.counts.insert("changes".to_owned(), changes as u64);
    told.counts
        .insert("retries".to_owned(), found["retries"].as_u64().expect("a count"));
    told.words
        .insert("state", found["state"].as_str().unwrap_or("none").to_owned());
    told.words.insert("mode", text(&found["mode"]));
    for gauge in ["failure_rate", "slow_rate", "in_flight", "limit", "waiting"] {
        told.gauges.insert(gauge, found[gauge].as_f64().unwrap_or(0.0));
    }
    told
}

fn changes(list: &Value) -> Vec<Change> {
    let changes = list.as_array().expect("a list").iter();
    changes
        .map(|change| {
            let at = change["at"].as_f64().expect("a moment");
            (at, ["from", "to", "cause"].map(|word| text(&change[word])))
        })
        .collect()
}

/// One scrape; nothing once the service has ended.
pub(crate) async fn scrape(address: &str) -> Option<Metrics> {
    let answer = reqwest::get(format!("{address}metrics")).await.ok()?;
    let body = answer.text().await.ok()?;
    let samples = Scrape::parse(body.lines().map(|line| Ok(line.to_owned())));
    let samples = samples.expect("an exposition").samples;
    let (mut told, mut hash) = (All::new(), String::new());
    for sample in &samples {
        if sample.metric == "resilience_policy_info" && number(sample) > 0.0 {
            sample.labels.get("hash").expect("a hash").clone_into(&mut hash);
        }
        if let Some(dependency) = sample.labels.get("dependency") {
            of_sample(sample, told.entry(dependency.to_owned()).or_default());
        }
    }
    // Without a breaker there is no series of its state.
    for told in told.values_mut() {
        told.words.entry("state").or_insert_with(|| "none".to_owned());
    }
    Some(Metrics { hash, told })
}

fn of_sample(sample: &Sample, told: &mut Told) {
    let label = |name: &str| sample.labels.get(name).expect("a label").to_owned();
    let counts: &[String] = &match sample.metric.as_str() {
        "resilience_calls_total" => vec![
            format!("calls ended {}", label("outcome")),
            format!("calls served {}", label("served")),
        ],
        "resilience_attempts_total" => match label("outcome").as_str() {
            "failure" => vec![format!("attempts {}", label("kind"))],
            outcome => vec![format!("attempts {outcome}")],
        },
        "resilience_rejections_total" => vec![format!("rejected {}", label("reason"))],
        "resilience_fallbacks_total" => vec![format!("fallback {}", label("kind"))],
        "resilience_probes_total" => vec![format!("probes {}", label("outcome"))],
        "resilience_breaker_transitions_total" => vec!["changes".to_owned()],
        "resilience_retries_total" => vec!["retries".to_owned()],
        _ => Vec::new(),
    };
    for count in counts {
        *told.counts.entry(count.clone()).or_default() += whole(number(sample));
    }
    let gauge = match sample.metric.as_str() {
        "resilience_failure_rate" => "failure_rate",
        "resilience_slow_rate" => "slow_rate",
        "resilience_bulkhead_in_flight" => "in_flight",
        "resilience_bulkhead_limit" => "limit",
        "resilience_bulkhead_waiting" => "waiting",
        "resilience_breaker_state" | "resilience_mode" if number(sample) > 0.0 => {
            let key = if sample.metric == "resilience_mode" {
                "mode"
            } else {
                "state"
            };
            // A scrape amid a change may see both sides of it.
            let words = told.words.entry(key).or_default();
            words.push_str(&label(key));
            return;
        }
        _ => return,
    };
    told.gauges.insert(gauge, number(sample));
}

fn number(sample: &Sample) -> f64 {
    match sample.value {
        Number::Counter(number) | Number::Gauge(number) | Number::Untyped(number) => number,
        Number::Histogram(_) | Number::Summary(_) => 0.0,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts of a minute
fn whole(count: f64) -> u64 {
    count as u64
}

/// What stands on the screen, read in one go.
const SCREEN: &str = "(() => { const changes = {}; \
    for (const one of document.querySelectorAll('#journal [data-kind=\"breaker.transition\"] b')) \
        changes[one.textContent] = (changes[one.textContent] ?? 0) + 1; \
    const seen = (card, one) => { \
        const found = card.querySelector(one); return found && !found.closest('[hidden]') ? found.textContent : '' }; \
    return { at: document.documentElement.dataset.at, policy: document.getElementById('policy').textContent, \
        cards: [...document.querySelectorAll('.card')].map((card) => ({ ...card.dataset, \
            changes: changes[card.dataset.name] ?? 0, clock: seen(card, '.clock'), extra: seen(card, '.extra'), \
            served: seen(card, '.legend'), failed: seen(card, '.failed .value'), slots: seen(card, '.slots .value') })) } })()";

impl Page {
    pub(crate) async fn read(browser: &Browser) -> Self {
        let screen = browser.read(SCREEN).await;
        let cards = screen["cards"].as_array().expect("cards");
        let name = |card: &Value| text(&card["name"]);
        Self {
            at: text(&screen["at"]).parse().expect("a moment"),
            policy: text(&screen["policy"]),
            told: cards.iter().map(|card| (name(card), of_card(card))).collect(),
            next_probe: cards
                .iter()
                .filter_map(|card| {
                    let clock = plain(&card["clock"]);
                    let (_, wait) = clock.split_once("next test in ")?;
                    Some((name(card), first_number(wait)))
                })
                .collect(),
        }
    }
}

/// Of a card, what an operator reads: its colour and place come from the same values.
fn of_card(card: &Value) -> Told {
    let mut told = Told::default();
    told.counts
        .insert("changes".to_owned(), card["changes"].as_u64().expect("a count"));
    told.words.insert("state", text(&card["state"]));
    told.words.insert("mode", text(&card["mode"]));
    let extra = plain(&card["extra"]);
    let refused = extra
        .split(" · ")
        .find_map(|part| part.strip_prefix("rejected so far: "));
    for (reason, count) in refused.into_iter().flat_map(list) {
        told.counts
            .insert(format!("rejected {}", reason.replace('-', "_")), count);
    }
    let served = plain(&card["served"]);
    for (part, count) in served.strip_prefix("last two minutes: ").into_iter().flat_map(list) {
        told.counts.insert(format!("calls served {part}"), count);
    }
    // `7 of 20 calls, limit 50 %` where there are too few.
    let failed = plain(&card["failed"]);
    if let Some((share, _)) = failed.split_once(" %, limit") {
        told.gauges.insert("failure_rate", first_number(share) / 100.0);
    }
    // `3 of 12, 0 of 50 waiting`
    let slots = plain(&card["slots"]);
    let mut numbers = slots
        .split(", ")
        .map(|part| part.split_once(" of ").unwrap_or((part, "")));
    if let Some((taken, limit)) = numbers.next().filter(|(taken, _)| !taken.is_empty()) {
        told.gauges.insert("in_flight", first_number(taken));
        told.gauges.insert("limit", first_number(limit));
        let waiting = numbers.next().map_or(0.0, |(waiting, _)| first_number(waiting));
        told.gauges.insert("waiting", waiting);
    }
    told
}

/// `open 1,204, bulkhead-full 7`, or with shares as `primary 96 (80 %), stale 24 (20 %)`.
fn list(text: &str) -> Vec<(String, u64)> {
    text.split(", ")
        .map(|one| {
            let (word, count) = one.split_once(' ').expect("a word and a count");
            (word.to_owned(), whole(first_number(count)))
        })
        .collect()
}

fn first_number(text: &str) -> f64 {
    let number = text.split(' ').next().expect("one part").replace(',', "");
    number.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

/// Numbers and units are held together by spaces that do not break.
fn plain(value: &Value) -> String {
    text(value).replace('\u{a0}', " ")
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}
