//! The worst case as a picture: a bar for each stretch of a call, on one scale for all dependencies.

use std::fmt::Write as _;
use std::time::Duration;

use resilience_policy::{Dependency, format_duration as time};

use super::worst_case::{Doing, Line, Moment, line};

const WIDTH: f64 = 860.0;
/// Where the bars begin, and how far they may reach.
const LEFT: f64 = 250.0;
const RIGHT: f64 = 830.0;
const ROW: f64 = 24.0;
const BAR: f64 = 14.0;

/// Readable on light and on dark ground, without fonts or anything else from outside.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.name{font-weight:600;font-size:14px}.dim{fill:#6e7781}\
.end{text-anchor:end}.mid{text-anchor:middle}.ground{fill:#fff}.grid{stroke:#d0d7de}.deadline{stroke:#cf222e;stroke-dasharray:4 3;stroke-width:1.5}\
.waiting{fill:#bf8700}.attempt{fill:#0969da}.pause{fill:#afb8c1}.fallback{fill:#1a7f37}.late{fill:#cf222e}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#8d96a0}.ground{fill:#0d1117}.grid{stroke:#30363d}.deadline{stroke:#f85149}\
.waiting{fill:#d29922}.attempt{fill:#4493f8}.pause{fill:#57606a}.fallback{fill:#3fb950}.late{fill:#f85149}}";

/// One after the other, from top to bottom.
pub(super) fn svg(dependencies: &[&Dependency]) -> String {
    let lines: Vec<(&Dependency, Line)> = dependencies.iter().map(|one| (*one, line(one))).collect();
    let longest = lines.iter().map(|(_, line)| reaches(line)).max().unwrap_or_default();
    let mut picture = Picture {
        scale: Scale::up_to(longest),
        y: 16.0,
        body: String::new(),
    };
    for (dependency, line) in &lines {
        picture.dependency(dependency, line);
    }
    let height = picture.y + 8.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>how long a call takes at worst</title>\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}</svg>\n",
        picture.body
    )
}

/// The last moment that has to be on the picture.
fn reaches(line: &Line) -> Duration {
    let ends = line.ends.unwrap_or_default() + line.fallback.unwrap_or_default();
    ends.max(line.deadline.unwrap_or_default())
}

/// Time to place, with marks at round moments.
struct Scale {
    end: f64,
    mark: f64,
}

impl Scale {
    fn up_to(longest: Duration) -> Self {
        let longest = longest.as_secs_f64().max(0.001);
        // A mark at 1, 2 or 5 of some power of ten, so that about five fit.
        let rough = longest / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let mark = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|step| step * power)
            .find(|step| *step >= rough);
        let mark = mark.unwrap_or(rough);
        Self {
            end: (longest / mark).ceil() * mark,
            mark,
        }
    }

    fn x(&self, at: Duration) -> f64 {
        LEFT + (RIGHT - LEFT) * (at.as_secs_f64() / self.end).min(1.0)
    }

    /// The moments of the marks.
    fn marks(&self) -> impl Iterator<Item = Duration> {
        (0..=20)
            .map(|count| f64::from(count) * self.mark)
            .take_while(|at| *at <= self.end * 1.000_001)
            .map(rounded)
    }
}

/// To the microsecond, so that 0.1 + 0.2 is written as people do.
fn rounded(seconds: f64) -> Duration {
    Duration::from_micros(
        Duration::from_secs_f64(seconds + 0.000_000_5)
            .as_micros()
            .try_into()
            .unwrap_or(u64::MAX),
    )
}

struct Picture {
    scale: Scale,
    y: f64,
    body: String,
}

impl Picture {
    fn dependency(&mut self, dependency: &Dependency, line: &Line) {
        let about = dependency
            .about
            .as_ref()
            .map_or(String::new(), |about| format!(": {about}"));
        self.text("name", 16.0, self.y + 12.0, &format!("{}{about}", dependency.name));
        self.y += 28.0;
        let rows = line.moments.len() + usize::from(line.fallback.is_some() && line.ends.is_some());
        // Behind the bars.
        self.grid(
            line.deadline,
            self.y + ROW * f64::from(u32::try_from(rows).unwrap_or(u32::MAX)),
        );
        for moment in &line.moments {
            match moment {
                Moment::Step {
                    doing,
                    what,
                    from,
                    takes,
                } => {
                    let class = match doing {
                        Doing::Waiting => "waiting",
                        Doing::Attempt => "attempt",
                        Doing::Pause => "pause",
                    };
                    self.bar(class, what, *from, *takes);
                }
                Moment::Remark { what, at } => self.remark(what, *at),
            }
        }
        if let (Some(more), Some(ends)) = (line.fallback, line.ends) {
            self.bar("fallback", &format!("a fallback ({})", time(more)), ends, more);
        }
        self.y += 36.0;
    }

    /// From here to the bottom of the rows.
    fn grid(&mut self, deadline: Option<Duration>, bottom: f64) {
        let top = self.y;
        for at in self.scale.marks().collect::<Vec<_>>() {
            let x = self.scale.x(at);
            let _ = writeln!(self.body, "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/>");
            self.text("dim mid", x, bottom + 14.0, &time(at));
        }
        if let Some(deadline) = deadline {
            let x = self.scale.x(deadline);
            let _ = writeln!(
                self.body,
                "<path class=\"deadline\" d=\"M{x:.1} {}V{bottom}\"/>",
                top - 4.0
            );
            self.text("dim end", x - 6.0, top - 6.0, &format!("deadline {}", time(deadline)));
        }
    }

    fn bar(&mut self, class: &str, what: &str, from: Duration, takes: Duration) {
        let (x, end) = (self.scale.x(from), self.scale.x(from + takes));
        self.text("end", LEFT - 12.0, self.y + 12.0, what);
        // Even what takes no time can be seen.
        let (y, width) = (self.y + 1.0, (end - x).max(2.0));
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"3\"/>"
        );
        self.y += ROW;
    }

    fn remark(&mut self, what: &str, at: Duration) {
        let class = if what.contains("deadline") || what.contains("no timeout") {
            "late"
        } else {
            "dim"
        };
        let x = self.scale.x(at);
        self.text("dim end", LEFT - 12.0, self.y + 12.0, &time(at));
        let _ = writeln!(
            self.body,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"/>",
            self.y + 8.0
        );
        // On the side where there is room for it.
        if x > f64::midpoint(LEFT, RIGHT) {
            self.text("dim end", x - 10.0, self.y + 12.0, what);
        } else {
            self.text("dim", x + 10.0, self.y + 12.0, what);
        }
        self.y += ROW;
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        );
    }
}
