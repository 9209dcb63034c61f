//! The shapes of a plot: frame, areas, lines and marks.

use std::fmt::Write as _;

use super::bins::{Bin, KINDS};
use super::scale;

/// Where a plot stands and what its axes reach to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) top: f64,
    pub(super) height: f64,
    pub(super) seconds: f64,
    pub(super) most: f64,
}

impl Frame {
    pub(super) fn x(&self, second: f64) -> f64 {
        self.left + self.width * (second / self.seconds).clamp(0.0, 1.0)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - (value / self.most).clamp(0.0, 1.0))
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// The lines behind a plot, with what they stand for.
pub(super) fn grid(out: &mut String, frame: &Frame, what: &str, written: fn(f64) -> String) {
    for part in [0.0, 0.5, 1.0] {
        let value = frame.most * part;
        let y = frame.y(value);
        let right = frame.left + frame.width;
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\"/>",
            frame.left
        );
        if part > 0.0 {
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                frame.left - 6.0,
                y + 4.0,
                written(value)
            );
        }
    }
    let _ = writeln!(
        out,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{what}</text>",
        frame.left - 6.0,
        frame.bottom() + 1.0
    );
}

/// What calls came to, one upon the other.
pub(super) fn stack(out: &mut String, frame: &Frame, bins: &[Bin], value: impl Fn(&Bin, usize) -> f64) {
    let mut below = vec![0.0; bins.len()];
    for (kind, about) in KINDS.iter().enumerate() {
        let above: Vec<f64> = bins
            .iter()
            .zip(&below)
            .map(|(bin, below)| below + value(bin, kind))
            .collect();
        if above.iter().zip(&below).any(|(above, below)| above > below) {
            between(out, frame, about.class, &below, &above);
        }
        below = above;
    }
}

/// From the ground up.
pub(super) fn area(out: &mut String, frame: &Frame, class: &str, bins: &[Bin], value: impl Fn(&Bin) -> f64) {
    let above: Vec<f64> = bins.iter().map(value).collect();
    if above.iter().any(|value| *value > 0.0) {
        between(out, frame, class, &vec![0.0; bins.len()], &above);
    }
}

/// Steps, because a row holds for its whole length; each stretch in which there is anything is closed by itself.
fn between(out: &mut String, frame: &Frame, class: &str, below: &[f64], above: &[f64]) {
    let _ = write!(out, "<path class=\"{class}\" d=\"");
    let x = |at: usize| frame.x(share(at, above.len()) * frame.seconds);
    let mut at = 0;
    while at < above.len() {
        if above[at] <= below[at] {
            at += 1;
            continue;
        }
        let end = (at..above.len())
            .find(|end| above[*end] <= below[*end])
            .unwrap_or(above.len());
        let _ = write!(out, "M{:.1} {:.1}", x(at), frame.y(below[at]));
        for (part, top) in above.iter().enumerate().take(end).skip(at) {
            let _ = write!(out, "V{:.1}H{:.1}", frame.y(*top), x(part + 1));
        }
        for part in (at..end).rev() {
            let _ = write!(out, "V{:.1}H{:.1}", frame.y(below[part]), x(part));
        }
        out.push('Z');
        at = end;
    }
    out.push_str("\"/>\n");
}

/// A line of steps, with gaps where there is nothing.
pub(super) fn line(out: &mut String, frame: &Frame, class: &str, bins: &[Bin], value: impl Fn(&Bin) -> Option<f64>) {
    let _ = write!(out, "<path class=\"line {class}\" d=\"");
    let mut drawing = false;
    for (at, bin) in bins.iter().enumerate() {
        let (from, to) = (
            frame.x(share(at, bins.len()) * frame.seconds),
            frame.x(share(at + 1, bins.len()) * frame.seconds),
        );
        match value(bin) {
            Some(value) => {
                let y = frame.y(value);
                let _ = if drawing {
                    write!(out, "V{y:.1}H{to:.1}")
                } else {
                    write!(out, "M{from:.1} {y:.1}H{to:.1}")
                };
                drawing = true;
            }
            None => drawing = false,
        }
    }
    out.push_str("\"/>\n");
}

/// Which of the two lines is which.
pub(super) fn percentiles(out: &mut String, frame: &Frame) {
    let _ = writeln!(
        out,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\"><tspan class=\"p99-name\">p99</tspan>\
         <tspan class=\"p50-name\" dx=\"6\">p50</tspan><tspan dx=\"6\">of all calls that ended</tspan></text>",
        frame.left + frame.width - 4.0,
        frame.top + 12.0
    );
}

/// What may not be passed.
pub(super) fn limit(out: &mut String, frame: &Frame, value: f64, name: &str) {
    let y = frame.y(value);
    let right = frame.left + frame.width;
    let _ = writeln!(
        out,
        "<line class=\"limit\" x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\"/>\
         <text class=\"tick limit-name\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
        frame.left,
        frame.left + 6.0,
        y - 4.0
    );
}

/// The axis of time below all plots. Gives its height.
pub(super) fn axis(out: &mut String, frame: &Frame) -> f64 {
    let step = scale::time_step(frame.seconds, frame.width / 70.0);
    let mut at = 0.0;
    while at <= frame.seconds * (1.0 + 1e-9) {
        let x = frame.x(at);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            frame.top,
            frame.top + 5.0,
            frame.top + 18.0,
            scale::time(at, step)
        );
        at += step;
    }
    out.push('\n');
    24.0
}

#[allow(clippy::cast_precision_loss)] // a few hundred bins
fn share(at: usize, of: usize) -> f64 {
    at as f64 / of.max(1) as f64
}
