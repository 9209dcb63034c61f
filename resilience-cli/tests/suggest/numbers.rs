//! Each number, its rule and its evidence.

use super::*;

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
