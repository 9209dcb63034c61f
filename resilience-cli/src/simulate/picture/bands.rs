//! What the breakers did: a band each, or of many instances how many were in which state.

use std::fmt::Write as _;

use super::super::report::{Report, Transition};
use super::super::scenario::Scenario;
use super::escaped;
use super::plot::Frame;

const BAND: f64 = 16.0;
const MANY_HEIGHT: f64 = 48.0;
/// More instances than this are summed up.
const MANY: usize = 4;
/// A cause needs so much room, or it is left to the text.
const ROOM: f64 = 8.0;
const LETTER: f64 = 6.0;

/// A stretch in one state.
struct Stretch<'a> {
    from: f64,
    to: f64,
    state: &'a str,
    cause: Option<&'a str>,
}

/// Draws the bands below each other. Gives their height.
pub(super) fn draw(scenario: &Scenario, report: &Report, frame: Frame, out: &mut String) -> f64 {
    let mut dependencies: Vec<&str> = Vec::new();
    for (_, summary) in &report.summary {
        for ended in &summary.ended {
            if !dependencies.contains(&ended.dependency.as_str()) {
                dependencies.push(&ended.dependency);
            }
        }
    }
    let mut y = frame.top;
    for dependency in dependencies {
        let begins = if scenario.starts.get(dependency).is_some_and(|start| start.open) {
            "open"
        } else {
            "closed"
        };
        let instances: Vec<Vec<Stretch<'_>>> = (0..scenario.instances)
            .map(|instance| stretches(report, dependency, instance, begins, frame.seconds))
            .collect();
        legend(dependency, &frame, y, out);
        y += 20.0;
        if instances.len() > MANY {
            many(&instances, &frame, y, out);
            y += MANY_HEIGHT + 10.0;
            continue;
        }
        for (number, stretches) in instances.iter().enumerate() {
            if instances.len() > 1 {
                let _ = writeln!(
                    out,
                    "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">instance {number}</text>",
                    frame.left - 6.0,
                    y + 12.0
                );
            }
            one(stretches, &frame, y, out);
            y += BAND + 4.0;
        }
        y += 6.0;
    }
    y - frame.top
}

/// Half of those who read it have the words the wrong way round, so they are explained where there is room.
fn legend(dependency: &str, frame: &Frame, y: f64, out: &mut String) {
    let _ = write!(
        out,
        "<text class=\"legend\" x=\"{:.1}\" y=\"{:.1}\"><tspan class=\"caller\">{}</tspan>",
        frame.left,
        y + 12.0,
        escaped(dependency)
    );
    for (class, word, explained) in [
        ("closed", "closed", " (calls flow)"),
        ("half_open", "half-open", " (probes)"),
        ("open", "open", " (calls refused)"),
    ] {
        let explained = if frame.width > 500.0 { explained } else { "" };
        let _ = write!(
            out,
            "<tspan dx=\"10\" class=\"{class}\">■</tspan><tspan dx=\"3\">{word}{explained}</tspan>"
        );
    }
    out.push_str("</text>\n");
}

fn stretches<'a>(
    report: &'a Report,
    dependency: &str,
    instance: u32,
    begins: &'static str,
    seconds: f64,
) -> Vec<Stretch<'a>> {
    let is_its = |made: &&Transition| made.dependency == dependency && made.instance == instance;
    let mut all: Vec<Stretch<'a>> = vec![Stretch {
        from: 0.0,
        to: seconds,
        state: begins,
        cause: None,
    }];
    for made in report.transitions.iter().filter(is_its) {
        if let Some(last) = all.last_mut() {
            last.to = made.at;
        }
        all.push(Stretch {
            from: made.at,
            to: seconds,
            state: &made.to,
            cause: Some(&made.cause),
        });
    }
    all
}

fn one(stretches: &[Stretch<'_>], frame: &Frame, y: f64, out: &mut String) {
    for stretch in merged(stretches, frame) {
        let (from, to) = (frame.x(stretch.from), frame.x(stretch.to));
        let _ = write!(
            out,
            "<rect class=\"{}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAND}\"/>",
            stretch.state,
            to - from
        );
        #[allow(clippy::cast_precision_loss)] // a word
        let room = stretch.cause.map_or(0.0, |cause| cause.len() as f64 * LETTER + ROOM);
        if let Some(cause) = stretch.cause.filter(|_| to - from >= room && stretch.state != "closed") {
            let _ = write!(
                out,
                "<text class=\"cause\" x=\"{:.1}\" y=\"{:.1}\">{cause}</text>",
                from + 4.0,
                y + 12.0
            );
        }
    }
    out.push('\n');
}

/// A week of probes is more stretches than there are pixels: what is narrower than half a pixel joins the one before,
/// and an opening is never hidden by what is beside it.
fn merged<'a>(stretches: &[Stretch<'a>], frame: &Frame) -> Vec<Stretch<'a>> {
    let narrow = frame.seconds / frame.width / 2.0;
    let mut kept: Vec<Stretch<'a>> = Vec::new();
    for stretch in stretches {
        let made = Stretch { ..*stretch };
        match kept.last_mut() {
            Some(last) if last.state == made.state => last.to = made.to,
            Some(last) if made.to - made.from < narrow && made.state != "open" => last.to = made.to,
            Some(last) if last.to - last.from < narrow && last.state != "open" => {
                last.to = made.to;
                last.state = made.state;
                last.cause = made.cause;
            }
            _ => kept.push(made),
        }
    }
    kept
}

fn state_at<'a>(stretches: &[Stretch<'a>], at: f64) -> &'a str {
    let found = stretches.iter().rev().find(|stretch| stretch.from <= at);
    found.map_or("closed", |stretch| stretch.state)
}

/// How many instances are in which state, over time.
fn many(instances: &[Vec<Stretch<'_>>], frame: &Frame, y: f64, out: &mut String) {
    #[allow(clippy::cast_precision_loss)] // instances are few
    let all = instances.len() as f64;
    let columns: u32 = 300;
    let _ = write!(
        out,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{all:.0}</text>\
         <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">instances</text>",
        frame.left - 6.0,
        y + 9.0,
        frame.left - 6.0,
        y + MANY_HEIGHT
    );
    let mut paths = [String::new(), String::new(), String::new()];
    for column in 0..columns {
        let at = (f64::from(column) + 0.5) / f64::from(columns) * frame.seconds;
        let states: Vec<&str> = instances.iter().map(|stretches| state_at(stretches, at)).collect();
        let (left, right) = (
            frame.left + frame.width * f64::from(column) / f64::from(columns),
            frame.left + frame.width * f64::from(column + 1) / f64::from(columns),
        );
        let mut low = y + MANY_HEIGHT;
        for (path, state) in paths.iter_mut().zip(["open", "half_open", "closed"]) {
            #[allow(clippy::cast_precision_loss)] // instances are few
            let share = states.iter().filter(|known| **known == state).count() as f64 / all;
            if share > 0.0 {
                let high = low - MANY_HEIGHT * share;
                let _ = write!(path, "M{left:.1} {low:.1}V{high:.1}H{right:.1}V{low:.1}Z");
                low = high;
            }
        }
    }
    for (path, state) in paths.iter().zip(["open", "half_open", "closed"]) {
        if !path.is_empty() {
            let _ = writeln!(out, "<path class=\"{state}\" d=\"{path}\"/>");
        }
    }
}
