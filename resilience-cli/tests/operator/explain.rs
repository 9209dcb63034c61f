//! `resilience explain`: what follows from the numbers.

use crate::kit::{Desk, run};

const POLICY: &str = "version = 1
[dependency.payrail]
about    = \"cards & <more>\"
fail     = \"open\"
timeout  = \"1.2s\"
deadline = \"4s\"
throttle = \"dependency\"
breaker  = { ramp = [0.05, 0.25] }
bulkhead = { max_concurrent = 20, max_waiting = 50, max_wait = \"900ms\", retry_after = \"3s\" }
retry    = { max_attempts = 5, backoff = \"100ms\" }
traffic  = { instances = 2 }
[dependency.bare]
fail     = \"closed\"
bulkhead.max_concurrent = 3
";

fn explain(dependency: &str) -> String {
    let desk = Desk::new();
    let (code, out, err) = run(&["explain", "@", dependency], &[&desk.file("resilience.toml", POLICY)]);
    assert_eq!((code, err.as_str()), (0, ""));
    out
}

#[test]
fn what_it_holds_at_most_is_told_with_its_time() {
    let out = explain("payrail");
    for line in [
        "  20 tasks in slots, and 50 that wait, each for 4s at most; 140 in all 2 instances\n",
        "  5 attempts reach the far side for one call at most, and over all calls no more retries than 0.1 of the calls and 1 a second\n",
        "  its fallbacks: 10 tasks, each for 1s at most; 20 in all 2 instances\n",
    ] {
        assert!(out.contains(line), "no {line:?} in\n{out}");
    }
    let out = explain("bare");
    let endless = "  3 tasks in slots, each for as long as it likes: there is neither a timeout nor a deadline\n";
    assert!(out.contains(endless), "{out}");
    assert!(!out.contains("its fallbacks"), "{out}");
}

#[test]
fn every_refusal_that_can_happen_is_told_with_its_wait_and_status() {
    let words = |out: &str| -> Vec<(String, String)> {
        let rows = out.split("what a caller gets when it is refused:\n\n").nth(1).unwrap();
        let rows = rows.split("\n\n").next().unwrap().lines().skip(1);
        rows.map(|row| {
            let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            (
                cells[0].to_owned(),
                format!("{} {}", cells[cells.len() - 2], cells[cells.len() - 1]),
            )
        })
        .collect()
    };
    let expected = [
        ("open", "what is left of the cooldown, 5m30s at most 503"),
        (
            "probes_busy",
            "what is left of the longest probe, 1s200ms at most; 1s on the ramp 503",
        ),
        ("held", "what is left of that, 1m at most 503"),
        ("isolated", "until the override ends 503"),
        ("bulkhead_full", "3s 503"),
        ("wait_timed_out", "3s 503"),
        ("timed_out", "none 504"),
        ("deadline_exceeded", "none 504"),
    ];
    assert_eq!(
        words(&explain("payrail")),
        expected.map(|(reason, told)| (reason.to_owned(), told.to_owned()))
    );
    let reasons: Vec<String> = words(&explain("bare")).into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["isolated", "bulkhead_full", "deadline_exceeded"]);
}

#[test]
fn the_worst_case_is_drawn_to_scale_and_nothing_in_it_is_markup() {
    let desk = Desk::new();
    let file = desk.file("resilience.toml", POLICY);
    let picture = desk.path("worst.svg");
    let (code, _, err) = run(&["explain", "@", "payrail", "--svg", "@"], &[&file, &picture]);
    assert_eq!((code, err.as_str()), (0, ""));
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.contains(">payrail: cards &amp; &lt;more&gt;</text>"), "{svg}");
    // 0 s stands at 250, 5 s at 830.
    for bar in [
        "<rect class=\"waiting\" x=\"250.0\"",
        "<rect class=\"attempt\" x=\"354.4\"",
        "<rect class=\"fallback\" x=\"714.0\"",
        "<path class=\"deadline\" d=\"M714.0 ",
    ] {
        assert!(svg.contains(bar), "no {bar} in\n{svg}");
    }
    assert_eq!(svg.matches("<rect class=\"attempt\"").count(), 3);
    assert_eq!(
        svg.matches("http").count(),
        1,
        "its own name, and nothing from the network"
    );
    // Without a name: every dependency, on one scale.
    let (code, out, _) = run(&["explain", "@", "--svg", "@"], &[&file, &picture]);
    assert_eq!((code, out.lines().count()), (0, 4));
    let all = std::fs::read_to_string(&picture).unwrap();
    assert!(
        all.contains(">bare</text>") && all.contains("no timeout ends it"),
        "{all}"
    );
    let (code, _, err) = run(&["explain", "@", "--svg", "@"], &[&file, &desk.path("no/folder.svg")]);
    assert_eq!(code, 2);
    assert!(err.contains("cannot be written"), "{err}");
}

#[test]
fn the_table_for_sign_off_names_the_fallbacks_of_the_source() {
    let desk = Desk::new();
    let file = desk.file("resilience.toml", POLICY);
    desk.file(
        "lib.rs",
        r#"
        use resilience_runtime::{breaker, fallback};
        #[breaker("payrail")] #[fallback(cached)] #[fallback(value = a | b)] async fn charge() {}
        #[breaker("payrail")] #[fallback(none = "it says so")] async fn refund() {}
        "#,
    );
    let (code, out, err) = run(&["explain", "@", "--source", "@"], &[&file, desk.folder.path()]);
    assert_eq!((code, err.as_str()), (0, ""));
    let forms = "`cached, then value = a \\| b`; `none = \"it says so\"` (10 slots, 1s, stale up to 5m)";
    assert!(out.contains(forms), "{out}");
    assert!(
        out.lines()
            .any(|line| line.contains("`bare`") && line.contains("no code names it")),
        "{out}"
    );
    assert_eq!(
        run(&["explain", "@", "--source", "@"], &[&file, &desk.path("none")]).0,
        2
    );
}

#[test]
fn a_broken_overrides_file_is_told_and_hides_nothing() {
    let desk = Desk::new();
    let file = desk.file("resilience.toml", POLICY);
    desk.file("resilience.overrides.toml", "[payrail]\nmode = \"isolat\"\n");
    let (code, out, err) = run(&["explain", "@", "payrail"], &[&file]);
    assert_eq!(code, 0);
    assert!(out.contains("mode") && out.contains("enforce"), "{out}");
    assert!(
        err.contains("resilience.overrides.toml:2:8") && err.contains("keeps the last good ones"),
        "{err}"
    );
}

#[test]
fn the_fleet_is_explained_with_its_places_and_without_its_password() {
    let text = format!("{POLICY}[fleet]\nredis = \"redis://:hunter2@cache/\"\nevidence = \"pooled\"\n");
    let desk = Desk::new();
    let file = desk.file("resilience.toml", &text);
    let (code, out, err) = run(&["explain", "@"], &[&file]);
    assert_eq!((code, err.as_str()), (0, ""));
    let line = "the instances meet: fleet.redis = redis://…@cache/, fleet.evidence = pooled, fleet.interval = 1s\n";
    assert!(out.ends_with(line), "{out}");
    let (_, out, _) = run(&["explain", "@", "--format", "json"], &[&file]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["fleet"]["redis"]["value"], "redis://…@cache/");
    assert_eq!(
        (&json["fleet"]["evidence"]["line"], &json["fleet"]["interval"]["from"]),
        (&17.into(), &"built in".into())
    );
    let (_, out, _) = run(
        &["explain", "@", "--format", "json"],
        &[&desk.file("plain.toml", POLICY)],
    );
    assert!(!out.contains("fleet"), "{out}");
}
