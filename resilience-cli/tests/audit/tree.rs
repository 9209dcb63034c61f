//! Trees as they are: packages, files that do not parse, policies that are not there.

use super::{POLICY, Tree};

#[test]
fn a_file_that_does_not_parse_is_told_and_stops_nothing() {
    let deep = format!("fn f() {{ {}1{} }}", "(".repeat(100_000), ")".repeat(100_000));
    let tree = Tree::of("#[resilience_runtime::breaker(\"payrail\")] #[resilience_runtime::fallback(none = \"x\")] async fn charge() {}")
        .with("src/broken.rs", "fn f( {\n")
        .with("src/half.rs", "fn ok() {}\nfn f() { let = }\n")
        .with("src/deep.rs", &deep)
        .with("src/bytes.rs", "");
    std::fs::write(tree.folder.path().join("src/bytes.rs"), b"fn f() {} // \xff").unwrap();
    assert_eq!(tree.gaps(), ["unread"; 4]);
    let (code, out, _) = tree.run(&[]);
    assert_eq!(code, 1);
    assert!(out.contains("payrail: card payments"), "{out}");
    assert!(out.contains("src/half.rs:2: cannot be parsed: "), "{out}");
    assert!(
        out.contains("src/deep.rs: cannot be read: it is nested deeper than 256"),
        "{out}"
    );
    assert!(out.contains("src/bytes.rs: cannot be read: it is not UTF-8"), "{out}");
}

#[test]
fn each_package_is_held_against_the_policy_it_reads() {
    let guarded = |name: &str| {
        format!(
            "#[resilience_runtime::breaker(\"{name}\")] #[resilience_runtime::fallback(none = \"x\")] async fn f() {{}}"
        )
    };
    let own = POLICY.replace("payrail", "ledger").replace("redis", "mail");
    let tree = Tree::of("")
        .with("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\n")
        .with("a/Cargo.toml", "[package]\nname = \"a\"\n")
        .with("a/src/lib.rs", &guarded("payrail"))
        .with("b/Cargo.toml", "[package]\nname = \"b\"\n")
        .with("b/resilience.toml", &own)
        .with("b/src/lib.rs", &guarded("ledger"));
    let report = tree.json();
    assert_eq!(report["policies"].as_array().unwrap().len(), 2);
    let unused: Vec<_> = report["gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gap| gap["dependency"].as_str().unwrap())
        .collect();
    assert_eq!(unused, ["redis", "mail"]);
    // Another crate of the tree is followed by its name.
    let back = format!(
        "{} async fn spare() {{ a::f().await }}",
        guarded("ledger").replace("none = \"x\"", "spare")
    );
    let tree = tree
        .with("b/src/lib.rs", &back)
        .with("a/src/lib.rs", &guarded("ledger").replace("async", "pub async"));
    assert!(
        tree.gaps().contains(&"circular_fallback f".to_owned()),
        "{:?}",
        tree.gaps()
    );
}

#[test]
fn a_named_policy_counts_for_all() {
    let tree = Tree::of("").with("other.toml", "version = 1\n[dependency.solo]\nfail = \"open\"\n");
    let other = tree.folder.path().join("other.toml");
    let (code, out, _) = tree.run(&["--policy", other.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(
        out.contains("other.toml:2: no code names the dependency `solo`"),
        "{out}"
    );
    assert!(!out.contains("redis"), "{out}");
}

#[test]
fn what_cannot_be_read_is_2_and_faults_of_the_policy_are_1() {
    let tree = Tree::of("");
    let (code, out, err) = tree.run(&["--policy", "nowhere.toml"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("nowhere.toml"), "{err}");
    let mut out = Vec::new();
    let mut err = Vec::new();
    let missing = tree.folder.path().join("nowhere");
    let words = ["resilience".into(), "audit".into(), missing.into_os_string()];
    assert_eq!(resilience_cli::run(words, &mut out, &mut err), 2);
    let tree = tree.with("resilience.toml", "version = 1\n[dependency.x]\nfial = \"open\"\n");
    assert!(tree.gaps().contains(&"policy".to_owned()), "{:?}", tree.gaps());
}

#[test]
fn a_tree_with_nothing_to_say_is_0() {
    let source = r#"
        #[resilience_runtime::breaker("payrail")] #[resilience_runtime::fallback(none = "x")] async fn a() {}
        #[resilience_runtime::breaker("redis")] #[resilience_runtime::fallback(none = "x")] async fn b() {}
    "#;
    let (code, out, err) = Tree::of(source).run(&[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.ends_with("2 guarded functions, 2 dependencies, 0 gaps\n"), "{out}");
}

#[test]
fn the_stagedoor_example_has_no_client_without_a_guard_or_a_reason() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/stagedoor");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = ["resilience", "audit", path, "--format", "json"].map(Into::into);
    resilience_cli::run(words, &mut out, &mut err);
    let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let gaps = report["gaps"].as_array().unwrap().iter();
    let gaps: Vec<_> = gaps.filter(|gap| gap["kind"] != "unused_entry").collect();
    assert_eq!(gaps, [&serde_json::Value::Null; 0]);
    assert_eq!(
        report["unguarded_on_purpose"].as_array().unwrap().len(),
        5,
        "{report:#}"
    );
}
