//! The table as bars, readable on light and on dark ground.

use std::fmt::Write as _;

use crate::machine::Machine;
use crate::measure::{Group, Shared};
use crate::stats::figure;

/// Groups that are drawn, in this order.
const DRAWN: &[&str] = &[
    "Breaker alone, closed",
    "Breaker alone, closed, slow calls watched",
    "Rejection when open",
    "Bulkhead alone",
    "Breaker + bulkhead + timeout",
];

const WIDTH: f64 = 920.0;
const LEFT: f64 = 400.0;
const ROOM: f64 = 430.0;
const ROW: f64 = 20.0;

/// One scale for all single-threaded groups; what is longer is cut, and its number says so.
const FULL: f64 = 160.0;
const FULL_SHARED: f64 = 480.0;

struct Bars {
    title: String,
    full: f64,
    calls: Vec<(String, f64)>,
}

/// The picture.
pub fn svg(machine: &Machine, groups: &[Group], shared: &[Shared]) -> String {
    let mut all: Vec<_> = DRAWN
        .iter()
        .filter_map(|title| groups.iter().find(|group| group.title == *title))
        .map(one)
        .collect();
    all.push(two(shared));

    let mut body = String::new();
    let mut y = 44.0;
    for bars in &all {
        y = draw(&mut body, bars, y);
    }
    let foot = format!("{}; {}; {}", machine.processor, machine.compiler, machine.date);
    let height = y + 24.0;
    let mut text = String::new();
    write!(
        text,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t">
<title id="t">Nanoseconds a call, ours beside the peers; shorter is better</title>
<style>
text {{ font: 13px system-ui, -apple-system, sans-serif; fill: #24292f }}
.h {{ font-weight: 600 }}
.s {{ font-size: 11px; fill: #57606a }}
.o {{ fill: #0969da }}
.p {{ fill: #afb8c1 }}
.f {{ fill: #d8dee4 }}
.c {{ stroke: #ffffff; stroke-width: 3 }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #e6edf3 }}
.s {{ fill: #9198a1 }}
.o {{ fill: #4493f8 }}
.p {{ fill: #656c76 }}
.f {{ fill: #3d444d }}
.c {{ stroke: #0d1117 }}
}}
</style>
<text class="h" x="8" y="22">Nanoseconds a call with a ready future, p10; shorter is better</text>
{body}<text class="s" x="8" y="{}">{}</text>
</svg>
"#,
        height - 10.0,
        escape(&foot),
    )
    .expect("a string takes everything");
    text
}

fn one(group: &Group) -> Bars {
    let calls = group
        .rows
        .iter()
        .map(|row| (row.name.clone(), row.samples.p10()))
        .collect();
    Bars {
        title: group.title.to_owned(),
        full: FULL,
        calls,
    }
}

fn two(shared: &[Shared]) -> Bars {
    let calls = shared
        .iter()
        .map(|row| (row.name.clone(), row.together.median()))
        .collect();
    Bars {
        title: "Two threads on one object (median; another scale)".to_owned(),
        full: FULL_SHARED,
        calls,
    }
}

fn draw(body: &mut String, bars: &Bars, top: f64) -> f64 {
    let mut y = top + 14.0;
    line(
        body,
        &format!(r#"<text class="h" x="8" y="{y}">{}</text>"#, escape(&bars.title)),
    );
    for (name, nanos) in bars.calls.iter().filter(|(_, nanos)| nanos.is_finite()) {
        y += ROW;
        let class = match name {
            name if name.starts_with("ours") => "o",
            name if name.starts_with("floor") => "f",
            _ => "p",
        };
        let (long, cut) = ((nanos / bars.full * ROOM).clamp(1.0, ROOM), *nanos > bars.full);
        line(
            body,
            &format!(
                r#"<text x="{}" y="{y}" text-anchor="end">{}</text>"#,
                LEFT - 8.0,
                escape(name)
            ),
        );
        line(
            body,
            &format!(
                r#"<rect class="{class}" x="{LEFT}" y="{}" width="{long:.1}" height="13" rx="2"/>"#,
                y - 11.0
            ),
        );
        if cut {
            let x = LEFT + ROOM - 24.0;
            line(
                body,
                &format!(r#"<path class="c" d="M{} {}l-8 19"/>"#, x + 8.0, y - 14.0),
            );
        }
        line(
            body,
            &format!(
                r#"<text x="{:.1}" y="{y}">{}</text>"#,
                LEFT + long + 6.0,
                figure(*nanos)
            ),
        );
    }
    y + 18.0
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes everything");
}
