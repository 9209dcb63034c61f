//! `suggest`, from every format of recorded traffic to numbers that the loader and the lints accept.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use resilience_policy::{Policy, lint};
use serde_json::Value;
use tempfile::TempDir;

struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A trace beside a policy that knows only `payrail`.
    fn suggest(&self, name: &str, trace: &str, more: &[&str]) -> Value {
        let policy = self.file("resilience.toml", BARE);
        self.suggest_to(&policy, name, trace, more)
    }

    fn suggest_to(&self, policy: &Path, name: &str, trace: &str, more: &[&str]) -> Value {
        let trace = self.file(name, trace);
        let mut args: Vec<OsString> = vec!["suggest".into(), trace.into()];
        args.extend(["--format".into(), "json".into(), "--policy".into(), policy.into()]);
        args.extend(more.iter().map(OsString::from));
        let (code, out, err) = run(args);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        serde_json::from_str(&out).unwrap()
    }
}

const BARE: &str = "version = 1\n\n[dependency.payrail]\nfail = \"closed\"\n";

fn run(args: Vec<OsString>) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once(OsString::from("resilience")).chain(args);
    let code = resilience_cli::run(args, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// `calls` evenly spaced calls, each with its latency and outcome.
fn trace(calls: u32, rate: f64, each: impl Fn(u32) -> (f64, &'static str)) -> String {
    let mut text = String::from("time,latency,outcome\n");
    for call in 0..calls {
        let (latency, outcome) = each(call);
        let _ = writeln!(text, "{:.6},{latency:.6},{outcome}", f64::from(call) / rate);
    }
    text
}

fn of<'a>(report: &'a Value, key: &str) -> Option<&'a Value> {
    let suggestions = report["dependencies"]["payrail"]["suggestions"].as_array().unwrap();
    suggestions.iter().find(|one| one["key"] == key).map(|one| &one["new"])
}

fn refused<'a>(report: &'a Value, key: &str) -> Option<&'a Value> {
    let refused = report["dependencies"]["payrail"]["refused"].as_array().unwrap();
    refused.iter().find(|one| one["key"] == key)
}

fn number(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).unwrap_or_else(|| panic!("{value:?}"))
}

#[test]
fn every_number_follows_its_rule() {
    // 100 calls/s on two instances, 100 ms each, every hundredth 200 ms; 3 in 1000 fail.
    let text = trace(6_000, 100.0, |call| match call % 1000 {
        7 | 400 | 800 => (0.02, "server"),
        rest if rest % 100 == 50 => (0.2, "success"),
        _ => (0.1, "success"),
    });
    let report = Desk::new().suggest("payrail.csv", &text, &["--instances", "2"]);
    assert_eq!(report["dependencies"]["payrail"]["verdict"], "breaker");
    // 1.5 × p99.9, which is 200 ms; four medians are longer.
    assert!((number(of(&report, "timeout")) - 0.4).abs() < 1e-9, "{report:#}");
    // Twice the median; p99 is 200 ms, and 1.2 of it are longer.
    assert!(
        (number(of(&report, "breaker.slow_after")) - 0.24).abs() < 1e-9,
        "{report:#}"
    );
    assert_eq!(of(&report, "breaker.window").unwrap(), "200 calls");
    assert!((number(of(&report, "breaker.minimum_calls")) - 20.0).abs() < 1e-9);
    assert!((number(of(&report, "breaker.cooldown")) - 5.0).abs() < 1e-9);
    // 50 calls/s × 200 ms = 10, and three times the root of it.
    assert!(
        (number(of(&report, "bulkhead.max_concurrent")) - 20.0).abs() < 1e-9,
        "{report:#}"
    );
    assert!((number(of(&report, "traffic.calls_per_second")) - 100.0).abs() < 1e-9);
    let diff = report["diff"].as_str().unwrap();
    assert!(
        diff.contains("+timeout = \"400ms\"  # 1.5 × p99.9 of 5982 answers"),
        "{diff}"
    );
    assert!(diff.contains("+[dependency.payrail.breaker]\n"), "{diff}");
}

#[test]
fn a_slow_stretch_does_not_widen_the_numbers() {
    let healthy = trace(6_000, 100.0, |_| (0.1, "success"));
    let with_incident = trace(6_000, 100.0, |call| {
        (if (2000..3000).contains(&call) { 0.9 } else { 0.1 }, "success")
    });
    let (desk, other) = (Desk::new(), Desk::new());
    let healthy = desk.suggest("payrail.csv", &healthy, &[]);
    let sick = other.suggest("payrail.csv", &with_incident, &[]);
    for key in ["timeout", "breaker.slow_after", "bulkhead.max_concurrent"] {
        assert_eq!(of(&healthy, key), of(&sick, key), "{key}");
    }
    assert_eq!(sick["dependencies"]["payrail"]["evidence"]["outages"], 1);
}

#[test]
fn thin_evidence_is_refused_number_by_number_with_what_is_needed() {
    let desk = Desk::new();
    let few = desk.suggest("payrail.csv", &trace(12, 10.0, |_| (0.1, "success")), &[]);
    assert_eq!(few["dependencies"]["payrail"]["verdict"], "thin_evidence");
    for key in [
        "timeout",
        "breaker.window",
        "breaker.cooldown",
        "bulkhead.max_concurrent",
    ] {
        let refused = refused(&few, key).unwrap_or_else(|| panic!("{key}"));
        assert!(refused["have"].as_f64() < refused["need"].as_f64(), "{refused}");
        assert!(of(&few, key).is_none(), "{key}");
    }
    assert_eq!(few["diff"], "");

    // Enough for a rate and slots; a timeout needs 299 answers.
    let some = desk.suggest("payrail.csv", &trace(298, 10.0, |_| (0.1, "success")), &[]);
    assert_eq!(
        (
            refused(&some, "timeout").unwrap()["have"].clone(),
            refused(&some, "timeout").unwrap()["need"].clone()
        ),
        (298.0.into(), 299.0.into())
    );
    assert!(of(&some, "bulkhead.max_concurrent").is_some());
    let enough = desk.suggest("payrail.csv", &trace(299, 10.0, |_| (0.1, "success")), &[]);
    assert!(of(&enough, "timeout").is_some());
}

/// Four people, an order each 50 s, eight processes.
#[test]
fn too_few_calls_for_a_breaker_are_a_bulkhead() {
    let desk = Desk::new();
    let report = desk.suggest(
        "payrail.csv",
        &trace(1_000, 0.02, |_| (1.2, "success")),
        &["--instances", "8"],
    );
    let payrail = &report["dependencies"]["payrail"];
    assert_eq!(payrail["verdict"], "bulkhead");
    let because = payrail["because"].as_str().unwrap();
    assert!(
        because.starts_with("no breaker here, a bulkhead: 0.0025 calls/s an instance are 1.5 in ten minutes"),
        "{because}"
    );
    assert!(of(&report, "bulkhead.max_concurrent").is_some() && of(&report, "timeout").is_some());
    assert!(of(&report, "breaker.window").is_none());

    // One that is there goes.
    let with = format!("{BARE}timeout = \"2s\"\nbreaker = {{ failure_rate = 0.5 }}\n");
    let policy = desk.file("with.toml", &with);
    let report = desk.suggest_to(&policy, "payrail.csv", &trace(1_000, 0.02, |_| (1.2, "success")), &[]);
    let edited = Policy::from_toml(report["toml"].as_str().unwrap()).unwrap();
    assert!(edited.dependency("payrail").unwrap().breaker.is_none());
}

#[test]
fn answers_that_are_a_no_are_nothing_for_a_breaker() {
    let text = trace(2_400, 40.0, |call| {
        if call % 3 == 0 {
            (0.4, "success")
        } else {
            (0.4, "business")
        }
    });
    let report = Desk::new().suggest("payrail.csv", &text, &[]);
    assert_eq!(report["dependencies"]["payrail"]["verdict"], "bulkhead");
    let (code, out, _) = {
        let desk = Desk::new();
        let trace = desk.file("payrail.csv", &text);
        let policy = desk.file("p.toml", BARE);
        run(vec!["suggest".into(), trace.into(), "--policy".into(), policy.into()])
    };
    assert_eq!(code, 0);
    assert!(out.contains("no breaker here, a bulkhead"), "{out}");
}

#[test]
fn a_number_that_will_do_is_kept_and_comments_stay() {
    let desk = Desk::new();
    let policy = "version = 1\n[dependency.payrail]\nfail    = \"closed\"   # signed\ntimeout = \"450ms\"    # agreed with them\n[dependency.payrail.bulkhead]\nmax_concurrent = 90       # all of it\n";
    let policy = desk.file("resilience.toml", policy);
    let report = desk.suggest_to(&policy, "payrail.csv", &trace(6_000, 100.0, |_| (0.1, "success")), &[]);
    let text = report["toml"].as_str().unwrap();
    assert!(text.contains("timeout = \"450ms\"    # agreed with them\n"), "{text}");
    assert!(text.contains("max_concurrent = 20       # all of it\n"), "{text}");
    let kept = report["dependencies"]["payrail"]["kept"].as_array().unwrap();
    assert_eq!(kept[0]["key"], "timeout");
}

/// The numbers suit each other, whatever the trace and whatever the policy says already.
#[test]
fn the_loader_takes_every_suggestion_and_no_lint_is_about_one() {
    let policies = [
        "",
        BARE,
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"30s\"\ndeadline = \"40s\"\nretry.max_attempts = 2\nbreaker = { window = \"5s\", failure_rate = 0.05, cooldown = \"1s\", cooldown_max = \"2s\", in_flight = 2 }\nbulkhead.max_concurrent = 1\n",
        "version = 1\n[template.t]\ntimeout = \"50ms\"\nbreaker.cooldown_factor = 1.0\nbreaker.slow_after = \"20ms\"\nbreaker.bad_rate = 0.6\n[dependency]\npayrail = { fail = \"closed\", inherits = \"t\" }\n",
        "version = 1\n[defaults]\nbreaker.window = \"1h\"\nbreaker.consecutive_failures = 5\nbreaker.failure_rate = false\ntimeout = \"9s\"\n[dependency.payrail]\nfail = \"closed\"\n[dependency.payrail.traffic]\ncalls_per_second = 9000.0\ninstances = 3\nlatency = \"7s\"\ncapacity = 100\n[dependency.payrail.operation.refund]\ntimeout = \"3s\"\n",
    ];
    let mut random = fastrand::Rng::with_seed(3);
    let desk = Desk::new();
    for round in 0..150 {
        let rate = 10_f64.powf(random.f64() * 4.5 - 2.0);
        let (median, spread) = (10_f64.powf(random.f64() * 4.0 - 3.5), random.f64() * 1.5);
        let failing = [0.0, 0.01, 0.2, 0.6][random.usize(..4)];
        let mut text = String::from("time,latency,outcome\n");
        for call in 0..random.u32(2..4_000) {
            let latency = median * (spread * (random.f64() + random.f64() + random.f64() - 1.5)).exp();
            let outcome = if random.f64() < failing { "timeout" } else { "success" };
            let _ = writeln!(text, "{:.6},{latency:.6},{outcome}", f64::from(call) / rate);
        }
        let policy = policies[round % policies.len()];
        let name = if round % 7 == 6 && policy.contains("refund") {
            "payrail.refund"
        } else {
            "payrail"
        };
        let instances = random.u32(1..5).to_string();
        let file = desk.file("resilience.toml", policy);
        let report = if policy.is_empty() {
            std::fs::remove_file(&file).unwrap();
            let trace = desk.file("payrail.csv", &text);
            let args = [
                "suggest".into(),
                trace.into(),
                "--format".into(),
                "json".into(),
                "--policy".into(),
            ];
            let empty = desk.file("empty.toml", "version = 1\n");
            let more = [
                empty.into(),
                "--dependency".into(),
                name.into(),
                "--instances".into(),
                instances.into(),
            ];
            let (code, out, err) = run(args.into_iter().chain(more).collect::<Vec<OsString>>());
            assert_eq!(code, 0, "{err}{out}");
            serde_json::from_str(&out).unwrap()
        } else {
            desk.suggest_to(
                &file,
                "payrail.csv",
                &text,
                &["--dependency", name, "--instances", &instances],
            )
        };
        let edited = report["toml"].as_str().unwrap();
        let policy = Policy::from_toml(edited).unwrap_or_else(|error| panic!("{error}\n{edited}"));
        let keys: Vec<String> = report["dependencies"][name]["suggestions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["key"].as_str().unwrap().to_owned())
            .collect();
        let path = format!("dependency.{}.", name.replace('.', ".operation."));
        for finding in lint(&policy, edited) {
            let key = finding.key().strip_prefix(&path);
            let ours = key.is_some_and(|key| keys.iter().any(|ours| ours == key) && !key.starts_with("traffic."));
            assert!(
                !ours,
                "round {round}: {finding} {}\n{edited}\n{report:#}",
                finding.name()
            );
        }
    }
}

/// 400 calls of the same kind in every format there is.
#[test]
fn every_format_says_the_same() {
    let millis = |call: u32| 1_796_061_600_000_u64 + u64::from(call) * 50;
    let status = |call: u32| if call.is_multiple_of(100) { 503 } else { 200 };
    let mut csv = String::new();
    let mut jsonl = String::new();
    let mut nginx = String::new();
    let mut apache = String::new();
    let mut otlp = String::new();
    for call in 0..400 {
        let (at, status) = (millis(call), status(call));
        let (seconds, rest) = (at / 1000, at % 1000);
        let _ = writeln!(csv, "{seconds}.{rest:03},150ms,{status}");
        let _ = writeln!(
            jsonl,
            r#"{{"time":"2026-11-30T{:02}:{:02}:{:02}.{rest:03}Z","latency":0.15,"outcome":"{}","kind":"server"}}"#,
            18 + (call / 20) / 3600,
            (call / 20) / 60,
            (call / 20) % 60,
            if status == 503 { "failure" } else { "success" },
        );
        let line = format!(
            r#"10.0.0.1 - - [30/Nov/2026:18:00:{:02} +0000] "POST /charge HTTP/1.1" {status} 512 "-" "curl/8 \"x\"""#,
            call / 20
        );
        let _ = writeln!(nginx, "{line} 0.150");
        let _ = writeln!(apache, "{line} 150000");
        let _ = writeln!(
            otlp,
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"shop"}}}}]}},"scopeSpans":[{{"spans":[
            {{"spanId":"s{call}","kind":2,"startTimeUnixNano":"{0}000000","endTimeUnixNano":"{1}000000"}},
            {{"spanId":"c{call}","kind":3,"startTimeUnixNano":"{0}000000","endTimeUnixNano":"{1}000000","attributes":[{{"key":"http.response.status_code","value":{{"intValue":"{status}"}}}},{{"key":"peer.service","value":{{"stringValue":"payrail"}}}}],"status":{{}}}}]}}]}}]}}"#,
            at,
            at + 150
        ).map(|()| otlp = otlp.replace("\n            ", ""));
    }
    for (file, format, text) in [
        ("payrail.csv", "csv", csv),
        ("payrail.jsonl", "jsonl", jsonl),
        ("payrail.log", "access", nginx),
        ("payrail.log", "access", apache),
        ("spans.json", "otlp", otlp),
    ] {
        let report = Desk::new().suggest(file, &text, &[]);
        assert_eq!(
            (&report["trace"]["format"], &report["trace"]["calls"]),
            (&format.into(), &400.into()),
            "{format}"
        );
        assert_eq!(report["trace"]["skipped"], 0, "{format}");
        let evidence = &report["dependencies"]["payrail"]["evidence"];
        assert_eq!(
            (&evidence["success"], &evidence["failures"]["server"]),
            (&396.into(), &4.into()),
            "{format}"
        );
        assert!(
            (number(Some(&evidence["median_s"])) - 0.15).abs() < 1e-9,
            "{format}: {evidence}"
        );
        assert!(
            (number(Some(&evidence["calls_per_second"])) - 20.0).abs() < 0.1,
            "{format}: {evidence}"
        );
        assert!((number(of(&report, "timeout")) - 0.6).abs() < 1e-9, "{format}");
    }
}

#[test]
fn a_bad_line_is_told_with_its_place_and_the_share_is_said() {
    let good = trace(400, 20.0, |_| (0.1, "success"));
    let text = format!("{good}# a comment\n\n 12:30 ,0.1,success\n21.0,\"soon\",success\n21.0,0.1\n");
    let desk = Desk::new();
    let report = desk.suggest("payrail.csv", &text, &[]);
    let places: Vec<_> = report["trace"]["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| {
            (
                fault["line"].as_u64().unwrap(),
                fault["column"].as_u64().unwrap(),
                fault["value"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(places, [(404, 2, "12:30"), (405, 6, "soon"), (406, 9, "")]);
    assert_eq!(
        (&report["trace"]["skipped"], &report["trace"]["records"]),
        (&3.into(), &403.into())
    );

    let jsonl = "{\"time\": 1, \"latency\": 0.1, \"outcome\": \"success\"}\n{\"time\": 2, \"latency\": 0.1, \"outcome\": \"great\"}\n{\"time\": 3, \"late\n";
    let report = desk.suggest("payrail.jsonl", jsonl, &[]);
    let faults = report["trace"]["faults"].as_array().unwrap();
    assert_eq!(
        (&faults[0]["line"], &faults[0]["column"], &faults[0]["value"]),
        (&2.into(), &40.into(), &"great".into())
    );
    assert_eq!(faults[1]["line"], 3);

    let log = "1.2.3.4 - - [30/Nov/2026:18:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\" rt=0.1\n1.2.3.4 - - [30/Nov/2026:18:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n1.2.3.4 - - [30/Nov/2026] \"GET / HTTP/1.1\" 200 5 0.1\n";
    let report = desk.suggest("payrail.log", log, &[]);
    let faults = report["trace"]["faults"].as_array().unwrap();
    assert_eq!(
        (faults.len(), &faults[0]["line"], &faults[0]["column"]),
        (2, &2.into(), &63.into())
    );
}

#[test]
fn what_cannot_be_read_is_2() {
    let desk = Desk::new();
    let nothing = desk.file("nothing.csv", "");
    let prose = desk.file("prose.txt", "dear reader\nthis is no trace\n");
    let policy = desk.file("resilience.toml", BARE);
    for trace in [Path::new("/nowhere/trace.csv"), &nothing, &prose, desk.folder.path()] {
        let args = vec!["suggest".into(), trace.into(), "--policy".into(), policy.clone().into()];
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{}", trace.display());
        assert!(err.contains(&trace.display().to_string()), "{err}");
    }
    let bad = desk.file("bad.toml", "version = 2\n");
    let trace = desk.file("payrail.csv", &trace(10, 1.0, |_| (0.1, "success")));
    assert_eq!(
        run(vec![
            "suggest".into(),
            trace.clone().into(),
            "--policy".into(),
            bad.into()
        ])
        .0,
        2
    );
    // Which of the two is it?
    let two = desk.file(
        "two.toml",
        "version = 1\n[dependency.a]\nfail = \"closed\"\n[dependency.b]\nfail = \"closed\"\n",
    );
    let (code, _, err) = run(vec!["suggest".into(), trace.into(), "--policy".into(), two.into()]);
    assert_eq!(code, 2);
    assert!(err.contains("`--dependency`: `a`, `b`"), "{err}");
}

#[test]
fn a_trace_of_several_dependencies_and_instances_is_taken_apart() {
    let mut text = String::new();
    for call in 0..2_000 {
        let (name, latency) = if call % 2 == 0 {
            ("payrail", 0.1)
        } else {
            ("redis", 0.002)
        };
        let _ = writeln!(
            text,
            r#"{{"time":{:.3},"latency":{latency},"outcome":"success","dependency":"{name}","instance":"api-{}"}}"#,
            f64::from(call) / 50.0,
            call % 3
        );
    }
    let desk = Desk::new();
    let report = desk.suggest("all.jsonl", &text, &[]);
    let dependencies = report["dependencies"].as_object().unwrap();
    assert_eq!(dependencies.keys().collect::<Vec<_>>(), ["payrail", "redis"]);
    assert_eq!(dependencies["redis"]["evidence"]["instances"], 3);
    assert_eq!(dependencies["redis"]["evidence"]["calls"], 1000);
    let one = desk.suggest("all.jsonl", &text, &["--dependency", "redis"]);
    assert_eq!(one["dependencies"].as_object().unwrap().len(), 1);
}

/// The same calls, one after the other: the numbers come from the trace, and what is unknown is said.
#[test]
fn recorded_traffic_is_replayed_through_the_guards() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = String::from("time,latency,outcome\n");
    for call in 0..1_000 {
        let outcome = if (200..400).contains(&call) {
            "server"
        } else {
            "success"
        };
        let _ = writeln!(trace, "{:.3},20ms,{outcome}", 1_796_061_600.0 + f64::from(call) / 50.0);
    }
    trace.push_str("1796061620,,open\n1796061621,1s,timeout\nnonsense\n");
    let (calls, policy) = (folder.path().join("payrail.csv"), folder.path().join("policy.toml"));
    std::fs::write(&calls, trace).unwrap();
    std::fs::write(
        &policy,
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.payrail.breaker]\nwindow = \"20 calls\"\ncooldown = \"2s\"\ncooldown_jitter = 0.0\ncooldown_factor = 1.0\n",
    )
    .unwrap();
    let run = |more: &[&str]| {
        let mut args: Vec<OsString> = vec!["resilience".into(), "simulate".into(), calls.clone().into()];
        args.extend([
            "--policy".into(),
            policy.clone().into(),
            "--format".into(),
            "json".into(),
        ]);
        args.extend(more.iter().map(OsString::from));
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = resilience_cli::run(args, &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    };
    let (code, out, err) = run(&[]);
    assert_eq!(code, 0, "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let payrail = &report["summary"]["payrail"];
    let count = |of: &serde_json::Value| of.as_u64().unwrap_or_else(|| panic!("{of}"));
    // The refused one is left out, and so is what is no call.
    assert_eq!(count(&payrail["arrived"]), 1_001);
    // Half of the last twenty, reached by the tenth failure; it ends 20 ms after it began, at 4.18 s.
    assert_eq!(report["transitions"][0]["cause"], "failure_rate");
    assert!(
        (report["transitions"][0]["at"].as_f64().unwrap() - 4.2).abs() < 1e-3,
        "{}",
        report["transitions"][0]
    );
    let refused: u64 = payrail["rejected"].as_object().unwrap().values().map(count).sum();
    assert!(refused > 180, "{payrail}");
    assert_eq!(
        count(&payrail["ok"]) + count(&payrail["failed"]) + refused,
        1_001,
        "{payrail}"
    );
    for said in [
        "1 of 1003 records",
        "1 calls were refused",
        "1 calls were cut",
        "replayed as it came",
    ] {
        assert!(err.contains(said), "{said}: {err}");
    }
    assert_eq!(run(&[]).1, out, "same trace, same bytes");

    let (code, _, err) = run(&["--dependency", "payrial"]);
    assert_eq!(code, 2);
    assert!(err.is_empty() || err.contains("payrail"), "{err}");
}
