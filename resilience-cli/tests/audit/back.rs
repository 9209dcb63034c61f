//! Fallbacks that call the dependency they stand in for.

use super::Tree;

#[test]
fn a_fallback_that_calls_its_dependency_is_told_with_the_way() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::{breaker, fallback};
        #[breaker("payrail")] #[fallback(spare)] async fn charge(n: u8) -> Result<u8, Error> { Ok(n) }
        async fn spare(n: u8) -> Result<u8, Error> { again(n).await }
        async fn again(n: u8) -> Result<u8, Error> { other(n).await }
        #[breaker("payrail")] #[fallback(none = "x")] async fn other(n: u8) -> Result<u8, Error> { Ok(n) }
        "#,
    );
    assert_eq!(tree.gaps(), ["circular_fallback charge"]);
    let (code, out, _) = tree.run(&[]);
    assert_eq!(code, 1);
    let told = "src/lib.rs:3: charge: the fallback `spare` leads back to `payrail`, which it stands in for: spare → again → other";
    assert!(out.contains(told), "{out}");
    let report = tree.json();
    let path = report["gaps"][0]["path"].as_array().unwrap();
    assert_eq!(
        (path.len(), path[2]["function"].as_str(), path[2]["line"].as_u64()),
        (3, Some("other"), Some(6))
    );
}

#[test]
fn a_way_back_through_another_guarded_function_is_found() {
    // Through its body, and through its fallback.
    for redis in [
        r#"#[fallback(none = "x")] async fn cached(n: u8) -> Result<u8, Error> { charge(n).await }"#,
        "#[fallback(charge)] async fn cached(n: u8) -> Result<u8, Error> { Ok(n) }",
    ] {
        let tree = Tree::of(&format!(
            r#"
            use resilience_runtime::{{breaker, fallback}};
            #[breaker("payrail")] #[fallback(cached)] async fn charge(n: u8) -> Result<u8, Error> {{ Ok(n) }}
            #[breaker("redis")] {redis}
            "#
        ));
        let gaps = tree.gaps();
        assert!(
            gaps.contains(&"circular_fallback charge".to_owned()),
            "{redis}: {gaps:?}"
        );
        assert!(tree.run(&[]).1.contains("cached → charge"));
    }
}

#[test]
fn an_operation_is_part_of_its_dependency() {
    let policy = format!(
        "{}[dependency.payrail.operation.refund]\ntimeout = \"2s\"\n",
        super::POLICY
    );
    let tree = Tree::of(
        r#"
        use resilience_runtime::{timeout, fallback};
        #[timeout("payrail.refund")] #[fallback(with = spare)] async fn refund() -> Result<u8, Error> { Ok(1) }
        async fn spare(_: Failure<Error>) -> Result<u8, Error> { charge().await }
        #[timeout("payrail")] #[fallback(none = "x")] async fn charge() -> Result<u8, Error> { Ok(1) }
        "#,
    )
    .with("resilience.toml", &policy);
    assert_eq!(tree.gaps(), ["circular_fallback refund"]);
}

#[test]
fn methods_are_followed_by_the_types_of_receivers_fields_and_traits() {
    let tree = Tree::of(
        r#"
        mod pay;
        use resilience_runtime::{breaker, fallback};
        use crate::pay::{Charge, Payrail};
        struct Shop { payrail: Payrail, any: Box<dyn Charge> }
        impl Shop {
            #[breaker("payrail")] #[fallback(Self::a)] async fn by_field(&self) -> Result<u8, Error> { Ok(1) }
            async fn a(&self) -> Result<u8, Error> { self.payrail.charge().await }
            #[breaker("payrail")] #[fallback(Self::b)] async fn by_trait(&self) -> Result<u8, Error> { Ok(1) }
            async fn b(&self) -> Result<u8, Error> { self.any.charge().await }
            #[breaker("payrail")] #[fallback(Self::c)] async fn by_path(&self) -> Result<u8, Error> { Ok(1) }
            async fn c(&self) -> Result<u8, Error> { pay::free().await }
            #[breaker("payrail")] #[fallback(Self::d)] async fn by_local(&self) -> Result<u8, Error> { Ok(1) }
            async fn d(&self) -> Result<u8, Error> { let far = Payrail::new(); select! { r = far.charge() => r } }
            #[breaker("redis")] #[fallback(Self::a)] async fn not_back(&self) -> Result<u8, Error> { Ok(1) }
        }
        "#,
    )
    .with(
        "src/pay.rs",
        r#"
        use resilience_runtime::{breaker, fallback};
        pub struct Payrail;
        pub trait Charge { async fn charge(&self) -> Result<u8, Error>; }
        impl Payrail { pub fn new() -> Self { Self } }
        impl Charge for Payrail {
            #[breaker("payrail")] #[fallback(none = "x")] async fn charge(&self) -> Result<u8, Error> { Ok(1) }
        }
        mod deep { #[super::breaker("payrail")] #[super::fallback(none = "x")] pub async fn free() -> Result<u8, Error> { Ok(1) } }
        pub use deep::free;
        "#,
    );
    assert_eq!(
        tree.gaps(),
        ["by_field", "by_trait", "by_path", "by_local"].map(|name| format!("circular_fallback Shop::{name}"))
    );
}

#[test]
fn a_fallback_that_goes_elsewhere_is_no_gap() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::{breaker, fallback};
        #[breaker("payrail")] #[fallback(spare)] #[fallback(value = len(n))] async fn charge(n: u8) -> Result<u8, Error> { Ok(n) }
        async fn spare(n: u8) -> Result<u8, Error> { spare(n).await; cached(n).await }
        #[breaker("redis")] #[fallback(none = "x")] async fn cached(n: u8) -> Result<u8, Error> { Ok(n) }
        fn len(n: u8) -> u8 { n }
        "#,
    );
    assert_eq!(tree.gaps(), [""; 0]);
}
