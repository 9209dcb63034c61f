//! The formats, and what they are stable in.

use super::Tree;

const SOURCE: &str = r#"
use resilience_runtime::{breaker, bulkhead, fallback};
#[breaker("payrail")] #[bulkhead] #[fallback(spare)] #[fallback(none = "say \"no\" | <b>")]
async fn charge() -> Result<u8, Error> { Ok(1) }
async fn spare() -> Result<u8, Error> { charge().await }
async fn past() { reqwest::get("x").await; }
"#;

#[test]
fn the_table_groups_functions_by_dependency() {
    let (code, out, err) = Tree::of(SOURCE).run(&["--format", "table"]);
    assert_eq!((code, err.as_str()), (1, ""));
    let expected = "\
payrail: card payments, fail open  (resilience.toml:2)
  charge  bulkhead, breaker  spare, then none = \"say \"no\" | <b>\"  src/lib.rs:4

fallbacks that call what they stand in for:
  src/lib.rs:4: charge: the fallback `spare` leads back to `payrail`, which it stands in for: spare → charge

clients that no attribute guards:
  src/lib.rs:6: past: uses a client of `reqwest` at src/lib.rs:6 and no attribute guards it

policy entries that no code names:
  resilience.toml:9: no code names the dependency `redis`: remove its entry, or guard what calls it

";
    assert!(out.starts_with(expected), "{out}");
    assert!(out.ends_with("1 guarded function, 1 dependency, 3 gaps\n"), "{out}");
    assert_eq!(
        Tree::of(SOURCE).run(&["--format", "text"]).1.lines().next(),
        out.lines().next()
    );
}

#[test]
fn json_has_the_same_keys_always() {
    for source in [SOURCE, ""] {
        let report = Tree::of(source).json();
        let keys: Vec<&String> = report.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "dependencies",
                "gaps",
                "never_ran",
                "ok",
                "path",
                "policies",
                "uncertain",
                "unguarded_on_purpose"
            ]
        );
        for gap in report["gaps"].as_array().unwrap() {
            let keys: Vec<&String> = gap.as_object().unwrap().keys().collect();
            assert_eq!(
                keys,
                [
                    "client",
                    "column",
                    "dependency",
                    "file",
                    "function",
                    "kind",
                    "line",
                    "message",
                    "path"
                ]
            );
        }
    }
    let report = Tree::of(SOURCE).json();
    let function = &report["dependencies"][0]["functions"][0];
    assert_eq!((&function["line"], &function["column"]), (&4.into(), &10.into()));
    assert_eq!(function["fallbacks"][1]["text"], "say \"no\" | <b>");
}

#[test]
fn the_graph_is_mermaid_and_nothing_in_it_is_markup() {
    let (code, out, _) = Tree::of(SOURCE).run(&["--format", "mermaid"]);
    assert_eq!(code, 1);
    assert!(out.starts_with("flowchart LR\n"), "{out}");
    assert!(out.contains("-->|\"bulkhead, breaker\"| n0"), "{out}");
    assert!(out.contains("none = #34;say #34;no#34; | #60;b#62;#34;"), "{out}");
    let red: Vec<&str> = out
        .lines()
        .filter(|line| line.trim_start().starts_with("linkStyle"))
        .collect();
    assert_eq!(red.len(), 1);
    // Every node that an edge names stands above it.
    let mut known = Vec::new();
    for line in out.lines().skip(1).map(str::trim) {
        let name = line.split(|c: char| !c.is_alphanumeric()).next().unwrap();
        if line.contains("--") || line.contains("-.-") {
            let to = line.rsplit(' ').next().unwrap();
            assert!(known.contains(&name) && known.contains(&to), "{line}\n{out}");
        } else {
            known.push(name);
        }
    }
}

#[test]
fn a_snapshot_names_the_fallbacks_that_never_ran() {
    let snapshot = r#"{
        "instance": "api-01",
        "policy": { "hash": "1", "file": "resilience.toml", "loaded_at": 1.0, "stale": false, "refusal": null },
        "dependencies": {
            "payrail": { "state": "closed", "mode": "enforce", "never_ran": ["path"] },
            "gone": { "state": null, "mode": "enforce", "never_ran": ["value"] }
        }
    }"#;
    let tree = Tree::of(SOURCE).with("seen.json", snapshot);
    let seen = tree.folder.path().join("seen.json");
    let (code, out, _) = tree.run(&["--snapshot", seen.to_str().unwrap()]);
    assert_eq!(code, 1, "the code has its gaps all the same");
    let expected = "fallbacks that never ran in that service, so nobody knows whether they work:
  src/lib.rs:4: charge: `path` of `payrail`
  → `resilience override payrail isolate --by … --reason \"exercise\" --for 1m` runs them on purpose
";
    assert!(out.contains(expected), "{out}");
    let (_, out, _) = tree.run(&["--format", "json", "--snapshot", seen.to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let expected = serde_json::json!([
        { "dependency": "payrail", "kind": "path", "function": "charge", "file": "src/lib.rs", "line": 4 }
    ]);
    assert_eq!(report["never_ran"], expected);
    assert!(Tree::of(SOURCE).json()["never_ran"].is_null());
    // Of two functions of one dependency, one has run its fallback, and the other has not.
    let two = r#"
        #[breaker("payrail")] #[fallback(later)] #[fallback(value = 0)] async fn charge() -> Result<u8, E> { x().await }
        #[breaker("payrail")] #[fallback(later)] async fn refund() -> Result<u8, E> { x().await }
        async fn later() -> Result<u8, E> { Ok(1) }
    "#;
    let forms = r#""never_ran": [], "untried": [
        { "function": "shop::charge", "kind": "value", "path": null },
        { "function": "shop::refund", "kind": "path", "path": "later" } ]"#;
    let tree = Tree::of(two).with("seen.json", &snapshot.replace(r#""never_ran": ["path"]"#, forms));
    let seen = tree.folder.path().join("seen.json");
    let (_, out, _) = tree.run(&["--format", "json", "--snapshot", seen.to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let told: Vec<_> = (0..2)
        .map(|at| (&report["never_ran"][at]["function"], &report["never_ran"][at]["kind"]))
        .collect();
    assert_eq!(
        told,
        [(&"charge".into(), &"value".into()), (&"refund".into(), &"path".into())]
    );
    assert!(report["never_ran"][2].is_null());
    let (code, _, err) = tree.run(&["--snapshot", "nowhere.json"]);
    assert_eq!(code, 2);
    assert!(err.starts_with("`nowhere.json` cannot be read"), "{err}");
}
