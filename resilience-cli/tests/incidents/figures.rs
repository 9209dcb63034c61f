//! Where a figure stands in a report, and whether it is right.
//!
//! A path is `/`-separated: `summary/CALLER/FIGURE`, `phases/PHASE/CALLER/FIGURE`, `look/AT/DEPENDENCY/FIGURE`,
//! `transition/N/FIGURE`, or a word for what has to be worked out first.

use serde_json::{Value, json};

use crate::report::{Report, list, number, rejected};

pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) run: String,
    pub(crate) name: String,
    path: Vec<String>,
    pub(crate) value: Value,
    absolute: Option<f64>,
    relative: Option<f64>,
}

impl Figure {
    pub(crate) fn read(line: &str) -> Self {
        let [id, run, name, path, value, absolute, relative] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("seven columns: {line}");
        };
        Self {
            id: id.into(),
            run: run.into(),
            name: name.into(),
            path: path.split('/').map(str::to_owned).collect(),
            value: serde_json::from_str(value).unwrap(),
            absolute: absolute.parse().ok(),
            relative: relative.parse().ok(),
        }
    }

    pub(crate) fn find(&self, reports: &[Report]) -> Value {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        if path[0] == "blast" {
            return blast(reports, path[1]);
        }
        let [Report(report)] = reports else {
            panic!("one report")
        };
        find(report, &path)
    }

    pub(crate) fn accepts(&self, found: &Value) -> bool {
        self.close(&self.value, found)
    }

    fn close(&self, wanted: &Value, found: &Value) -> bool {
        match (wanted, found) {
            (Value::Array(wanted), Value::Array(found)) => {
                wanted.len() == found.len()
                    && wanted
                        .iter()
                        .zip(found)
                        .all(|(wanted, found)| self.close(wanted, found))
            }
            (Value::Number(wanted), Value::Number(found)) => {
                let (wanted, found) = (wanted.as_f64().unwrap(), found.as_f64().unwrap());
                let off = (wanted - found).abs() - 1e-9;
                self.absolute.is_some_and(|most| off <= most)
                    || self.relative.is_some_and(|most| off <= most * wanted.abs())
            }
            _ => wanted == found,
        }
    }
}

pub(crate) fn find(report: &Value, path: &[&str]) -> Value {
    match path {
        ["summary" | "phases", rest @ ..] if rest.last() == Some(&"rejected") => {
            json!(rejected(whole(report, &path[..path.len() - 1])))
        }
        ["summary" | "phases", ..] => whole(report, path).clone(),
        ["look", at, dependency, figure] => look(report, at, dependency)[*figure].clone(),
        ["told", at, dependency] => {
            let told = &look(report, at, dependency)["retry_after_s"];
            told.as_f64().map_or(Value::Null, |told| json!(told.ceil().max(1.0)))
        }
        ["half", rest @ ..] => json!(float(&find(report, rest)) / 2.0),
        ["double", rest @ ..] => json!(float(&find(report, rest)) * 2.0),
        ["transition", "last", figure] => list(&report["transitions"]).last().unwrap()[*figure].clone(),
        // In seconds: on average, and together.
        ["mean", rest @ ..] => json!(float(&whole(report, rest)["mean_ms"]) / 1000.0),
        ["sum", rest @ ..] => {
            let counts = whole(report, rest);
            let ended = ["ok", "business", "failed", "timed_out", "left"].map(|name| number(&counts[name]));
            let ended = ended.iter().sum::<u64>() + rejected(counts);
            #[allow(clippy::cast_precision_loss)] // some dozens
            let ended = ended as f64;
            json!(float(&counts["mean_ms"]) * ended / 1000.0)
        }
        ["because", reasons, rest @ ..] => {
            let counts = whole(report, rest)["rejected"].as_object().unwrap();
            let because = reasons.split('+').filter_map(|reason| counts.get(reason));
            json!(because.map(number).sum::<u64>())
        }
        ["no slot", rest @ ..] => match find(report, rest).as_str() {
            Some("wait_timed_out" | "bulkhead_full") => json!("full"),
            other => json!(other),
        },
        ["opens", instance] => json!(openings(report, instance).len()),
        ["cause of opening", at] => {
            let opened = &openings(report, "0")[at.parse::<usize>().unwrap()];
            json!(opened["cause"].as_str().unwrap().replace('_', " "))
        }
        ["alarm", of, after] => alarm(report, of, after.parse().unwrap()),
        ["mean gap of openings"] => json!(mean_gap(&openings(report, "0"))),
        ["states", rest @ ..] => {
            let ended = list(&whole(report, rest)["ended"]);
            ended.iter().map(|ended| ended["state"].clone()).collect()
        }
        ["share", of, rest @ ..] => {
            let counts = whole(report, rest);
            let part = if *of == "rejected" {
                json!(rejected(counts))
            } else {
                counts[*of].clone()
            };
            json!(float(&part) / float(&counts["arrived"]))
        }
        // Of the calls that would have worked, four of five.
        ["share of the good refused", rest @ ..] => {
            let counts = whole(report, rest);
            json!(float(&counts["refused_working"]) / (float(&counts["arrived"]) * 0.8))
        }
        ["a second of", seconds, rest @ ..] => json!(float(&find(report, rest)) / seconds.parse::<f64>().unwrap()),
        ["ratio", left, right] => {
            let of = |path: &str| float(&find(report, &path.split(';').collect::<Vec<_>>()));
            json!(of(left) / of(right))
        }
        ["second", t, caller, figure] => second(report, t.parse().unwrap(), caller)[*figure].clone(),
        ["failing percent"] => {
            let all = |name: &str| callers(report).map(|(_, counts)| float(&counts[name])).sum::<f64>();
            json!(100.0 * all("failed") / all("arrived"))
        }
        ["rejected of all but", caller] => {
            json!(
                callers(report)
                    .filter(|(name, _)| name != caller)
                    .map(|(_, counts)| rejected(counts))
                    .sum::<u64>()
            )
        }
        ["longest or oldest", rest @ ..] => {
            let counts = whole(report, rest);
            json!(worst(counts))
        }
        ["most probes in a second"] => {
            let probes = list(&report["seconds"]).iter().map(|second| number(&second["probes"]));
            json!(probes.max().unwrap())
        }
        ["ticks"] => ticks(report),
        ["slots"] => callers(report)
            .map(|(name, counts)| {
                let word = if rejected(counts) > 0 { "refused" } else { "admitted" };
                json!([name, word])
            })
            .collect(),
        ["state and opening"] => {
            let opened = openings(report, "0")
                .first()
                .map_or(Value::Null, |made| made["at"].clone());
            json!([list(&report["looks"])[0]["state"], opened])
        }
        other => panic!("no figure is called {other:?}"),
    }
}

/// A value of a summary or a phase; a number in a path is a place in a list.
fn whole<'r>(report: &'r Value, path: &[&str]) -> &'r Value {
    let (start, rest) = match path {
        ["summary", caller, rest @ ..] => (&report["summary"][*caller], rest),
        ["phases", name, caller, rest @ ..] => {
            let of = |phase: &&Value| phase["name"] == **name && phase["caller"] == **caller;
            (list(&report["phases"]).iter().find(of).unwrap(), rest)
        }
        other => panic!("{other:?}"),
    };
    assert!(start.is_object(), "{path:?}");
    rest.iter().fold(start, |value, key| match key.parse::<usize>() {
        Ok(at) => value.get(at).unwrap_or(&Value::Null),
        Err(_) => value.get(*key).unwrap_or_else(|| panic!("{path:?}")),
    })
}

fn look<'r>(report: &'r Value, at: &str, dependency: &str) -> &'r Value {
    let at: f64 = at.parse().unwrap();
    let looks = list(&report["looks"]);
    let here = looks.iter().find(|look| {
        (float(&look["at"]) - at).abs() < 1e-9 && look["dependency"] == dependency && look["instance"] == 0
    });
    here.unwrap_or_else(|| panic!("no look at {at} s"))
}

fn openings<'r>(report: &'r Value, instance: &str) -> Vec<&'r Value> {
    let instance: u64 = instance.parse().unwrap();
    let of = |made: &&Value| made["to"] == "open" && made["instance"] == instance;
    list(&report["transitions"]).iter().filter(of).collect()
}

fn mean_gap(openings: &[&Value]) -> f64 {
    let at: Vec<f64> = openings.iter().map(|made| float(&made["at"])).collect();
    #[allow(clippy::cast_precision_loss)] // some hundreds
    let gaps = (at.len() - 1) as f64;
    (at.last().unwrap() - at[0]) / gaps
}

/// When an alarm on an age first fires: that of the outage, which half-open does not end, or that of the state, which
/// begins anew with each change.
fn alarm(report: &Value, of: &str, after: f64) -> Value {
    let mut since: Option<f64> = None;
    for made in list(&report["transitions"]) {
        let at = float(&made["at"]);
        if since.is_some_and(|since| at - since >= after) {
            break;
        }
        match (of, made["to"].as_str().unwrap()) {
            (_, "closed") => since = None,
            ("outage", _) => since = since.or(Some(at)),
            _ => since = Some(at),
        }
    }
    let end = float(&list(&report["seconds"]).last().unwrap()["t"]);
    let fires = since.map(|since| since + after).filter(|fires| *fires <= end);
    fires.map_or(Value::Null, |fires| json!(fires))
}

fn callers(report: &Value) -> impl Iterator<Item = (&String, &Value)> {
    report["summary"].as_object().unwrap().iter()
}

fn second<'r>(report: &'r Value, t: f64, caller: &str) -> &'r Value {
    let of = |second: &&Value| (float(&second["t"]) - t).abs() < 1e-9 && second["caller"] == caller;
    list(&report["seconds"]).iter().find(of).unwrap()
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn worst(counts: &Value) -> f64 {
    let of = |name: &str| counts[name].as_f64().unwrap_or(0.0);
    of("longest_ok_s").max(of("oldest_s"))
}

/// Tick, state after it, what was shown, why, and whether the far side was asked.
fn ticks(report: &Value) -> Value {
    let row = |look: &Value| {
        let tick = float(&look["at"]).floor();
        let second = second(report, tick, "avatar");
        let why = match (number(&second["timed_out"]), rejected(second)) {
            (0, 0) => Value::Null,
            (0, _) => json!("open"),
            _ => json!("timeout"),
        };
        let shown = if number(&second["ok"]) > 0 {
            "avatar"
        } else {
            "placeholder"
        };
        json!([tick, look["state"], shown, why, number(&second["reached"]) > 0])
    };
    list(&report["looks"]).iter().map(row).collect()
}

/// Who is late, more than a second, for each who may be guilty.
fn blast(reports: &[Report], what: &str) -> Value {
    let late = |report: &Report| -> Vec<String> {
        let late = callers(&report.0).filter(|(_, counts)| worst(counts) > 1.0);
        late.map(|(name, _)| name.clone()).collect()
    };
    let late: Vec<Vec<String>> = reports.iter().map(late).collect();
    let innocent =
        |(guilty, late): (usize, &Vec<String>)| late.iter().filter(|name| **name != format!("farm {guilty}")).count();
    match what {
        "most" => json!(late.iter().map(Vec::len).max().unwrap()),
        "innocent" => json!(late.iter().enumerate().map(innocent).max().unwrap()),
        _ => late.iter().map(|late| json!(late.len())).collect(),
    }
}
