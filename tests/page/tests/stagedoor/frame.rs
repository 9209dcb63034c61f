//! One frame of the page between two snapshots, with a scrape that was made meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::{Interval, interval};

use crate::reading::{All, Metrics, Page, Snapshot, Told};

/// How often everything is looked at: several times between two frames.
const PACE: Duration = Duration::from_millis(50);
/// The page rounds shares to whole percents.
const ROUNDED: f64 = 0.005 + 1e-9;

pub(crate) struct Frame {
    pub(crate) before: Snapshot,
    pub(crate) after: Snapshot,
    page: Page,
    /// Who was served by the page's first frame, and by the snapshots around that one.
    first: Option<[All; 3]>,
    scrape: Metrics,
}

/// What was read and not yet used, and what came of it.
pub(crate) struct Frames {
    pub(crate) pace: Interval,
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) kept: Vec<Frame>,
    pub(crate) seen: Seen,
    shown: f64,
    first: Option<[All; 3]>,
}

/// What the comparisons have met.
#[derive(Default)]
pub(crate) struct Seen {
    /// How often the rates and the slots of a dependency did not move between the two snapshots, so that they had to be
    /// exactly the same in all.
    pub(crate) still: BTreeMap<String, [usize; 2]>,
    /// Dependencies with the states in which they were compared.
    pub(crate) states: BTreeSet<(String, String)>,
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            pace: interval(PACE),
            snapshots: Vec::new(),
            kept: Vec::new(),
            seen: Seen::default(),
            shown: 0.0,
            first: None,
        }
    }
}

impl Frames {
    /// If the page shows a new frame: the last snapshot from before it was made.
    pub(crate) fn before(&mut self, page: &Page) -> Option<Snapshot> {
        if page.at <= self.shown {
            return None;
        }
        let known = self
            .snapshots
            .iter()
            .rposition(|snapshot| snapshot.answered <= page.at)?;
        self.shown = page.at;
        Some(self.snapshots.swap_remove(known))
    }

    pub(crate) fn frame(&mut self, before: Snapshot, page: Page, scrape: Metrics, after: Snapshot) -> Frame {
        self.snapshots = vec![after.clone()];
        let frame = Frame {
            first: self.first.clone(),
            before,
            after,
            page,
            scrape,
        };
        // The page knows its past once it has asked for it.
        let counts_served = |told: &Told| told.counts.keys().any(|key| key.starts_with("calls served"));
        if self.first.is_none() && frame.page.told.values().any(counts_served) {
            self.first = Some([&frame.page.told, &frame.before.told, &frame.after.told].map(All::clone));
        }
        frame
    }
}

impl Frame {
    /// Two of them refuse calls.
    pub(crate) fn shows_trouble(&self) -> bool {
        let open = |told: &&Told| told.words["state"] == "open" && told.counts["changes"] > 2;
        self.page.told.values().filter(open).count() > 1
    }

    /// Page and metrics say what the snapshots say.
    pub(crate) fn agrees(&self, seen: &mut Seen) {
        let names = |all: &All| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            names(&self.page.told),
            names(&self.before.told),
            "the page's dependencies"
        );
        assert!(self.page.policy.contains(&self.before.hash), "{}", self.page.policy);
        for (name, before) in &self.before.told {
            let between = Between {
                name,
                before,
                after: &self.after.told[name],
            };
            between.holds("page", &self.of_page(name), ROUNDED);
            let scraped = &self.scrape.told[name];
            assert_eq!(self.scrape.hash, self.before.hash);
            between.holds("metrics", scraped, 1e-9);
            between.is_whole(scraped);
            if between.is_steady() {
                self.next_probe(name);
            }
            let compared = ["failure_rate", "in_flight"].map(|gauge| usize::from(between.is_still(gauge)));
            let [rates, slots] = seen.still.entry(name.clone()).or_default();
            (*rates, *slots) = (*rates + compared[0], *slots + compared[1]);
            if between.is_steady() {
                seen.states.insert((name.clone(), before.words["state"].clone()));
            }
        }
    }

    /// The page counts who was served from the moment at which it was opened: what counts is what came since its first
    /// frame, and that lies between what came at least and at most since then.
    fn of_page(&self, name: &str) -> Told {
        let mut told = self.page.told[name].clone();
        told.counts.retain(|key, _| !key.starts_with("calls served"));
        if let Some([page, before, after]) = &self.first {
            for part in ["primary", "fallback", "stale", "error"] {
                let key = format!("calls served {part}");
                let of = |all: &All| all[name].counts.get(&key).copied().unwrap_or_default();
                let shown = of(&self.page.told) - of(page);
                let least = of(&self.before.told).saturating_sub(of(after));
                let most = of(&self.after.told) - of(before);
                assert!(
                    (least..=most).contains(&shown),
                    "{name} {key}: the page shows {shown}, it was {least} to {most}"
                );
            }
        }
        told
    }

    /// What is left until the next probe shrinks from one snapshot to the other; the page rounds it up.
    fn next_probe(&self, name: &str) {
        let of = |probes: &BTreeMap<String, f64>| probes.get(name).copied();
        let snapshots = (of(&self.before.next_probe), of(&self.after.next_probe));
        if let (Some(before), Some(after)) = snapshots
            && before >= after
        {
            let shown = of(&self.page.next_probe).unwrap_or_else(|| panic!("{name}: no word of the next test"));
            let (least, most) = ((after - 0.05).ceil(), (before + 0.05).ceil());
            assert!(
                (least..=most).contains(&shown),
                "{name}: next test in {shown}, it was {least} to {most}"
            );
        }
    }
}

/// What two snapshots say of one dependency.
struct Between<'f> {
    name: &'f str,
    before: &'f Told,
    after: &'f Told,
}

impl Between<'_> {
    /// Neither state nor mode moved in between.
    fn is_steady(&self) -> bool {
        let changes = |told: &Told| told.counts["changes"];
        self.before.words == self.after.words && changes(self.before) == changes(self.after)
    }

    /// A gauge did not move in between: a rate moves when an attempt ends, and a slot that was taken and given back has
    /// ended a call.
    fn is_still(&self, gauge: &str) -> bool {
        let moves = match gauge {
            "limit" => return self.is_steady(),
            "in_flight" | "waiting" if self.before.gauges != self.after.gauges => return false,
            "in_flight" | "waiting" => "calls ended",
            _ => "attempts",
        };
        let ended = |told: &Told| {
            let ended = told.counts.iter().filter(|(key, _)| key.starts_with(moves));
            ended.map(|(_, count)| count).sum::<u64>()
        };
        self.is_steady() && ended(self.before) == ended(self.after)
    }

    /// What another one says, who looked in between, is true.
    #[track_caller]
    fn holds(&self, who: &str, told: &Told, tolerance: f64) {
        let Self { name, before, after } = self;
        for (key, count) in &told.counts {
            let of = |told: &Told| told.counts.get(key).copied().unwrap_or_default();
            let (least, most) = (of(before), of(after));
            assert!(
                (least..=most).contains(count),
                "{who} says {name} {key} {count}, it was {least} to {most}"
            );
        }
        if self.is_steady() {
            assert_eq!(told.words, before.words, "{who} of {name}");
        }
        for (gauge, value) in told.gauges.iter().filter(|(gauge, _)| self.is_still(gauge)) {
            let is = before.gauges[gauge];
            assert!(
                (value - is).abs() <= tolerance,
                "{who} says {name} {gauge} {value}, it was {is}"
            );
        }
    }

    /// Nothing that the snapshot counts is missing in a scrape.
    #[track_caller]
    fn is_whole(&self, metrics: &Told) {
        for (key, count) in &self.before.counts {
            assert!(
                *count == 0 || metrics.counts.contains_key(key),
                "metrics lack {} {key}",
                self.name
            );
        }
        assert!(metrics.gauges.contains_key("in_flight") && metrics.words.contains_key("mode"));
    }
}
