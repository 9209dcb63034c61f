//! Formats of traces, and what is wrong with some.

use super::*;

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
