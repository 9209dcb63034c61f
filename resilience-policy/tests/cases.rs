//! Policy files that operators really produce, by the number of the case.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{BASE, breaker, error, good, only, places};
use resilience_policy::Policy;

#[test]
fn case_1_a_bare_number_offers_both_readings() {
    let text = "version = 1\n[dependency.payments]\nfail = \"open\"\ntimeout = 30\n[dependency.payments.breaker]\ncooldown = 5000\n";
    let error = error(text);
    let [timeout, cooldown] = error.faults() else {
        panic!("{error}")
    };
    assert_eq!((timeout.line(), timeout.column()), (Some(4), Some(11)));
    assert_eq!((cooldown.line(), cooldown.column()), (Some(6), Some(12)));
    assert_eq!(timeout.key(), "dependency.payments.timeout");
    assert_eq!(timeout.value(), Some("30"));
    assert_eq!(timeout.suggestion(), Some("\"30ms\" or \"30s\""));
    assert_eq!(cooldown.suggestion(), Some("\"5000ms\" or \"5000s\""));
    for (millis, seconds) in [("30ms", "5000ms"), ("30s", "5000s")] {
        good(
            &text
                .replace("= 30", &format!("= \"{millis}\""))
                .replace("= 5000", &format!("= \"{seconds}\"")),
        );
    }
}

#[test]
fn case_2_each_spelling_of_a_duration_is_exact_or_gets_ours() {
    let with = |value: &str| format!("version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = {value}\n");
    for (value, exact) in [
        ("\"1.5s\"", Duration::from_millis(1500)),
        ("\"5m\"", Duration::from_secs(300)),
        ("\"1h30m\"", Duration::from_secs(5400)),
        ("\"500us\"", Duration::from_micros(500)),
    ] {
        assert_eq!(common::dependency(&with(value), "x").timeout, Some(exact), "{value}");
    }
    for (value, name, ours) in [
        ("30s", "syntax", Some("\"30s\"")),
        ("\"30 sec\"", "bad_duration", Some("\"30s\"")),
        ("\"30S\"", "bad_duration", Some("\"30s\"")),
        ("\"5min\"", "bad_duration", Some("\"5m\"")),
        ("\"PT30S\"", "bad_duration", Some("\"30s\"")),
        ("\"00:00:30\"", "bad_duration", Some("\"30s\"")),
        ("00:00:30", "bad_duration", Some("\"30s\"")),
        ("\"30\"", "bad_duration", Some("\"30ms\" or \"30s\"")),
        ("\"\"", "bad_duration", None),
        ("\" 30s \"", "bad_duration", Some("\"30s\"")),
        ("\"500µs\"", "bad_duration", Some("\"500us\"")),
        ("\"500μs\"", "bad_duration", Some("\"500us\"")),
        ("\"1d\"", "bad_duration", Some("\"24h\"")),
        ("\"1M\"", "bad_duration", Some("\"1m\"")),
    ] {
        let fault = only(&with(value));
        assert_eq!((fault.name(), fault.suggestion()), (name, ours), "{value}: {fault}");
        assert_eq!((fault.line(), fault.column()), (Some(4), Some(11)), "{value}");
        if let Some(ours) = ours.filter(|ours| !ours.contains(" or ")) {
            good(&with(ours));
        }
    }
}

#[test]
fn case_3_a_rate_is_a_fraction() {
    for value in ["0.5", "1", "1.0", "5e-1"] {
        good(&breaker(&format!("failure_rate = {value}")));
    }
    for (value, suggestion) in [
        ("50", Some("0.5")),
        ("100", Some("1")),
        ("\"50%\"", Some("0.5")),
        ("50%", Some("0.5")),
        ("0,5", Some("0.5")),
        (".5", Some("0.5")),
        ("1.5", None),
    ] {
        let fault = only(&breaker(&format!("failure_rate = {value}")));
        assert_eq!((fault.line(), fault.column()), (Some(6), Some(16)), "{value}");
        assert_eq!(fault.suggestion(), suggestion, "{value}: {fault}");
        assert_eq!(fault.key(), "dependency.x.breaker.failure_rate");
    }
}

#[test]
fn case_4_a_misspelt_key_gets_the_nearest() {
    let text = "version = 1\n[dependency.payments]\nfail = \"open\"\ntimeout = \"1s\"\n[dependency.payments.breaker]\nfailure_rte = 0.5\nminimum-calls  = 20\ncoolDown       = \"5s\"\nprobe = 3\n";
    let found = error(text);
    let suggestions: Vec<_> = found
        .faults()
        .iter()
        .map(|fault| (fault.line(), fault.suggestion()))
        .collect();
    let expected = [
        (Some(6), Some("failure_rate")),
        (Some(7), Some("minimum_calls")),
        (Some(8), Some("cooldown")),
        (Some(9), Some("probes")),
    ];
    assert_eq!(suggestions, expected);
    let mut text = text.to_owned();
    for (left, (wrong, right)) in [
        (3, ("failure_rte", "failure_rate")),
        (2, ("minimum-calls", "minimum_calls")),
        (1, ("coolDown", "cooldown")),
    ] {
        text = text.replace(wrong, right);
        assert_eq!(error(&text).faults().len(), left);
    }
    good(&text.replace("probe =", "probes ="));
}

#[test]
fn case_4_a_synonym_is_named_and_a_far_word_gets_the_list() {
    for (foreign, ours) in [
        ("errorThresholdPercentage", "failure_rate"),
        ("sleepWindowInMilliseconds", "cooldown"),
        ("resetTimeout", "cooldown"),
        ("BreakDuration", "cooldown"),
        ("maxAttempts", "max_attempts"),
    ] {
        let fault = only(&breaker(&format!("{foreign} = 1")));
        assert_eq!(fault.name(), "unknown_key");
        assert!(
            format!("{} {}", fault.message(), fault.suggestion().unwrap_or("")).contains(ours),
            "{fault}"
        );
    }
    let fault = only(&breaker("zebra = 1"));
    assert_eq!(fault.suggestion(), None);
    assert!(fault.allowed().is_some_and(|allowed| allowed.contains("sample_every")));
}

#[test]
fn case_5_a_right_key_in_the_wrong_table_is_told_where_it_belongs() {
    let text = "version = 1\nminimum_calls = 10\n[dependancy.payments.breaker]\nfailure_rate = 0.5\n[dependency.ledger]\nfail = \"open\"\n[dependency.ledger.retry]\nmax_attempts = 3\nminimum_calls = 20\n[payments.breaker]\nwindow = \"5 calls\"\n[dependency.api.example.com]\ntimeout = \"1s\"\n";
    let error = error(text);
    let messages: Vec<_> = error
        .faults()
        .iter()
        .map(|fault| (fault.line(), fault.message().to_owned()))
        .collect();
    let says = |at: usize, line: u32, words: &str| {
        assert_eq!(messages[at].0, Some(line), "{error}");
        assert!(messages[at].1.contains(words), "{error}");
    };
    assert_eq!(messages.len(), 5, "{error}");
    says(0, 2, "belongs to `[dependency.NAME.breaker]`");
    says(1, 3, "did you mean `dependency`?");
    says(2, 9, "`minimum_calls` belongs to dependency.ledger.breaker");
    says(3, 10, "its header is `[dependency.payments.breaker]`");
    says(4, 12, "`api.example.com`");
    assert_eq!(error.faults()[4].suggestion(), Some("[dependency.api-example-com]"));
}

#[test]
fn case_6_negative_numbers_are_refused_with_the_way_to_say_it() {
    let bulkhead = |value: &str| format!("{BASE}[dependency.x.bulkhead]\nmax_concurrent = {value}\n");
    for (text, way) in [
        (breaker("minimum_calls = -1"), "the least is 1"),
        (bulkhead("-1"), "`bulkhead = false`"),
        (bulkhead("-0"), "`bulkhead = false`"),
        (
            format!("{BASE}[dependency.x.retry]\nmax_attempts = -1\n"),
            "1 is no retry",
        ),
        (breaker("failure_rate = -0.5"), "`false` switches it off"),
        (breaker("failure_rate = -0.0"), "`false` switches it off"),
        (BASE.replace("\"1s\"", "\"-1s\""), "the longest is \"24h\""),
    ] {
        let fault = only(&text);
        assert_eq!(fault.name(), "out_of_range");
        assert!(fault.message().contains(way), "{fault}");
        assert!(fault.allowed().is_some());
    }
}

#[test]
fn case_7_zero_has_a_stated_meaning() {
    for text in [
        breaker("cooldown = \"0s\""),
        breaker("window = \"0s\""),
        breaker("window = \"0 calls\""),
        breaker("minimum_calls = 0"),
        breaker("probes = 0"),
        breaker("probe_successes = 0"),
        breaker("failure_rate = 0.0"),
        breaker("failure_rate = 1e-400"),
        BASE.replace("1s", "0ms"),
        format!("{BASE}[dependency.x.bulkhead]\nmax_concurrent = 0\n"),
        format!("{BASE}[dependency.x.retry]\nmax_attempts = 0\n"),
    ] {
        assert_eq!(only(&text).name(), "out_of_range", "{text}");
    }
    let x = common::dependency(&format!("{BASE}[dependency.x.retry]\nbackoff = \"0s\"\n"), "x");
    assert_eq!(x.retry.unwrap().backoff, Duration::ZERO);
    good(&format!(
        "{BASE}[dependency.x.bulkhead]\nmax_concurrent = 1\nmax_wait = \"0s\"\nmax_waiting = 0\n"
    ));
    assert_eq!(
        common::dependency(&breaker("failure_rate = false"), "x")
            .breaker
            .unwrap()
            .failure_rate,
        None
    );
}

#[test]
fn case_8_what_is_no_number_is_refused() {
    for value in ["nan", "-nan", "inf", "-inf", "NaN", "Infinity", "null"] {
        for key in ["failure_rate", "cooldown_jitter", "cooldown_factor"] {
            let fault = only(&breaker(&format!("{key} = {value}")));
            assert!(matches!(fault.name(), "out_of_range" | "syntax"), "{fault}");
        }
    }
    assert!(
        only(&breaker("failure_rate = null"))
            .message()
            .contains("remove the key")
    );
    assert_eq!(only(&BASE.replace("\"1s\"", "\"inf\"")).name(), "out_of_range");
    assert_eq!(only(&BASE.replace("\"1s\"", "inf")).name(), "bad_duration");
}

#[test]
fn case_9_inheritance_cannot_loop() {
    let text = "version = 1\n[template.http]\ninherits = \"http\"\n[dependency.a]\nfail = \"open\"\ninherits = \"b\"\n[dependency.b]\nfail = \"open\"\ninherits = \"a\"\n[dependency.d]\nfail = \"open\"\ninherits = \"htp\"\nbreaker = {}\n";
    let error = error(text);
    let found: Vec<_> = error
        .faults()
        .iter()
        .map(|fault| (fault.line(), fault.name(), fault.suggestion()))
        .collect();
    assert_eq!(
        found,
        [
            (Some(3), "unknown_key", None),
            (Some(6), "unknown_name", None),
            (Some(9), "unknown_name", None),
            (Some(12), "unknown_name", Some("http")),
        ],
        "{error}"
    );
    assert!(error.faults()[1].message().contains("`b` is a dependency"));
}

#[test]
fn case_10_a_minimum_that_the_window_cannot_hold() {
    let fault = only(&breaker("window = \"50 calls\"\nminimum_calls = 100"));
    assert_eq!(
        (fault.name(), fault.line(), fault.column()),
        ("contradiction", Some(7), Some(1))
    );
    assert_eq!(fault.related()[0].line, 6);
    good(&breaker("window = \"1s\"\nminimum_calls = 5000"));
}

#[test]
fn case_11_times_that_contradict_each_other_show_both_places() {
    let text = "version = 1\n[dependency.payments]\nfail = \"open\"\ntimeout  = \"2s\"\ndeadline = \"3s\"\n[dependency.payments.retry]\nmax_attempts = 5\nbackoff      = \"500ms\"\nbackoff_max  = \"100ms\"\n[dependency.payments.breaker]\nwindow   = \"1s\"\ncooldown = \"100ms\"\n[dependency.payments.bulkhead]\nmax_concurrent = 5\nmax_wait = \"5s\"\n";
    let error = error(text);
    let found: Vec<_> = error
        .faults()
        .iter()
        .map(|fault| (fault.line(), fault.name(), fault.related()[0].line))
        .collect();
    assert_eq!(
        found,
        [(Some(9), "contradiction", 8), (Some(15), "contradiction", 5)],
        "{error}"
    );
}

#[test]
fn case_12_what_is_defined_twice_shows_both_places() {
    let text = "version = 1\n[dependency.payments]\nfail = \"open\"\ntimeout = \"1s\"\n[dependency.payments.breaker]\nminimum_calls = 10\nminimum_calls = 20\n[dependency.payments.breaker]\ncooldown = \"5s\"\n[dependency.\"payments\".breaker]\ncooldown = \"6s\"\n[Dependency.ledger]\ntimeout = \"2s\"\n";
    let error = error(text);
    let twice: Vec<_> = error
        .faults()
        .iter()
        .filter(|fault| fault.name() == "duplicate")
        .map(|fault| (fault.line(), fault.related()[0].line))
        .collect();
    assert_eq!(
        twice,
        [(Some(7), 6), (Some(8), 5), (Some(10), 5), (Some(11), 9)],
        "{error}"
    );
    let last = error.faults().last().unwrap();
    assert_eq!(
        (last.name(), last.line(), last.suggestion()),
        ("unknown_key", Some(12), Some("dependency"))
    );

    let same = only("version = 1\nversion = 1\n");
    assert!(same.message().contains("both say the same"), "{same}");
    let dotted = only("version = 1\ndependency.x.timeout = \"1s\"\n[dependency.x]\nfail = \"open\"\n");
    assert_eq!((dotted.name(), dotted.line()), ("duplicate", Some(3)));
    let inline = error_of_inline_table();
    assert_eq!(
        (inline.name(), inline.line(), inline.related()[0].line),
        ("duplicate", Some(3), 2)
    );
}

fn error_of_inline_table() -> resilience_policy::Fault {
    only("version = 1\ndependency.x = { fail = \"open\" }\n[dependency.x.breaker]\nwindow = \"1s\"\n")
}

#[test]
fn case_13_foreign_syntax_is_named() {
    let line = |line: &str| format!("version = 1\n[dependency.x]\nfail = \"open\"\n{line}\n");
    for (text, name, words) in [
        (breaker("minimum_calls = \"20\""), "wrong_type", "a whole number"),
        (breaker("minimum_calls = 20.0"), "wrong_type", "20.0"),
        (breaker("minimum_calls = 1e3"), "wrong_type", "1e3"),
        (breaker("minimum_calls = 0x10"), "wrong_type", "decimal"),
        (breaker("minimum_calls = 020"), "syntax", "begin with 0"),
        (line("breaker = yes"), "syntax", "`true` or `false`"),
        (line("breaker = True"), "syntax", "`true` or `false`"),
        (line("breaker = 1"), "wrong_type", "a table"),
        (line("breaker = \"true\""), "wrong_type", "a table"),
        (line("timeout = [\"1s\"]"), "wrong_type", "not a list"),
        (
            "version = 1\n[[dependency.payments]]\nfail = \"open\"\n".into(),
            "wrong_type",
            "single brackets",
        ),
        (
            "version = 1\n[dependency]\npayments = \"1s\"\n".into(),
            "wrong_type",
            "is a table",
        ),
        (line("timeout: \"1s\""), "syntax", "not by `:`"),
        (line("timeout = \"1s\";"), "syntax", "`;`"),
        (line("// comment"), "syntax", "begins with `#`"),
        (line("timeout = \"1s\" // comment"), "syntax", "begins with `#`"),
        (
            "version: 1\ndependency:\n  x:\n    timeout: 1s\n".into(),
            "syntax",
            "YAML",
        ),
        ("{\n \"version\": 1\n}\n".into(), "syntax", "JSON"),
        (line("timeout = ${PAY_TIMEOUT}"), "syntax", "placeholder"),
        (line("timeout = \"${PAY_TIMEOUT}\""), "bad_duration", "placeholder"),
        (line("timeout = \"{{ .Values.t }}\""), "bad_duration", "placeholder"),
    ] {
        let fault = only(&text);
        assert_eq!(fault.name(), name, "{fault}");
        assert!(fault.message().contains(words), "{fault}");
    }
    let merge = error("version = 1\n<<<<<<< HEAD\n[dependency.x]\n=======\n[dependency.y]\n>>>>>>> theirs\n");
    assert!(merge.faults()[0].message().contains("unfinished merge"));
    assert_eq!(merge.faults()[0].line(), Some(2));
}

#[test]
fn case_14_an_empty_file_is_no_policy() {
    for text in ["", "# only a comment\n", "\n \n\n"] {
        let fault = only(text);
        assert_eq!((fault.name(), fault.key()), ("missing_key", "version"));
        assert!(fault.message().contains("empty"), "{fault}");
    }
    let bare = only("version = 1\n[dependency.payments]\n");
    assert_eq!(
        (bare.name(), bare.key(), bare.line()),
        ("missing_key", "dependency.payments.fail", Some(2))
    );
}

#[test]
fn case_15_line_ends_change_nothing_but_line_ends() {
    let text = "version = 1\n[dependency.x]\n\tfail = \"open\" # ä\n\ttimeout = \"1s\"";
    let hash = good(text).hash().to_owned();
    let crlf = text.replace('\n', "\r\n");
    let mixed = text.replacen('\n', "\r\n", 1);
    for same in [format!("\u{feff}{text}"), crlf, mixed, format!("{text}\n")] {
        assert_eq!(good(&same).hash(), hash);
    }
    let bad = format!("{text}\nmode = \"x\"\n");
    assert_eq!(places(&bad), places(&bad.replace('\n', "\r\n")));
    assert_eq!(places(&format!("\u{feff}{bad}")), places(&bad));
    for (text, character) in [
        (format!("version = 1\n\u{feff}{text}"), "U+FEFF"),
        ("version = 1\r[dependency.x]\r".into(), "U+000D"),
        (format!("{text}\n\u{1a}"), "U+001A"),
        ("version = 1\n\0".into(), "U+0000"),
    ] {
        let fault = only(&text);
        assert_eq!(fault.name(), "encoding");
        assert!(fault.message().contains(character), "{fault}");
    }
}

#[test]
fn case_15_bytes_that_are_no_text_are_named_at_the_byte() {
    let fault = Policy::parse(b"version = 1\n# caf\xE9\n", Path::new("p.toml"), &[])
        .unwrap_err()
        .faults()[0]
        .clone();
    assert_eq!(
        (fault.name(), fault.line(), fault.column()),
        ("encoding", Some(2), Some(6))
    );
    assert!(fault.message().contains("0xE9"));
    let fault = Policy::parse(b"\xFF\xFEv\0", Path::new("p.toml"), &[])
        .unwrap_err()
        .faults()[0]
        .clone();
    assert!(fault.message().contains("UTF-16"));
}

#[test]
fn case_19_ten_thousand_dependencies_load() {
    use std::fmt::Write as _;
    let mut text = String::from("version = 1\n");
    for n in 0..10_000 {
        let _ = write!(
            text,
            "[dependency.d{n}]\nfail = \"open\"\ntimeout = \"1s\"\n[dependency.d{n}.breaker]\nwindow = \"10s\"\nminimum_calls = 20\n[dependency.d{n}.bulkhead]\nmax_concurrent = 20\n[dependency.d{n}.retry]\nmax_attempts = 2\n[dependency.d{n}.fallback]\nmax_stale = \"1m\"\n"
        );
    }
    let begun = Instant::now();
    let policy = good(&text);
    let taken = begun.elapsed();
    assert_eq!(policy.dependencies().count(), 10_000);
    let edited = good(&text.replacen("window = \"10s\"", "window = \"11s\"", 1));
    let changes = policy.diff(&edited);
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (changes[0].key(), changes[0].old(), changes[0].new()),
        ("dependency.d0.breaker.window", "10s", "11s")
    );
    // A bound that only a quadratic step would break, even without optimisation and on a busy machine.
    assert!(taken < Duration::from_secs(60), "{taken:?}");
}

#[test]
fn case_20_awkward_names_are_refused_in_escaped_form() {
    let long = "a".repeat(4096);
    for (name, shown) in [
        ("\"api.example.com\"", "api.example.com"),
        ("\"https://x/y?z=1\"", "https://x/y?z=1"),
        ("\"a\\nb\"", "a\\nb"),
        ("\"a\\\"b\"", "a\"b"),
        ("\"\"", "empty"),
        ("\" payments \"", " payments "),
        ("\"支付\"", "支付"),
        ("\"<script>alert(1)</script>\"", "<script>"),
        ("\"../../etc/passwd\"", "../../etc/passwd"),
        ("\"%s%n\"", "%s%n"),
        (&long, "longer than 64"),
        ("defaults", "a word of the file"),
        ("breaker", "a word of the file"),
    ] {
        let fault = only(&format!("version = 1\n[dependency.{name}]\nfail = \"open\"\n"));
        assert_eq!(
            (fault.name(), fault.line(), fault.column()),
            ("bad_name", Some(2), Some(13)),
            "{fault}"
        );
        assert!(fault.message().contains(shown), "{fault}");
        assert!(!fault.to_string().lines().next().unwrap().contains('\n'));
    }
    assert_eq!(
        only("version = 1\n[dependency.paiement-é]\nfail = \"open\"\n").name(),
        "syntax"
    );
    good(&format!(
        "version = 1\n[dependency.constructor]\nfail = \"open\"\n[dependency.{}]\nfail = \"open\"\n",
        "a".repeat(64)
    ));
    let alike = only("version = 1\n[dependency.a-b]\nfail = \"open\"\n[dependency.a_b]\nfail = \"open\"\n");
    assert_eq!(
        (alike.name(), alike.line(), alike.related()[0].line),
        ("bad_name", Some(4), 2)
    );
}

#[test]
fn c1_the_text_of_a_fault_names_everything() {
    let fault = only("version = 1\r\n[dependency.\"ä\"]\r\nfail = \"open\"");
    assert_eq!((fault.column(), fault.end_column()), (Some(13), Some(16)));
    let text = format!("{BASE}deadline = 5 # {}", "x".repeat(300));
    let shown = error(&text).to_string();
    let mut lines = shown.lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("resilience.toml:5:12: dependency.x.deadline: "),
        "{shown}"
    );
    assert!(lines.next().unwrap().chars().count() < 135, "{shown}");
    assert_eq!(lines.next().unwrap().find('^'), Some(19), "{shown}");
}

#[test]
fn c2_the_first_fifty_are_printed_and_the_rest_counted() {
    use std::fmt::Write as _;
    let mut text = String::from(BASE);
    for n in 0..1200 {
        let _ = writeln!(text, "zebra{n} = 1");
    }
    let error = error(&text);
    assert_eq!((error.faults().len(), error.total()), (1000, 1200));
    let shown = error.to_string();
    assert_eq!(shown.matches("unknown key").count(), 50);
    assert!(shown.ends_with("… and 1150 more"), "{shown}");
    assert_eq!(format!("{error:?}"), shown);
}

#[test]
fn c2_faults_of_syntax_do_not_hide_the_others() {
    let text = "version = 1\n[dependency.x]\ntimeout = 30s\nmode = \"obsrve\"\n[dependency.y]\ntimeout = \"1s\"\n[dependency.y.breaker]\nminimum_calls = 020\nwindow = \"10 calls\"\n";
    let found: Vec<_> = error(text).faults().iter().map(common::place).collect();
    let expected = [
        (2, 1, "missing_key".to_owned()),
        (3, 11, "syntax".into()),
        (4, 8, "out_of_range".into()),
        (5, 1, "missing_key".into()),
        (8, 17, "syntax".into()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn c9_size_and_depth_are_bounded_before_parsing() {
    let large = vec![b' '; 16 * 1024 * 1024 + 1];
    let error = Policy::parse(&large, Path::new("p.toml"), &[]).unwrap_err();
    assert_eq!(
        (error.faults()[0].name(), error.faults()[0].line()),
        ("too_large", None)
    );
    assert!(error.is_unreadable());
    for deep in [
        format!("a{} = 1", ".b".repeat(20)),
        format!("a = {}", "[".repeat(100_000)),
        format!("[a{}]", ".b".repeat(100_000)),
    ] {
        let begun = Instant::now();
        let fault = only(&format!("version = 1\n{deep}\n"));
        assert_eq!((fault.name(), fault.line()), ("too_deep", Some(2)));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    good(&breaker("ramp = [0.05, 0.25]"));
}

#[test]
fn c9_what_is_no_regular_file_is_one_fault_without_a_place() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_path_buf(), folder.path().join("none.toml")] {
        let error = Policy::read(&path).unwrap_err();
        let [fault] = error.faults() else { panic!("{error}") };
        assert_eq!((fault.name(), fault.line(), fault.column()), ("unreadable", None, None));
        assert!(error.is_unreadable());
        assert!(error.to_string().starts_with(&path.display().to_string()));
    }
}

#[test]
fn c2_an_open_list_is_told_once_and_hides_nothing() {
    let text = "version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"1s\"\nfailures = [\"timeout\"\nmode = \"x\"\n[dependency.y]\nfail = 1\n";
    let found = places(text);
    let expected = [
        (5, 12, "syntax".to_owned()),
        (6, 8, "out_of_range".into()),
        (8, 8, "wrong_type".into()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn c2_what_stands_below_a_broken_header_is_not_blamed_on_the_table_above() {
    let text = "version = 1\n[dependency.x]\nfail = \"open\"\n[template.ht tp]\ntimeout = \"1s\"\nfail = \"open\"\n[dependency.y]\ninherits = \"http\"\nfail = \"open\"\nbreaker = {}\n";
    assert_eq!(places(text), [(4, 13, "syntax".to_owned())]);
}

#[test]
fn c2_a_half_written_file_says_so() {
    for text in [format!("{BASE}[dependency.x.brea"), format!("{BASE}deadline = \"5")] {
        let fault = only(&text);
        assert_eq!(fault.name(), "syntax");
        assert!(fault.message().contains("may still be being written"), "{fault}");
    }
}
