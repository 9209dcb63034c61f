//! What real programs wrote: nginx 1.22 and Apache 2.4 in front of a small server, each with the line of its
//! configuration that `docs/traces.md` names, and the exporter of OpenTelemetry for JavaScript 2.

use super::*;

fn read(name: &str, text: &str) -> Value {
    let policy = BARE.replace("payrail", "localhost");
    let desk = Desk::new();
    let policy = desk.file("resilience.toml", &policy);
    desk.suggest_to(&policy, name, text, &["--dependency", "localhost"])
}

/// Calls, and what they came to.
fn seen(report: &Value) -> (u64, Vec<u64>) {
    let evidence = &report["dependencies"]["localhost"]["evidence"];
    let failed = evidence["failures"].as_object().unwrap().values();
    let words = ["success", "business", "throttled", "ignored"];
    let mut counts: Vec<u64> = words.iter().map(|word| evidence[*word].as_u64().unwrap()).collect();
    counts.push(failed.map(|count| count.as_u64().unwrap()).sum());
    (evidence["calls"].as_u64().unwrap(), counts)
}

#[test]
fn a_log_of_nginx_is_read_with_the_time_of_what_stood_behind_it() {
    for (name, text) in [
        ("nginx.log", include_str!("real/nginx.log")),
        ("nginx-last.log", include_str!("real/nginx-last.log")),
    ] {
        let report = read(name, text);
        // A client who went (499) had no answer; bytes that are no request (400) had one.
        assert_eq!(seen(&report), (18, vec![10, 3, 1, 1, 3]), "{name}");
        assert_eq!(
            (&report["trace"]["format"], &report["trace"]["skipped"]),
            (&"access".into(), &0.into())
        );
        let evidence = &report["dependencies"]["localhost"]["evidence"];
        assert_eq!(evidence["failures"], serde_json::json!({ "server": 3 }), "{name}");
        assert!(
            (number(Some(&evidence["longest_s"])) - 0.312).abs() < 1e-9,
            "{name}: {evidence}"
        );
    }
}

#[test]
fn a_log_of_apache_is_read_with_its_microseconds_and_one_without_a_time_is_refused() {
    let report = read("apache.log", include_str!("real/apache.log"));
    assert_eq!(seen(&report), (11, vec![6, 3, 1, 0, 1]));
    let longest = &report["dependencies"]["localhost"]["evidence"]["longest_s"];
    assert!((number(Some(longest)) - 0.339).abs() < 1e-3, "{longest}");

    let desk = Desk::new();
    let without = desk.file("access.log", include_str!("real/apache-without.log"));
    let (code, out, err) = run([
        "suggest".into(),
        without.into(),
        "--trace-format".into(),
        "access".into(),
    ]);
    assert_eq!(code, 2, "{out}");
    assert!(err.contains("a line ends with the duration"), "{err}");
}

#[test]
fn spans_of_the_exporter_are_read_as_the_client_saw_them() {
    let report = read("otlp.json", include_str!("real/otlp.json"));
    // 402 has the status of an error in the span, and is business all the same; a refused connection and one that hung
    // have no status of HTTP.
    assert_eq!(seen(&report), (7, vec![2, 1, 1, 0, 3]));
    assert_eq!(report["trace"]["format"], "otlp");
}

#[test]
fn several_upstreams_are_one_duration_with_and_without_quotes() {
    let line = |times: &str| {
        format!("10.0.0.1 - - [30/Nov/2026:18:00:00 +0000] \"GET / HTTP/1.1\" 200 17 \"-\" \"curl/8\" {times} 7\n")
    };
    for times in [
        "urt=\"0.010, 0.200\"",
        "urt=0.010, 0.200",
        "urt=0.010 : 0.200",
        "rt=9.000 urt=\"0.010 : 0.200\"",
        "urt=-, 0.210 rt=9.000",
    ] {
        let report = read("nginx.log", &line(times));
        let longest = &report["dependencies"]["localhost"]["evidence"]["longest_s"];
        assert!((number(Some(longest)) - 0.21).abs() < 1e-9, "{times}: {longest}");
    }
}
