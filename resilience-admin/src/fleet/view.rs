//! What the others said, compared with what is so here. Times travel as ages: nobody compares two machines' clocks.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use resilience_runtime::{Counted, DependencySnapshot, Snapshot};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::hand::TARGET;

/// What others publish is read, but not without bound.
const MOST_INSTANCES: usize = 500;
/// In bytes: what ten thousand dependencies need.
const LONGEST_REPORT: usize = 2 * 1024 * 1024;

/// What one instance says of itself: its policy, and the dependencies that are not closed and enforced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Report {
    instance: String,
    hash: String,
    /// For how long that policy has been in force.
    hash_for: f64,
    away: BTreeMap<String, Away>,
    /// What its quiet breakers counted, where it pools evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// A dependency that is not closed and enforced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Away {
    state: String,
    mode: String,
    /// For how long it has not been closed; unknown for a mode.
    #[serde(rename = "for")]
    since: Option<f64>,
}

/// Where an instance differs from this one.
#[derive(Debug, Serialize, PartialEq)]
struct Differs {
    dependency: String,
    there: String,
    here: String,
    #[serde(rename = "for")]
    since: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Peer<'a> {
    instance: &'a str,
    /// Its policy, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_for: Option<f64>,
    differs: Vec<Differs>,
}

/// The fleet as this instance sees it.
#[derive(Debug, Serialize)]
struct Seen<'a> {
    /// This one included.
    instances: usize,
    /// `view`, or `pooled` where breakers too quiet to judge alone judge on what all counted.
    evidence: &'static str,
    /// For how long nothing has been heard of the others, if that is so, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_for: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// Those that differ.
    peers: Vec<Peer<'a>>,
}

#[derive(Debug, Default)]
pub(crate) struct View {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Whether instances are to meet at all.
    meets: bool,
    pooled: bool,
    own: Option<Report>,
    others: Vec<Report>,
    heard: Option<Instant>,
    lost: Option<(Instant, String)>,
}

impl View {
    /// The instances are to meet; nothing is known of them yet.
    pub(crate) fn meets(&self) {
        self.lock().meets = true;
    }

    /// There is no fleet, or no longer.
    pub(crate) fn none(&self) {
        *self.lock() = Inner::default();
    }

    /// Notes what is so here, and gives it to be published.
    pub(crate) fn take_own(&self, snapshot: &Snapshot, counted: Option<Counted>) -> String {
        let pooled = counted.is_some();
        let own = Report {
            counted,
            ..report(snapshot, crate::board::now())
        };
        let text = serde_json::to_string(&own).expect("it has text keys and finite numbers");
        let mut inner = self.lock();
        inner.own = Some(own);
        (inner.meets, inner.pooled) = (true, pooled);
        text
    }

    /// Notes what the others published, and gives what they counted. What is no report of ours is nobody's.
    pub(crate) fn take(&self, others: &[String]) -> Vec<Counted> {
        let read = others
            .iter()
            .take(MOST_INSTANCES)
            .filter(|text| text.len() <= LONGEST_REPORT)
            .filter_map(|text| serde_json::from_str(text).ok());
        let mut read: Vec<Report> = read.collect();
        let counted = read.iter_mut().filter_map(|report| report.counted.take()).collect();
        let mut inner = self.lock();
        inner.others = read;
        inner
            .others
            .sort_by(|one: &Report, other| one.instance.cmp(&other.instance));
        inner.heard = Some(Instant::now());
        let lost = inner.lost.take();
        drop(inner);
        if let Some((since, _)) = lost {
            let seconds = since.elapsed().as_secs();
            tracing::info!(
                target: TARGET, event = "fleet.heard", seconds,
                "the fleet is heard of again, after {seconds} s",
            );
        }
        counted
    }

    /// The store could not be asked. What was heard is no longer known to be so; nobody counted anything new.
    pub(crate) fn lost(&self, why: &str) -> Vec<Counted> {
        let mut inner = self.lock();
        let before = inner.lost.take().map(|(since, _)| since);
        inner.meets = true;
        inner.lost = Some((before.unwrap_or_else(Instant::now), why.to_owned()));
        inner.others.clear();
        drop(inner);
        // Once for each time, however often it is tried.
        if before.is_none() {
            tracing::warn!(
                target: TARGET, event = "fleet.lost", why,
                "nothing is heard of the fleet, this instance goes on by itself: {why}",
            );
        }
        Vec::new()
    }

    /// As JSON; nothing where instances do not meet.
    pub(crate) fn show(&self) -> Option<serde_json::Value> {
        let inner = self.lock();
        if !inner.meets {
            return None;
        }
        let age = inner.heard.map_or(0.0, |heard| heard.elapsed().as_secs_f64());
        let peers = inner
            .own
            .iter()
            .flat_map(|own| inner.others.iter().filter_map(move |other| compare(own, other, age)));
        let seen = Seen {
            instances: inner.others.len() + 1,
            evidence: if inner.pooled { "pooled" } else { "view" },
            lost_for: inner
                .lost
                .as_ref()
                .map(|(since, _)| whole(since.elapsed().as_secs_f64())),
            why: inner.lost.as_ref().map(|(_, why)| why.as_str()),
            peers: peers.collect(),
        };
        Some(serde_json::to_value(seen).expect("it has text keys and finite numbers"))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(snapshot: &Snapshot, now: f64) -> Report {
    let away = snapshot.dependencies.iter().filter(|(_, found)| !at_peace(found));
    Report {
        instance: snapshot.instance.clone(),
        hash: snapshot.policy.hash.clone(),
        hash_for: (now - snapshot.policy.loaded_at).max(0.0),
        counted: None,
        away: away
            .map(|(name, found)| {
                let away = Away {
                    state: found.state.unwrap_or("closed").to_owned(),
                    mode: found.mode.to_owned(),
                    since: found.open_for,
                };
                (name.clone(), away)
            })
            .collect(),
    }
}

fn at_peace(dependency: &DependencySnapshot) -> bool {
    dependency.mode == "enforce" && dependency.state.is_none_or(|state| state == "closed")
}

/// Where `other` differs, `age` seconds after it said so; nothing where it does not.
fn compare<'a>(own: &Report, other: &'a Report, age: f64) -> Option<Peer<'a>> {
    let word = |away: Option<&Away>| match away {
        None => "closed".to_owned(),
        Some(away) if away.mode == "enforce" => away.state.clone(),
        Some(away) => away.mode.clone(),
    };
    let mut names: Vec<_> = own.away.keys().chain(other.away.keys()).collect();
    names.sort();
    names.dedup();
    let differs = names.into_iter().filter_map(|name| {
        let (here, there) = (own.away.get(name), other.away.get(name));
        let differs = Differs {
            dependency: name.clone(),
            there: word(there),
            here: word(here),
            // It differs since one of the two left closed; where both have, since the later did.
            since: match (here, there) {
                (Some(here), Some(there)) => least(here.since, there.since),
                (one, other) => one.or(other).and_then(|away| away.since),
            }
            .map(|since| whole(since + age)),
        };
        (differs.there != differs.here).then_some(differs)
    });
    let policy = (own.hash != other.hash).then_some(other.hash.as_str());
    let peer = Peer {
        instance: &other.instance,
        policy,
        policy_for: policy
            .and(least(Some(own.hash_for), Some(other.hash_for)))
            .map(|since| whole(since + age)),
        differs: differs.collect(),
    };
    (policy.is_some() || !peer.differs.is_empty()).then_some(peer)
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn whole(seconds: f64) -> f64 {
    seconds.round()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(instance: &str, hash: &str, away: &[(&str, &str, &str, Option<f64>)]) -> Report {
        let away = away.iter().map(|(name, state, mode, since)| {
            let away = Away {
                state: (*state).to_owned(),
                mode: (*mode).to_owned(),
                since: *since,
            };
            ((*name).to_owned(), away)
        });
        Report {
            instance: instance.to_owned(),
            hash: hash.to_owned(),
            hash_for: 100.0,
            counted: None,
            away: away.collect(),
        }
    }

    fn told(own: &Report, other: &Report) -> String {
        serde_json::to_string(&compare(own, other, 2.0)).expect("JSON")
    }

    #[test]
    fn who_agrees_is_not_named() {
        let own = of("api-01", "a", &[("payrail", "open", "enforce", Some(9.0))]);
        let other = of("api-02", "a", &[("payrail", "open", "enforce", Some(1.0))]);
        assert_eq!(told(&own, &other), "null");
    }

    #[test]
    fn a_difference_is_told_from_either_side_with_its_age() {
        let (calm, open) = (
            of("api-01", "a", &[]),
            of("api-02", "a", &[("payrail", "open", "enforce", Some(60.0))]),
        );
        assert_eq!(
            told(&calm, &open),
            r#"{"instance":"api-02","differs":[{"dependency":"payrail","there":"open","here":"closed","for":62.0}]}"#
        );
        assert_eq!(
            told(&open, &calm),
            r#"{"instance":"api-01","differs":[{"dependency":"payrail","there":"closed","here":"open","for":62.0}]}"#
        );
    }

    #[test]
    fn a_hand_and_another_policy_are_differences_too() {
        let own = of("api-01", "a", &[]);
        let other = of("api-02", "b", &[("search", "closed", "isolate", None)]);
        let told = told(&own, &other);
        assert!(told.contains(r#""policy":"b","policy_for":102.0"#), "{told}");
        assert!(
            told.contains(r#""there":"isolate","here":"closed","for":null"#),
            "{told}"
        );
    }

    #[test]
    fn what_is_no_report_is_nobodys_and_silence_forgets() {
        let view = View::default();
        let good = serde_json::to_string(&of("api-02", "a", &[])).expect("JSON");
        assert_eq!(view.show(), None);
        view.meets();
        view.take(&[good, "<script>".to_owned(), "{}".to_owned()]);
        assert_eq!(view.show().expect("they meet")["instances"], 2);
        view.lost("gone");
        let shown = view.show().expect("they meet");
        assert_eq!((&shown["instances"], &shown["why"]), (&1.into(), &"gone".into()));
        view.none();
        assert_eq!(view.show(), None);
    }
}
