//! A run as a picture: what became of the calls, how full it was, how long it took, and what the breakers did, on one
//! axis of time. SVG without fonts, scripts or anything from outside, to be read in light and in dark.

mod bands;
mod bins;
mod column;
mod plot;
mod scale;
mod style;

use std::fmt::Write as _;

use resilience_policy::Policy;

use super::output::Run;
use super::report::Summary;
use super::scenario::Scenario;
use bins::KINDS;
use column::Column;
use scale::grouped;

/// Around a column of plots.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
/// Draws all runs, one column each.
pub(super) fn draw(scenario: &Scenario, runs: &[Run], policies: &[Policy]) -> String {
    let plot = match runs.len() {
        0 | 1 => 900.0,
        2 => 560.0,
        _ => 420.0,
    };
    let column = LEFT + plot + RIGHT;
    let mut body = String::new();
    let mut bottom: f64 = 0.0;
    let scales = Scales::of(runs);
    for (at, run) in runs.iter().enumerate() {
        #[allow(clippy::cast_precision_loss)] // a handful
        let left = column * at as f64;
        let drawn = Column {
            scenario,
            run,
            policy: policies.get(at),
            scales: &scales,
            beside: runs.len().min(3),
            left: left + LEFT,
            width: plot,
            y: 78.0,
            body: String::new(),
        }
        .draw();
        bottom = bottom.max(drawn.y);
        body.push_str(&drawn.body);
    }
    #[allow(clippy::cast_precision_loss)] // a handful
    let width = column * runs.len().max(1) as f64;
    let height = bottom + 12.0;
    let about = scenario.about.as_deref().unwrap_or_default();
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">{name}</title>\n\
         <desc id=\"d\">{about} {described}</desc>\n{style}\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"name\" x=\"{LEFT}\" y=\"30\">{name}</text>\n<text class=\"about\" x=\"{LEFT}\" y=\"50\">{about}</text>\n\
         {body}</svg>\n",
        name = escaped(&scenario.name),
        about = escaped(about),
        described = escaped(&described(runs)),
        style = style::STYLE,
    );
    svg
}

/// The picture in words, for those who cannot see it.
fn described(runs: &[Run]) -> String {
    let mut words = String::new();
    for (at, run) in runs.iter().enumerate() {
        let _ = write!(words, "{}: ", if at == 0 { "First" } else { "Beside it" });
        for (caller, summary) in &run.report.summary {
            let _ = write!(words, "{caller}: {}. ", totals(summary).join(", "));
        }
    }
    words.trim_end().to_owned()
}

fn totals(summary: &Summary) -> Vec<String> {
    KINDS
        .iter()
        .filter_map(|kind| {
            let count = (kind.count)(&summary.counts);
            (count > 0).then(|| format!("{} {}", grouped(count), kind.word))
        })
        .collect()
}

/// The highest of each kind of plot over all runs: what stands side by side is drawn to one scale.
struct Scales {
    /// By caller: calls a second, calls at once, milliseconds.
    callers: Vec<(String, [f64; 3])>,
}

impl Scales {
    fn of(runs: &[Run]) -> Self {
        let mut callers: Vec<(String, [f64; 3])> = Vec::new();
        for run in runs {
            for (name, kept) in &run.report.seconds.callers {
                let (bins, seconds) = bins::all(kept, &run.report.seconds);
                let mut most = [0.0_f64; 3];
                for bin in &bins {
                    most[0] = most[0].max(bin.ended_and_arrived() / seconds);
                    most[1] = most[1].max(bin.held());
                    most[2] = most[2].max(bin.p99.unwrap_or(0.0));
                }
                match callers.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => (0..3).for_each(|at| known[at] = known[at].max(most[at])),
                    None => callers.push((name.clone(), most)),
                }
            }
        }
        Self { callers }
    }

    fn of_caller(&self, name: &str) -> [f64; 3] {
        let found = self.callers.iter().find(|(known, _)| known == name);
        found.map_or([1.0; 3], |(_, most)| *most)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
