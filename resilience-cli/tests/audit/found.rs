//! Guarded functions are found however they are written.

use super::Tree;

#[test]
fn layers_are_told_in_their_order_and_fallbacks_in_theirs() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::{breaker, bulkhead, fallback, retry};
        #[fallback(cached)]
        #[retry]
        #[breaker("payrail")]
        #[fallback(value = 1)]
        #[bulkhead(key = n)]
        async fn charge(n: u32) -> Result<u32, Error> { Ok(n) }
        async fn cached(n: u32) -> Result<u32, Error> { Ok(n) }
        "#,
    );
    assert_eq!(tree.guarded(), ["payrail charge [bulkhead retry breaker] path value"]);
    assert_eq!(tree.gaps(), [""; 0]);
}

#[test]
fn every_form_of_fallback_is_told_with_its_words() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::*;
        #[breaker("payrail")] #[fallback(with = Self::spare, one_per = (a, b))] async fn a(a: u8, b: u8) {}
        #[breaker("payrail")] #[fallback(stale(key = id))] #[fallback(none = "nothing; really")] async fn b(id: u8) {}
        #[breaker("payrail")] #[fallback(stale(shared))] #[fallback(refuse = Error::Refused)] async fn c() {}
        "#,
    );
    let (_, out, _) = tree.run(&[]);
    for words in [
        "with = Self::spare, one_per = (a, b)",
        "stale(key = id), then none = \"nothing; really\"",
        "stale(shared), then refuse = Error::Refused",
    ] {
        assert!(out.contains(words), "no {words} in\n{out}");
    }
}

#[test]
fn renamed_imports_paths_and_conditions_are_seen_through() {
    let tree = Tree::of(
        r#"
        mod guards { pub use resilience_runtime::retry as again; }
        use resilience_runtime as rt;
        use resilience_runtime::{breaker as fuse, fallback as instead};
        use guards::again;
        #[fuse("payrail")] #[instead(none = "x")] async fn renamed() {}
        #[rt::breaker("payrail")] #[rt::fallback(none = "x")] async fn by_path() {}
        #[fuse("payrail")] #[again] #[::resilience_runtime::fallback(none = "x")] async fn through_a_module() {}
        #[cfg_attr(feature = "guards", fuse("payrail"), instead(none = "x"))] async fn on_condition() {}
        #[fuse("payrail")] #[cfg_attr(all(), cfg_attr(unix, rt::bulkhead))] #[instead(none = "x")] async fn twice() {}
        "#,
    );
    assert_eq!(
        tree.guarded(),
        [
            "payrail renamed [breaker] none",
            "payrail by_path [breaker] none",
            "payrail through_a_module [retry breaker] none",
            "payrail on_condition [breaker] none",
            "payrail twice [bulkhead breaker] none",
        ]
    );
    let (_, out, _) = tree.run(&[]);
    assert!(out.contains("breaker (if feature = \"guards\")"), "{out}");
}

#[test]
fn methods_traits_modules_and_nested_functions_are_named_by_their_owner() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::{breaker, fallback};
        impl Desk { #[breaker("payrail")] #[fallback(none = "x")] async fn ask(&self) {} }
        #[async_trait::async_trait]
        impl Gateway for Net<'_> { #[breaker("payrail")] #[fallback(none = "x")] async fn send(&self) {} }
        trait Gateway { #[breaker("payrail")] #[fallback(none = "x")] async fn twice(&self) {} }
        mod deep { mod er { #[super::super::breaker("payrail")] #[super::super::fallback(none = "x")] async fn down() {} } }
        fn outer() { #[breaker("payrail")] #[fallback(none = "x")] async fn inner() {} }
        "#,
    );
    let names: Vec<String> = tree
        .guarded()
        .iter()
        .map(|line| line.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(names, ["Desk::ask", "Net::send", "Gateway::twice", "down", "inner"]);
}

#[test]
fn functions_that_macros_make_are_found_as_far_as_their_tokens_tell() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::{breaker, bulkhead, fallback};
        macro_rules! fixed { ($name:ident) => {
            #[breaker("payrail")] #[bulkhead] #[fallback(none = "x")] pub(crate) async fn $name() {}
        } }
        macro_rules! named { ($($name:ident $dependency:literal),*) => { $(
            #[breaker($dependency)] #[fallback(none = "x")] async fn $name() {}
        )* } }
        fixed!(one);
        named!(two "redis");
        cfg_if! { if #[cfg(unix)] { #[breaker("payrail")] #[fallback(none = "x")] async fn inside() {} } }
        "#,
    );
    assert_eq!(
        tree.guarded(),
        [
            "payrail $name (in `fixed!`) [bulkhead breaker] none",
            "payrail inside [breaker] none"
        ]
    );
    let report = tree.json();
    assert_eq!(report["dependencies"][1]["name"], "redis");
    assert_eq!(report["dependencies"][1]["by_hand"][0]["how"], "`named!`");
    assert_eq!(report["gaps"].as_array().unwrap().len(), 0, "{report:#}");
}

#[test]
fn attributes_of_the_same_name_that_are_not_ours_are_left_alone() {
    let tree = Tree::of(
        r"
        use rstest::timeout;
        #[timeout(100)] async fn theirs() {}
        #[retry(times = 3)] async fn also_theirs() {}
        ",
    );
    assert_eq!(tree.guarded(), [""; 0]);
    assert_eq!(tree.gaps(), [""; 0]);
}

#[test]
fn a_guard_asked_for_by_hand_names_its_dependency() {
    let tree = Tree::of(
        r#"
        async fn work(runtime: &Runtime) {
            let guard = runtime.guard("payrail").unwrap();
            guard.call(|| async { reqwest::get("http://payrail").await }).await;
        }
        "#,
    );
    assert_eq!(tree.gaps(), [""; 0]);
    assert_eq!(tree.json()["dependencies"][0]["by_hand"][0]["how"], "`guard` in work");
}

#[test]
fn a_client_in_a_tower_layer_is_guarded_by_layer() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::tower::{GuardLayer, GuardService};
        struct Shop { prices: GuardService<reqwest::Client> }
        impl Shop {
            fn new(runtime: &Runtime) -> Self {
                Self { prices: GuardLayer::new(runtime.guard("payrail").unwrap()).layer(reqwest::Client::new()) }
            }
            async fn price(&mut self) -> Price { self.prices.call(request()).await }
        }
        fn stack(runtime: &Runtime) -> Stack {
            let guard = runtime.guard("payrail")?;
            let layer = resilience_runtime::tower::GuardLayer::new(guard.clone()).classify(result);
            ServiceBuilder::new().layer(layer).service(reqwest::Client::new())
        }
        async fn other(runtime: &Runtime) { runtime.guard("payrail").unwrap(); }
        "#,
    );
    assert_eq!(tree.gaps(), [""; 0]);
    let by_hand = &tree.json()["dependencies"][0]["by_hand"];
    let told: Vec<_> = (0..3)
        .map(|at| (by_hand[at]["how"].as_str().unwrap(), by_hand[at]["layer"] == true))
        .collect();
    assert_eq!(
        told,
        [
            ("`GuardLayer` in Shop::new", true),
            ("`GuardLayer` in stack", true),
            ("`guard` in other", false),
        ]
    );
    let (_, table, _) = tree.run(&[]);
    assert_eq!(
        (table.matches("by layer").count(), table.matches("by hand").count()),
        (2, 1),
        "{table}"
    );
}

#[test]
fn entries_that_no_code_names_are_gaps_with_their_line() {
    let source = r#"
        #[resilience_runtime::breaker("payrail")] #[resilience_runtime::fallback(none = "x")] async fn charge() {}
    "#;
    let refund = format!(
        "{}[dependency.payrail.operation.refund]\ntimeout = \"2s\"\n",
        super::POLICY
    );
    let tree = Tree::of(source).with("resilience.toml", &refund);
    let (code, out, _) = tree.run(&[]);
    assert_eq!(code, 1);
    assert!(
        out.contains("resilience.toml:9: no code names the dependency `redis`: remove its entry"),
        "{out}"
    );
    assert!(
        out.contains("resilience.toml:13: no code names the operation `payrail.refund`"),
        "{out}"
    );
    let computed = format!("{source} fn any(r: Runtime, name: &str) {{ r.guard(name); }}");
    let tree = Tree::of(&computed);
    let (code, out, _) = tree.run(&[]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("perhaps unused:\n"), "{out}");
}

#[test]
fn what_would_not_compile_is_told_here_too() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::*;
        #[breaker("payrial")] #[fallback(none = "x")] async fn misspelt() {}
        #[bulkhead("redis")] #[fallback(none = "x")] async fn layer() {}
        #[breaker("payrail")] async fn undecided() {}
        "#,
    );
    assert_eq!(
        tree.gaps(),
        [
            "unknown_dependency misspelt",
            "missing_layer layer",
            "no_fallback undecided"
        ]
    );
    assert!(tree.run(&[]).1.contains("did you mean `payrail`?"));
}
