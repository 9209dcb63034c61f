//! The commands, run in this process on files of their own.

mod kit;

use serde_json::Value;

use kit::{Desk, json, run};

const GOOD: &str = "version = 1\n[defaults]\ndeadline = \"8s\"\n[template.http]\ntimeout = \"2s\"\n[dependency.payrail]\ninherits = \"http\"\nabout = \"card payments\"\nfail = \"closed\"\nagreed = \"risk team\"\n[dependency.payrail.breaker]\nfailure_rate = 0.5\n[dependency.payrail.bulkhead]\nmax_concurrent = 20\n[dependency.payrail.operation.refund]\ntimeout = \"1s\"\n";

#[test]
fn check_of_a_good_file_is_0() {
    let desk = Desk::new();
    let file = desk.file("resilience.toml", GOOD);
    let (code, out, err) = run(&["check", "@"], &[&file]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(
        out.contains("is good: 1 dependency, 1 operation, 0 warnings, hash "),
        "{out}"
    );
    assert_eq!(run(&["check", "@", "--deny-warnings"], &[&file]).0, 0);
    let (code, out, _) = run(&["check", "@", "--format", "json"], &[&file]);
    let report = json(&out);
    assert_eq!((code, report["ok"].as_bool()), (0, Some(true)));
    assert_eq!(report["file"].as_str(), file.to_str());
    assert_eq!(
        (
            report["faults"].as_array().unwrap().len(),
            report["warnings"].as_array().unwrap().len()
        ),
        (0, 0)
    );
}

#[test]
fn check_prints_what_the_loader_says() {
    let desk = Desk::new();
    let text = GOOD.replace("failure_rate = 0.5", "failure_rte = 50");
    let file = desk.file("resilience.toml", &text);
    let (code, out, _) = run(&["check", "@"], &[&file]);
    assert_eq!(code, 1);
    let error = resilience_policy::Policy::read(&file).unwrap_err();
    assert!(out.starts_with(&error.to_string()), "{out}");
    assert!(out.ends_with("1 fault, 0 warnings\n"), "{out}");

    let (code, out, _) = run(&["check", "@", "--format", "json"], &[&file]);
    let report = json(&out);
    assert_eq!((code, report["ok"].as_bool()), (1, Some(false)));
    let fault = &report["faults"][0];
    assert_eq!(fault["name"], "unknown_key");
    assert_eq!(
        (
            fault["line"].as_u64(),
            fault["column"].as_u64(),
            fault["end_column"].as_u64()
        ),
        (Some(12), Some(1), Some(12))
    );
    assert_eq!(fault["key"], "dependency.payrail.breaker.failure_rte");
    assert_eq!(fault["suggestion"], "failure_rate");
    let mut keys: Vec<&String> = fault.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "allowed",
            "column",
            "end_column",
            "file",
            "key",
            "line",
            "message",
            "name",
            "numbers",
            "related",
            "suggestion",
            "value"
        ]
    );
}

#[test]
fn warnings_are_given_beside_faults_and_may_be_denied() {
    let desk = Desk::new();
    let file = desk.file(
        "warned.toml",
        &GOOD.replace("agreed", "label").replace("closed", "open"),
    );
    assert_eq!(run(&["check", "@"], &[&file]).0, 0);
    let (code, out, _) = run(&["check", "@", "--deny-warnings", "--format", "json"], &[&file]);
    let report = json(&out);
    assert_eq!((code, report["ok"].as_bool()), (1, Some(false)));
    assert_eq!(report["warnings"][0]["name"], "unsigned");
    let both = desk.file("both.toml", &GOOD.replace("agreed", "lable").replace("closed", "open"));
    let report = json(&run(&["check", "@", "--format", "json"], &[&both]).1);
    assert_eq!(
        (&report["faults"][0]["name"], &report["warnings"][0]["name"]),
        (&"unknown_key".into(), &"unsigned".into())
    );
}

#[test]
fn figures_of_a_lint_are_numbers() {
    let desk = Desk::new();
    let traffic = "[dependency.payrail.traffic]\ncalls_per_second = 100\nlatency = \"400ms\"\n";
    let file = desk.file("resilience.toml", &format!("{GOOD}{traffic}"));
    let report = json(&run(&["check", "@", "--format", "json"], &[&file]).1);
    let warnings = report["warnings"].as_array().unwrap();
    let found = warnings
        .iter()
        .find(|warning| warning["name"] == "slots_below_demand")
        .unwrap();
    assert_eq!(found["numbers"]["slots_needed"].as_f64(), Some(40.0));
    assert_eq!(found["key"], "dependency.payrail.bulkhead.max_concurrent");
}

#[test]
fn what_cannot_be_read_is_2() {
    let desk = Desk::new();
    let missing = desk.folder.path().join("none.toml");
    for path in [missing.as_path(), desk.folder.path()] {
        let (code, out, err) = run(&["check", "@"], &[path]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.starts_with(path.to_str().unwrap()), "{err}");
        let (code, out, _) = run(&["check", "@", "--format", "json"], &[path]);
        let report = json(&out);
        assert_eq!((code, report["faults"].as_array().unwrap().len()), (2, 1));
        assert_eq!(
            (&report["faults"][0]["name"], &report["faults"][0]["line"]),
            (&"unreadable".into(), &Value::Null)
        );
        assert_eq!(run(&["explain", "@", "payrail"], &[path]).0, 2);
        assert_eq!(run(&["diff", "@", "@"], &[path, path]).0, 2);
    }
    assert_eq!(run(&["chek"], &[]).0, 2);
    assert_eq!(run(&["--help"], &[]).0, 0);
}

#[test]
fn explain_tells_every_value_its_place_and_its_origin() {
    let desk = Desk::new();
    let file = desk.file("resilience.toml", GOOD);
    let report = json(&run(&["explain", "@", "--format", "json"], &[&file]).1);
    let of = |name: &str, key: &str| report["dependencies"][name][key].clone();
    let timeout = of("payrail", "timeout");
    assert_eq!(
        (
            timeout["value"].as_f64(),
            timeout["line"].as_u64(),
            timeout["from"].as_str()
        ),
        (Some(2.0), Some(5), Some("template http"))
    );
    assert_eq!(timeout["file"].as_str(), file.to_str());
    assert_eq!(of("payrail", "deadline")["from"], "defaults");
    assert_eq!(of("payrail", "breaker.failure_rate")["from"], "own");
    let built_in = of("payrail", "breaker.window");
    assert_eq!(
        (&built_in["value"], &built_in["from"], &built_in["line"]),
        (&"100 calls".into(), &"built in".into(), &Value::Null)
    );
    assert_eq!(of("payrail.refund", "timeout")["value"].as_f64(), Some(1.0));
    let one = json(&run(&["explain", "@", "payrail.refund", "--format", "json"], &[&file]).1);
    assert_eq!(one["dependencies"].as_object().unwrap().len(), 1);
}

#[test]
fn explain_draws_the_layers_and_the_worst_case() {
    let desk = Desk::new();
    let retry = "[dependency.payrail.retry]\nmax_attempts = 5\nbackoff = \"500ms\"\n";
    let file = desk.file("resilience.toml", &format!("{GOOD}{retry}"));
    let (code, out, _) = run(&["explain", "@", "payrail"], &[&file]);
    assert_eq!(code, 0);
    let mut from = 0;
    for layer in [
        "fallback ",
        "└ deadline ",
        "└ bulkhead ",
        "└ retry ",
        "└ breaker ",
        "└ timeout ",
        "└ the body",
    ] {
        let at = out[from..]
            .find(layer)
            .unwrap_or_else(|| panic!("no {layer} in order:\n{out}"));
        from += at;
    }
    // 2s, 0.5s, 2s, 1s, 2s make 7.5s; a pause of 2s would reach 8s.
    assert!(
        out.contains("7s500ms  no further pause fits before the deadline"),
        "{out}"
    );
    assert!(out.contains("resilience.toml:12"), "{out}");
    let (code, _, err) = run(&["explain", "@", "payral"], &[&file]);
    assert_eq!(code, 1);
    assert!(err.contains("did you mean `payrail`?"), "{err}");
}

#[test]
fn explain_promises_no_answer_where_a_fallback_may_only_refuse() {
    let desk = Desk::new();
    let closed = desk.file("closed.toml", GOOD);
    let open = desk.file("open.toml", &GOOD.replace("\"closed\"", "\"open\""));
    for dependency in [&["explain", "@", "payrail"][..], &["explain", "@"]] {
        let (_, refusing, _) = run(dependency, &[&closed]);
        assert!(
            refusing.contains("refuses") && !refusing.contains("may take"),
            "{refusing}"
        );
        let (_, answering, _) = run(dependency, &[&open]);
        assert!(
            answering.contains(" slots, 1s") && !answering.contains("refuses"),
            "{answering}"
        );
    }
}

#[test]
fn explain_without_a_dependency_is_the_table_for_sign_off() {
    let desk = Desk::new();
    let file = desk.file("resilience.toml", GOOD);
    let (code, out, _) = run(&["explain", "@"], &[&file]);
    assert_eq!(code, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert!(lines.iter().all(|line| line.starts_with('|') && line.ends_with('|')));
    assert!(lines[2].contains("`payrail`") && lines[2].contains("closed") && lines[2].contains("risk team"));
}

#[test]
fn explain_of_a_faulty_file_is_1() {
    let desk = Desk::new();
    let file = desk.file("resilience.toml", "version = 1\n[dependency.x]\n");
    let (code, out, err) = run(&["explain", "@"], &[&file]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("`fail` is missing"), "{err}");
}

#[test]
fn diff_lists_effective_changes() {
    let desk = Desk::new();
    let old = desk.file("old.toml", GOOD);
    let new = desk.file("new.toml", &GOOD.replace("\"2s\"", "\"3s\"").replace("0.5", "0.4"));
    let (code, out, _) = run(&["diff", "@", "@", "--format", "json"], &[&old, &new]);
    assert_eq!(code, 1);
    let report = json(&out);
    let keys: Vec<&str> = report["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["key"].as_str().unwrap())
        .collect();
    assert_eq!(
        keys,
        [
            "dependency.payrail.timeout",
            "dependency.payrail.breaker.failure_rate",
            "dependency.payrail.operation.refund.breaker.failure_rate"
        ]
    );
    let timeout = &report["changes"][0];
    assert_eq!(
        (
            timeout["old"].as_f64(),
            timeout["new"].as_f64(),
            timeout["line"].as_u64()
        ),
        (Some(2.0), Some(3.0), Some(5))
    );
    assert!(timeout["effect"].as_str().unwrap().contains("at once"));
    let (_, out, _) = run(&["diff", "@", "@"], &[&old, &new]);
    assert!(out.contains("dependency.payrail.timeout: 2s → 3s"), "{out}");
    assert_eq!(run(&["diff", "@", "@"], &[&old, &old]).0, 0);
}

#[test]
fn diff_groups_what_an_edit_of_a_template_does() {
    let desk = Desk::new();
    let mut text = String::from("version = 1\n[template.t]\ntimeout = \"1s\"\n");
    for name in ["a", "b", "c", "d", "e"] {
        text.push_str(&["[dependency.", name, "]\nfail = \"open\"\ninherits = \"t\"\n"].concat());
    }
    let old = desk.file("old.toml", &text);
    let new = desk.file("new.toml", &text.replace("1s", "2s"));
    let (_, out, _) = run(&["diff", "@", "@"], &[&old, &new]);
    assert!(out.starts_with("5 dependencies: timeout: 1s → 2s"), "{out}");
}

#[test]
fn override_writes_the_file_whole_and_takes_it_back() {
    let desk = Desk::new();
    let policy = desk.file("resilience.toml", GOOD);
    let set = [
        "override",
        "payrail",
        "isolate",
        "--by",
        "ann",
        "--reason",
        "a \"test\"",
        "--for",
        "1h",
        "--answer",
        "later",
        "--policy",
        "@",
    ];
    let (code, out, err) = run(&set, &[&policy]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let text = desk.read("resilience.overrides.toml");
    assert!(
        text.contains("[\"payrail\"]\nmode = \"isolate\"\nby = \"ann\"\nreason = \"a \\\"test\\\"\""),
        "{text}"
    );
    assert!(text.contains("answer = \"later\""));
    let other = [
        "override",
        "payrail.refund",
        "off",
        "--by",
        "bob",
        "--reason",
        "drill",
        "--for",
        "2d",
        "--policy",
        "@",
    ];
    assert_eq!(run(&other, &[&policy]).0, 0);
    assert_eq!(desk.read("resilience.overrides.toml").matches("mode = ").count(), 2);
    let report = json(&run(&["explain", "@", "--format", "json"], &[&policy]).1);
    let mode = &report["dependencies"]["payrail"]["mode"];
    assert_eq!((&mode["value"], &mode["from"]), (&"isolate".into(), &"override".into()));
    assert_eq!(report["dependencies"]["payrail.refund"]["mode"]["value"], "off");
    assert_eq!(
        run(&["override", "payrail", "--clear", "--policy", "@"], &[&policy]).0,
        0
    );
    assert_eq!(desk.read("resilience.overrides.toml").matches("mode = ").count(), 1);
    assert_eq!(
        run(&["override", "payrail", "--clear", "--policy", "@"], &[&policy]).0,
        1
    );
    let left: Vec<_> = std::fs::read_dir(desk.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn of_many_operators_at_the_same_instant_none_loses_an_override() {
    let desk = Desk::new();
    let names: Vec<String> = (0..24).map(|number| format!("far-{number}")).collect();
    let entries = names
        .iter()
        .map(|name| format!("[dependency.{name}]\nfail = \"open\"\nbulkhead.max_concurrent = 5\n"));
    let policy = desk.file(
        "resilience.toml",
        &format!("version = 1\n{}", entries.collect::<String>()),
    );
    let hand = |arguments: &[&str]| {
        std::process::Command::new(env!("CARGO_BIN_EXE_resilience"))
            .arg("override")
            .args(arguments)
            .arg("--policy")
            .arg(&policy)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let all_end_well = |hands: Vec<std::process::Child>| {
        for mut hand in hands {
            assert!(hand.wait().unwrap().success());
        }
    };
    let set = |name: &String| hand(&[name, "isolate", "--by", "ann", "--reason", "drill", "--for", "1h"]);
    all_end_well(names.iter().map(set).collect());
    let text = desk.read("resilience.overrides.toml");
    for name in &names {
        assert!(text.contains(&format!("[\"{name}\"]\n")), "`{name}` is lost: {text}");
    }
    // Some are taken back while others are set anew, and nothing else is left.
    let (first, second) = names.split_at(12);
    let taken_back = first.iter().map(|name| hand(&[name, "--clear"]));
    all_end_well(
        taken_back
            .zip(second.iter().map(set))
            .flat_map(<[_; 2]>::from)
            .collect(),
    );
    let text = desk.read("resilience.overrides.toml");
    assert_eq!(text.matches("mode = ").count(), 12, "{text}");
    assert!(
        second.iter().all(|name| text.contains(&format!("[\"{name}\"]\n"))),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(desk.folder.path()).unwrap().count(), 2);
}

#[test]
fn an_override_without_who_why_and_how_long_is_refused() {
    let desk = Desk::new();
    let policy = desk.file("resilience.toml", GOOD);
    let full = [
        "override", "payrail", "isolate", "--by", "ann", "--reason", "test", "--for", "1h", "--policy", "@",
    ];
    for (at, word, code) in [
        (1, "payral", 1),
        (2, "isolat", 1),
        (4, " ", 1),
        (6, "", 1),
        (8, "8d", 1),
        (8, "soon", 1),
        (8, "0s", 1),
    ] {
        let mut words = full;
        words[at] = word;
        let (found, _, err) = run(&words, &[&policy]);
        assert_eq!(found, code, "{word}: {err}");
        assert!(!err.is_empty());
    }
    assert_eq!(
        run(&["override", "payrail", "isolate", "--policy", "@"], &[&policy]).0,
        2
    );
    assert_eq!(desk.read("resilience.overrides.toml"), "");
}

#[test]
fn the_schema_knows_every_key() {
    let (code, out, _) = run(&["schema"], &[]);
    assert_eq!(code, 0);
    let schema = json(&out);
    for id in resilience_policy::reference::Id::ALL {
        assert!(out.contains(&format!("\"{}\"", id.key().name)), "{}", id.key().path);
    }
    assert_eq!(schema["required"][0], "version");
    assert_eq!(schema["$defs"]["dependency"]["required"][0], "fail");
    assert!(schema["$defs"]["template"]["properties"]["fail"].is_null());
}
