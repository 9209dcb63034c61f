//! One run: its callers with their plots, its breakers, and the axis of time.

use std::fmt::Write as _;

use resilience_policy::Policy;

use super::super::output::Run;
use super::super::report::{Kept, Summary};
use super::super::scenario::{SECOND, Scenario};
use super::bins::{self, Bin, KINDS};
use super::plot::{self, Frame};
use super::scale::{self, grouped, millis};
use super::{Scales, bands, escaped};

/// Between two plots.
const GAP: f64 = 14.0;
/// About how wide a letter is, and the room between two entries of a legend.
const LETTER: f64 = 6.4;
const SPACE: f64 = 12.0;
/// More callers than this are summed up in fewer plots each.
const FEW: usize = 2;

/// One run, from top to bottom.
pub(super) struct Column<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) run: &'a Run,
    pub(super) policy: Option<&'a Policy>,
    pub(super) scales: &'a Scales,
    /// Runs that stand side by side.
    pub(super) beside: usize,
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) y: f64,
    pub(super) body: String,
}

impl Column<'_> {
    pub(super) fn draw(mut self) -> Self {
        // A path says where it was drawn, not what.
        let title = std::path::Path::new(&self.run.title)
            .file_name()
            .map(|name| name.to_string_lossy());
        let title = escaped(title.as_deref().unwrap_or(&self.run.title));
        let (left, y) = (self.left, self.y);
        let _ = writeln!(
            self.body,
            "<text class=\"run\" x=\"{left:.1}\" y=\"{y:.1}\">{title}</text>"
        );
        self.y += 26.0;
        let top = self.y;
        let mut plots = String::new();
        std::mem::swap(&mut plots, &mut self.body);
        let callers = &self.run.report.seconds.callers;
        for (name, kept) in callers {
            self.caller(name, kept, callers.len());
        }
        self.y += bands::draw(self.scenario, &self.run.report, self.frame(0.0, 1.0), &mut self.body);
        // Behind everything: the phases, through all plots.
        std::mem::swap(&mut plots, &mut self.body);
        self.phases(top);
        self.body.push_str(&plots);
        let frame = self.frame(0.0, 1.0);
        self.y += plot::axis(&mut self.body, &frame);
        self
    }

    fn frame(&self, height: f64, most: f64) -> Frame {
        #[allow(clippy::cast_precision_loss)] // at most 60 days
        let seconds = self.scenario.duration as f64 / SECOND as f64;
        Frame {
            left: self.left,
            width: self.width,
            top: self.y,
            height,
            seconds,
            most,
        }
    }

    fn phases(&mut self, top: f64) {
        let frame = self.frame(0.0, 1.0);
        let bottom = self.y;
        for (number, phase) in self.scenario.phases.iter().enumerate() {
            #[allow(clippy::cast_precision_loss)] // at most 60 days
            let at = |nanos: u64| frame.x(nanos as f64 / SECOND as f64);
            let (from, to) = (at(phase.from), at(phase.to.min(self.scenario.duration)));
            // Neighbours are told apart by two shades.
            let _ = writeln!(
                self.body,
                "<rect class=\"phase{}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n\
                 <text class=\"phase-name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                if number % 2 == 1 { " other" } else { "" },
                top - 14.0,
                (to - from).max(1.0),
                bottom - top + 14.0,
                from + 4.0,
                top - 4.0,
                escaped(&phase.name),
            );
        }
    }

    fn caller(&mut self, name: &str, kept: &[Kept], callers: usize) {
        let (bins, seconds) = bins::all(kept, &self.run.report.seconds);
        let [calls, held, latency] = self.scales.of_caller(name);
        let found = self.run.report.summary.iter().find(|(known, _)| known == name);
        self.legend(name, found.map(|(_, summary)| summary));
        let height = if callers > FEW { 110.0 } else { 190.0 };
        let frame = self.frame(height, scale::nice(calls));
        plot::grid(&mut self.body, &frame, "calls/s", scale::number);
        plot::stack(&mut self.body, &frame, &bins, |bin, kind| bin.counts[kind] / seconds);
        plot::line(&mut self.body, &frame, "arrived", &bins, |bin| {
            Some(bin.arrived / seconds)
        });
        self.y += height + GAP;

        let limits = self.limits(name);
        let height = if callers > FEW { 60.0 } else { 100.0 };
        if held > 0.0 {
            let limit = limits.slots.filter(|limit| *limit <= 4.0 * held);
            let frame = self.frame(height, scale::nice(held.max(limit.unwrap_or(0.0))));
            plot::grid(&mut self.body, &frame, "at once", scale::number);
            plot::area(&mut self.body, &frame, "waiting", &bins, Bin::held);
            plot::area(&mut self.body, &frame, "in-flight", &bins, |bin| bin.in_flight);
            if let Some(limit) = limit {
                plot::limit(
                    &mut self.body,
                    &frame,
                    limit,
                    &format!("{} slots", scale::number(limit)),
                );
            }
            self.y += height + GAP;
        }
        if latency > 0.0 && callers <= FEW {
            let timeout = limits.timeout_ms.filter(|timeout| *timeout <= 4.0 * latency);
            let frame = self.frame(height, scale::nice(latency.max(timeout.unwrap_or(0.0))));
            plot::grid(&mut self.body, &frame, "latency", millis);
            plot::line(&mut self.body, &frame, "p99", &bins, |bin| bin.p99);
            plot::line(&mut self.body, &frame, "p50", &bins, |bin| bin.p50);
            plot::percentiles(&mut self.body, &frame);
            if let Some(timeout) = timeout {
                plot::limit(&mut self.body, &frame, timeout, &format!("timeout {}", millis(timeout)));
            }
            self.y += height + GAP;
        }
        self.y += 6.0;
    }

    /// The caller's name and its totals, which name the colours, too; on further lines where one is too short.
    fn legend(&mut self, name: &str, summary: Option<&Summary>) {
        let mut items = vec![(
            format!("<tspan class=\"caller\">{}</tspan>", escaped(name)),
            name.chars().count(),
        )];
        if let Some(summary) = summary {
            let arrived = format!("{} arrived", grouped(summary.counts.arrived));
            let length = arrived.len();
            items.push((arrived, length));
            for kind in &KINDS {
                let why = if kind.class == "rejected" {
                    reasons(summary)
                } else {
                    String::new()
                };
                items.extend(legend_item(kind.class, (kind.count)(&summary.counts), kind.word, &why));
            }
            let unfinished = summary.gauges.in_flight + summary.gauges.waiting;
            items.extend(legend_item("in-flight", unfinished, "still running", ""));
        }
        let room = self.width;
        let mut lines: Vec<(String, f64)> = Vec::new();
        for (item, letters) in items {
            #[allow(clippy::cast_precision_loss)] // a few words
            let wide = letters as f64 * LETTER + SPACE;
            match lines.last_mut().filter(|(_, taken)| taken + wide <= room) {
                Some((line, taken)) => {
                    let _ = write!(line, "<tspan dx=\"10\">{item}</tspan>");
                    *taken += wide;
                }
                None => lines.push((item, wide)),
            }
        }
        // Beside each other the plots of all runs begin at one height.
        let least = self.beside.saturating_sub(lines.len());
        for (line, _) in lines {
            let (x, y) = (self.left, self.y + 14.0);
            let _ = writeln!(
                self.body,
                "<text class=\"legend\" x=\"{x:.1}\" y=\"{y:.1}\">{line}</text>"
            );
            self.y += 17.0;
        }
        #[allow(clippy::cast_precision_loss)] // three lines at most
        let kept_free = least as f64 * 17.0;
        self.y += 5.0 + kept_free;
    }

    fn limits(&self, name: &str) -> Limits {
        let stream = self.scenario.callers.iter().find(|known| known.name == name);
        let name = match stream.map(|stream| &stream.calls[..]) {
            Some([only]) => Some(only.as_str()),
            // One that calls several has no limit of its own.
            _ => None,
        };
        let dependency = name.and_then(|name| self.policy?.dependency(name));
        let instances = f64::from(self.scenario.instances);
        Limits {
            slots: dependency
                .and_then(|dependency| dependency.bulkhead.as_ref())
                .map(|bulkhead| f64::from(bulkhead.max_concurrent) * instances),
            timeout_ms: dependency
                .and_then(|dependency| dependency.timeout)
                .map(|timeout| timeout.as_secs_f64() * 1000.0),
        }
    }
}

/// An entry of the legend and its length in letters; none for what did not happen.
fn legend_item(class: &str, count: u64, word: &str, why: &str) -> Option<(String, usize)> {
    if count == 0 {
        return None;
    }
    let count = grouped(count);
    let length = 2 + count.len() + 1 + word.len() + why.len();
    let why = match why {
        "" => String::new(),
        why => format!("<tspan class=\"why\" dx=\"4\">{why}</tspan>"),
    };
    let item = format!("<tspan class=\"{class}\">■</tspan><tspan dx=\"3\">{count} {word}</tspan>{why}");
    Some((item, length))
}

/// What the policy allows a caller.
struct Limits {
    slots: Option<f64>,
    timeout_ms: Option<f64>,
}

/// The reasons of rejections, the most frequent first.
fn reasons(summary: &Summary) -> String {
    let mut reasons: Vec<(&str, u64)> = summary
        .counts
        .rejected
        .iter()
        .map(|(reason, count)| (*reason, *count))
        .filter(|(_, count)| *count > 0)
        .collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told: Vec<&str> = reasons.iter().take(2).map(|(reason, _)| *reason).collect();
    format!("({}{})", told.join(", "), if reasons.len() > 2 { ", …" } else { "" })
}
