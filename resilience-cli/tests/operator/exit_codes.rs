//! The exit code of every command, in every case that has one of its own.

use crate::kit::{Desk, run};

const GOOD: &str = "version = 1
[dependency.payrail]
fail = \"closed\"
timeout = \"1s\"
breaker = { slow_after = \"400ms\", slow_rate = 0.5 }
bulkhead.max_concurrent = 5
";

#[test]
fn every_command_has_the_exit_codes_of_the_manual() {
    let desk = Desk::new();
    desk.file("good.toml", GOOD);
    desk.file("warned.toml", &GOOD.replace("closed", "open"));
    desk.file("bad.toml", "version = 1\n[dependency.payrail]\n");
    std::fs::create_dir(desk.path("guarded")).unwrap();
    std::fs::create_dir(desk.path("past")).unwrap();
    let guarded =
        "#[resilience_runtime::breaker(\"payrail\")] #[resilience_runtime::fallback(none = \"x\")] async fn f() {}";
    desk.file("guarded/lib.rs", guarded);
    desk.file("past/lib.rs", "async fn f() { reqwest::get(\"x\").await; }");
    let snapshot = |state: &str| {
        format!(
            "{{\"instance\":\"a\",\"policy\":{{\"hash\":\"h\",\"file\":\"f\"}},\"dependencies\":{{\"p\":{{\"mode\":\"enforce\",\"state\":\"{state}\"}}}}}}"
        )
    };
    desk.file("closed.json", &snapshot("closed"));
    desk.file("open.json", &snapshot("open"));
    let caller = "duration = \"2s\"\n[[caller]]\nname = \"a\"\ndependency = \"payrail\"\nrate = 1.0\n";
    desk.file("run.toml", caller);
    desk.file("wrong.toml", &caller.replace("rate", "rat"));
    let calls = (0..50).map(|second| format!("{second},0.1,success\n"));
    desk.file(
        "trace.csv",
        &format!("time,latency,outcome\n{}", calls.collect::<String>()),
    );
    let call = "{\"time\":1,\"latency\":0.1,\"outcome\":\"success\",\"dependency\":\"payrail\"}\n";
    desk.file("calls.jsonl", call);
    desk.file("empty.jsonl", "");
    let hand = "--by ann --reason drill --for 1h --policy";
    let table = [
        ("check ./good.toml", 0),
        ("check ./warned.toml", 0),
        ("check ./warned.toml --deny-warnings", 1),
        ("check ./bad.toml", 1),
        ("check ./none.toml", 2),
        ("check ./good.toml --format yaml", 2),
        ("explain ./good.toml", 0),
        ("explain ./good.toml payrail", 0),
        ("explain ./good.toml payrial", 1),
        ("explain ./bad.toml", 1),
        ("explain ./none.toml", 2),
        ("diff ./good.toml ./good.toml", 0),
        ("diff ./good.toml ./warned.toml", 1),
        ("diff ./good.toml ./bad.toml", 2),
        ("diff ./none.toml ./good.toml", 2),
        ("diff ./good.toml", 2),
        ("schema", 0),
        (&format!("override payrail isolate {hand} ./good.toml"), 0),
        ("override payrail --clear --policy ./good.toml", 0),
        ("override payrail --clear --policy ./good.toml", 1),
        (&format!("override payrial isolate {hand} ./good.toml"), 1),
        (&format!("override payrail isolat {hand} ./good.toml"), 1),
        (&format!("override payrail isolate {hand} ./none.toml"), 2),
        ("override payrail isolate --policy ./good.toml", 2),
        ("audit ./guarded --policy ./good.toml", 0),
        ("audit ./past --policy ./good.toml", 1),
        ("audit ./none --policy ./good.toml", 2),
        ("audit ./guarded --policy ./none.toml", 2),
        ("status ./closed.json", 0),
        ("status ./open.json", 1),
        ("status ./none.json", 2),
        ("status ./good.toml", 2),
        ("simulate ./run.toml --policy ./good.toml", 0),
        ("simulate ./wrong.toml --policy ./good.toml", 1),
        ("simulate ./run.toml --policy ./bad.toml", 1),
        ("simulate ./run.toml --policy ./none.toml", 2),
        ("simulate ./none.toml --policy ./good.toml", 2),
        ("suggest ./trace.csv --policy ./good.toml --dependency payrail", 0),
        ("suggest ./none.csv", 2),
        ("record ./calls.jsonl -o ./recorded.csv", 0),
        ("record ./calls.jsonl -o ./recorded.csv", 2),
        ("record ./empty.jsonl", 1),
        ("record ./good.toml", 1),
        ("record ./none.jsonl", 2),
        ("record ./calls.jsonl --append", 2),
        ("completions bash", 0),
        ("man", 0),
        ("--version", 0),
        ("audit --help", 0),
        ("", 2),
        ("chek", 2),
    ];
    for (line, code) in table {
        // A path of the desk begins with a dot.
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| match word.strip_prefix("./") {
                Some(name) => desk.path(name).to_string_lossy().into_owned(),
                None => word.to_owned(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (found, out, err) = run(&words, &[]);
        assert_eq!(found, code, "{line}\n{out}{err}");
    }
}
