//! `resilience status`: a snapshot in words.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::kit::{Desk, json as parsed, run};

/// One dependency of a snapshot: all well, but for what is given.
fn dependency(over: &Value) -> Value {
    let mut one = json!({
        "state": "closed", "mode": "enforce", "cause": null, "since": 1_000.0, "calls": 20, "failure_rate": 0.0,
        "slow_rate": 0.0, "retry_after": null, "in_flight": 1, "limit": 12, "waiting": 0, "max_waiting": 0,
        "retry_budget": null, "fallbacks": {}, "degraded_ratio": 0.0, "override": null, "functions": ["app::charge"],
    });
    for (key, value) in over.as_object().unwrap() {
        one[key] = value.clone();
    }
    one
}

fn snapshot(dependencies: &[(&str, Value)]) -> Value {
    let dependencies: serde_json::Map<String, Value> = dependencies
        .iter()
        .map(|(name, over)| ((*name).to_owned(), dependency(over)))
        .collect();
    json!({
        "instance": "api-01",
        "policy": { "hash": "a1b2", "file": "resilience.toml", "loaded_at": 900.0, "stale": false, "refusal": null },
        "dependencies": dependencies,
    })
}

/// Exit code and output for a snapshot in a file.
fn status(snapshot: &Value) -> (u8, String) {
    let desk = Desk::new();
    let (code, out, err) = run(&["status", "@"], &[&desk.file("snapshot.json", &snapshot.to_string())]);
    assert_eq!(err, "");
    (code, out)
}

fn open() -> Value {
    json!({
        "state": "open", "cause": "failure_rate", "failure_rate": null, "retry_after": 12.4, "open_for": 90.0,
        "next_probe_in": 12.4, "about": "card payments",
        "opened": {
            "at": 1.0, "from": "closed", "to": "open", "cause": "failure_rate", "calls": 20, "failure_rate": 0.65,
            "slow_rate": 0.1, "counts": {}, "kinds": ["timeout", "server"], "policy_hash": "a1b2", "cooldown": 30.0,
            "threshold": { "key": "breaker.failure_rate", "value": 0.5, "file": "resilience.toml", "line": 34 },
        },
        "numbers": [{ "key": "breaker.failure_rate", "value": 0.5, "file": "resilience.toml", "line": 34, "from": "own" }],
    })
}

#[test]
fn an_open_breaker_is_told_with_its_cause_its_time_and_the_way_out() {
    let (code, out) = status(&snapshot(&[("payrail", open())]));
    assert_eq!(code, 1);
    for line in [
        "payrail: open, every call is refused, for 1m30s (card payments)\n",
        "  opened by its failure rate, 65 % failed and 10 % slow of 20 calls; `breaker.failure_rate` = 0.5 (resilience.toml:34) decided; last: timeout, server\n",
        "  the next probe is in 12s\n",
        "  callers are told to come back in 13s\n",
        "  1 of 12 slots taken; 20 calls in the window\n",
        "  → if `payrail` is in trouble, do nothing: ",
        "  → if it is well, the threshold is too tight: `breaker.failure_rate` = 0.5 (resilience.toml:34)\n",
        "  → to let every call through meanwhile: `resilience override payrail observe --by … --reason … --for 1h`\n",
    ] {
        assert!(out.contains(line), "no {line:?} in\n{out}");
    }
}

#[test]
fn what_several_instances_counted_together_is_told_as_theirs() {
    let counted = |calls: u64, bad: u64| json!({ "calls": calls, "failed": bad, "slow": 0, "bad": bad });
    let mut opened = open();
    opened["opened"]["pooled"] = json!({ "own": counted(3, 2), "fleet": counted(20, 13), "instances": 8 });
    let mut others = counted(11, 4);
    others["count"] = json!(1);
    others["instances"] = json!(["api-02"]);
    let (code, out) = status(&snapshot(&[
        ("payrail", opened),
        (
            "seats",
            json!({ "state": "half_open", "cause": "cooldown_over", "others": others }),
        ),
    ]));
    assert_eq!(code, 1);
    for line in [
        "  that is what 8 instances counted together; here it was 2 bad of 3 calls",
        "  1 other instance counted 4 bad of 11 calls, judged with these",
    ] {
        assert!(out.lines().any(|printed| printed == line), "{out}");
    }
}

#[test]
fn the_keys_of_the_contract_are_enough() {
    let bare = json!({ "state": "half_open", "cause": "cooldown_over", "retry_after": 0.5 });
    let (code, out) = status(&snapshot(&[("payrail", bare)]));
    assert_eq!(code, 1);
    assert!(
        out.contains("payrail: half open, a few calls try it and the others are refused, for "),
        "{out}"
    );
    assert!(out.contains("\n  its cooldown is over, probes try it\n"), "{out}");
}

#[test]
fn what_is_worse_comes_first() {
    let hand =
        json!({ "mode": "isolate", "by": "ann", "reason": "drill", "until": 4_000_000_000.0, "answer": "later" });
    let (code, out) = status(&snapshot(&[
        ("a-well", json!({})),
        ("b-degraded", json!({ "degraded_ratio": 0.25 })),
        ("c-full", json!({ "in_flight": 12 })),
        ("d-held", json!({ "retry_after": 3.0 })),
        ("e-hand", json!({ "mode": "isolate", "override": hand })),
        ("f-observe", json!({ "mode": "observe", "state": "open" })),
        ("g-half", json!({ "state": "half_open" })),
        ("h-open", open()),
        ("i-none", json!({ "state": null })),
    ]));
    assert_eq!(code, 1);
    let told: Vec<&str> = out
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, _)| name)
        .collect();
    let told: Vec<&str> = told
        .into_iter()
        .filter(|name| name.chars().nth(1) == Some('-'))
        .collect();
    assert_eq!(
        told,
        [
            "h-open",
            "g-half",
            "e-hand",
            "d-held",
            "c-full",
            "f-observe",
            "b-degraded"
        ],
        "{out}"
    );
    assert!(out.contains("\nwell: a-well, i-none\n"), "{out}");
    assert!(
        out.contains("mode isolate by ann: drill, answer \"later\"; until 2096-10-02T07:06:40Z"),
        "{out}"
    );
    assert!(out.contains("sooner: `resilience override e-hand --clear`"), "{out}");
    assert!(
        out.contains("mode observe, the guards look on and refuse nothing; the breaker would be open"),
        "{out}"
    );
    assert!(
        out.contains("25 % of the last minute's calls were answered by a fallback"),
        "{out}"
    );
    assert!(
        out.ends_with("9 dependencies and operations, 4 of them refusing, 7 to look at\n"),
        "{out}"
    );
}

#[test]
fn only_what_refuses_and_a_refused_policy_give_1() {
    for (over, code) in [
        (json!({}), 0),
        (json!({ "in_flight": 12 }), 0),
        (json!({ "degraded_ratio": 1.0 }), 0),
        (json!({ "mode": "observe", "state": "open" }), 0),
        (json!({ "mode": "off" }), 0),
        (json!({ "state": null }), 0),
        (json!({ "state": "open" }), 1),
        (json!({ "state": "half_open" }), 1),
        (json!({ "mode": "isolate" }), 1),
        (json!({ "retry_after": 2.0 }), 1),
    ] {
        assert_eq!(status(&snapshot(&[("payrail", over.clone())])).0, code, "{over}");
    }
    let mut refused = snapshot(&[]);
    refused["policy"]["refusal"] = json!("resilience.toml:3:1: unknown key `x`\n  more");
    refused["policy"]["stale"] = json!(true);
    let (code, out) = status(&refused);
    assert_eq!(code, 1);
    assert!(
        out.contains("what was good before stays in force: resilience.toml:3:1: unknown key `x`\n"),
        "{out}"
    );
    assert!(out.contains("→ `resilience check resilience.toml`"), "{out}");
}

#[test]
fn json_is_worst_first_too() {
    let desk = Desk::new();
    let file = desk.file("s.json", &snapshot(&[("a", json!({})), ("b", open())]).to_string());
    let (code, out, _) = run(&["status", "@", "--format", "json"], &[&file]);
    let report = parsed(&out);
    assert_eq!(
        (code, &report["ok"], &report["policy"]["hash"]),
        (1, &false.into(), &"a1b2".into())
    );
    let first = &report["dependencies"][0];
    let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "advice",
            "for_s",
            "lines",
            "mode",
            "name",
            "rank",
            "retry_after",
            "state",
            "words"
        ]
    );
    assert_eq!(
        (&first["name"], &first["rank"], first["for_s"].as_f64()),
        (&"b".into(), &"open".into(), Some(90.0))
    );
}

#[test]
fn nothing_of_another_process_moves_the_cursor() {
    let (_, out) = status(&snapshot(&[(
        "payrail",
        json!({ "degraded_ratio": 0.5, "about": "\u{1b}[2Jgone" }),
    )]));
    assert!(out.contains("(?[2Jgone)") && !out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn what_is_no_snapshot_is_2() {
    let desk = Desk::new();
    for text in ["", "{}", "[1]", "<html>"] {
        let (code, out, err) = run(&["status", "@"], &[&desk.file("s.json", text)]);
        assert_eq!((code, out.as_str()), (2, ""), "{text}");
        assert!(err.contains("is no snapshot: "), "{err}");
    }
    let (code, _, err) = run(&["status", "@"], &[&desk.path("none.json")]);
    assert_eq!(code, 2);
    assert!(err.contains("cannot be read"), "{err}");
    let (code, _, err) = run(&["status", "https://localhost/"], &[]);
    assert_eq!(code, 2);
    assert!(
        err.contains("curl -fsS https://localhost/ | resilience status -"),
        "{err}"
    );
}

/// Answers each request by its path, until it is dropped with the test's process.
fn serve(answers: &'static [(&'static str, &'static str, &'static str)], body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let found = answers.iter().find(|(known, _, _)| *known == path);
            let (status, body) = match found {
                Some((_, status, "")) => (*status, body.clone()),
                Some((_, status, text)) => (*status, (*text).to_owned()),
                None => ("404 Not Found", String::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn a_service_is_asked_by_its_address_or_by_that_of_its_page() {
    let answers = &[
        ("/snapshot", "200 OK", ""),
        ("/admin/", "200 OK", "<!doctype html>"),
        ("/admin/snapshot", "200 OK", ""),
        ("/broken", "500 Internal Server Error", "oh"),
    ];
    let address = serve(answers, snapshot(&[("payrail", open())]).to_string());
    for path in ["/snapshot", "/admin/"] {
        let (code, out, err) = run(&["status", &format!("{address}{path}")], &[]);
        assert_eq!((code, err.as_str()), (1, ""), "{path}");
        assert!(out.contains("payrail: open, every call is refused, for 1m30s"), "{out}");
    }
    for path in ["/broken", "/none"] {
        let (code, _, err) = run(&["status", &format!("{address}{path}")], &[]);
        assert_eq!(code, 2);
        assert!(err.contains("did not answer with a snapshot"), "{err}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(run(&["status", &format!("http://{closed}/")], &[]).0, 2);
}

#[test]
fn what_the_runtime_itself_reports_is_read() {
    let text = "version = 1\n[dependency.payrail]\nfail = \"closed\"\nabout = \"card payments\"\nmode = \"isolate\"\ntimeout = \"1s\"\nbreaker = { }\n[dependency.redis]\nfail = \"open\"\nbulkhead.max_concurrent = 7\n";
    let policy = resilience_runtime::Policy::from_toml(text).unwrap();
    let snapshot = resilience_runtime::Runtime::new(policy).snapshot();
    let (code, out) = status(&serde_json::to_value(snapshot).unwrap());
    assert_eq!(code, 1);
    assert!(
        out.contains("payrail: isolated by hand, every call is refused (card payments)\n"),
        "{out}"
    );
    assert!(out.contains("the policy says so: `mode` = isolate"), "{out}");
    assert!(out.contains("\nwell: redis\n"), "{out}");
}
