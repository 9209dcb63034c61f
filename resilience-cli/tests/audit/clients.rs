//! Clients that no attribute guards.

use super::Tree;

#[test]
fn clients_are_known_by_parameters_fields_receivers_and_calls() {
    let tree = Tree::of(
        r#"
        use std::sync::Arc;
        use reqwest::Client as Http;
        use sqlx::*;
        type Db = sqlx::Pool<sqlx::Postgres>;
        struct App { http: Arc<Http>, db: Db, cache: redis::aio::ConnectionManager, name: String }
        async fn parameter(http: &reqwest::Client) { http.get("http://x").send().await; }
        async fn state(State(app): State<App>) { sqlx::query("select 1").execute(&app.db).await; }
        async fn picked(State(pool): State<Db>) { sqlx::query("select 1").fetch_one(&pool).await; }
        async fn free() { reqwest::get("http://x").await; }
        async fn glob() { query("select 1"); query_as("x").fetch_all(pool()).await; }
        async fn macro_of_it(pool: &PgPool) { sqlx::query!("select 1").fetch_one(pool).await; }
        async fn bound<E: tokio_postgres::GenericClient>(e: &E) { e.query_one("x", &[]).await; }
        async fn implied(e: impl sqlx::Executor<'_>) { e.fetch_all("x").await; }
        async fn timed(http: Http) { tokio::time::timeout(LIMIT, http.get("x").send()).await; }
        async fn joined(http: Http) { tokio::join!(http.get("x").send(), http.get("y").send()); }
        async fn grpc(mut client: pb::PayClient<tonic::transport::Channel>) { client.charge(1).await; }
        fn blocking(agent: &ureq::Agent) { agent.get("x").call(); }
        fn loose() { ureq::get("x").call(); reqwest::blocking::get("x"); }
        impl App {
            async fn field(&self) { self.http.get("x").send().await; }
            async fn through(&self) { let mut c = self.cache.clone(); redis::cmd("GET").query_async(&mut c).await; }
            async fn dynamic(&self) { let mut c = self.cache.clone(); let v: String = c.get("key").await.unwrap(); }
            fn name(&self) -> &str { &self.name }
            fn new(http: Http, db: Db) -> Self { Self { http: Arc::new(http), db } }
            async fn open() -> Db { PgPoolOptions::new().connect("x").await; sqlx::PgPool::connect("x").await }
            fn request(&self) -> reqwest::RequestBuilder { self.http.get("x") }
        }
        "#,
    );
    let names: Vec<String> = tree.gaps();
    assert_eq!(
        names,
        [
            "parameter",
            "state",
            "picked",
            "free",
            "glob",
            "macro_of_it",
            "bound",
            "implied",
            "timed",
            "joined",
            "grpc",
            "blocking",
            "loose",
            "App::field",
            "App::through",
            "App::dynamic",
        ]
        .map(|name| format!("unguarded_client {name}"))
    );
}

#[test]
fn a_helper_is_covered_by_the_guards_of_all_who_call_it() {
    let helper = r#"
        use resilience_runtime::{breaker, fallback};
        async fn helper(http: &reqwest::Client) { http.get("x").send().await; }
        #[breaker("payrail")] #[fallback(none = "x")] async fn charge(http: reqwest::Client) { step(&http).await; }
        async fn step(http: &reqwest::Client) { helper(http).await; }
    "#;
    assert_eq!(Tree::of(helper).gaps(), [""; 0]);
    let both = format!("{helper} async fn past(http: reqwest::Client) {{ step(&http).await; }}");
    let tree = Tree::of(&both);
    assert_eq!(tree.gaps(), ["unguarded_client past"]);
    let (_, out, _) = tree.run(&[]);
    assert!(
        out.contains("src/lib.rs:6: past: uses a client of `reqwest` through step → helper at src/lib.rs:3"),
        "{out}"
    );
    // Nobody guards it: the one that uses the client is the place for the attribute.
    let none = both
        .replace("#[breaker(\"payrail\")]", "")
        .replace("#[fallback(none = \"x\")]", "");
    assert_eq!(Tree::of(&none).gaps(), ["unguarded_client helper"]);
}

#[test]
fn a_fallback_is_bounded_by_its_own_slots_and_timeout() {
    let tree = Tree::of(
        r#"
        use resilience_runtime::{breaker, fallback};
        struct Seats { db: sqlx::PgPool }
        impl Seats {
            #[breaker("redis")] #[fallback(Self::from_database)] async fn read(&self) -> Result<u8, Error> { Ok(1) }
            async fn from_database(&self) -> Result<u8, Error> { sqlx::query("x").fetch_one(&self.db).await }
        }
        "#,
    );
    assert_eq!(tree.gaps(), [""; 0]);
}

#[test]
fn a_comment_with_a_reason_takes_a_function_out() {
    let tree = Tree::of(
        r#"
        // resilience: unguarded, because it runs once at start
        /// Docs.
        #[inline]
        async fn above(http: reqwest::Client) { http.get("x").send().await; }

        async fn inside(http: reqwest::Client) {
            http.get("x").send().await; // resilience: unguarded, because the probe must not be cut
        }

        async fn neither(http: reqwest::Client) { http.get("x").send().await; }

        // resilience: unguarded
        async fn unreasoned(http: reqwest::Client) { http.get("x").send().await; }
        "#,
    );
    assert_eq!(
        tree.gaps(),
        ["unguarded_client neither", "unguarded_client unreasoned", "no_reason"]
    );
    let report = tree.json();
    let reasons = report["unguarded_on_purpose"].as_array().unwrap().iter();
    let reasons: Vec<_> = reasons
        .map(|one| (one["function"].as_str(), one["reason"].as_str()))
        .collect();
    assert_eq!(
        reasons,
        [
            (Some("above"), Some("it runs once at start")),
            (Some("inside"), Some("the probe must not be cut"))
        ]
    );
}

#[test]
fn tests_and_benches_are_looked_at_only_when_asked_for() {
    let user = "async fn f(http: reqwest::Client) { http.get(\"x\").send().await; }";
    let tree = Tree::of(&format!(
        "#[cfg(test)] mod tests {{ {user} }} #[cfg(test)] mod far; #[tokio::test] {user}"
    ))
    .with("Cargo.toml", "[package]\nname = \"app\"\n")
    .with("src/far.rs", user)
    .with("src/far/below.rs", user)
    .with("tests/all.rs", user)
    .with("benches/all.rs", user)
    .with("target/debug/build/out.rs", user)
    .with("vendor/.hidden/lib.rs", user);
    assert_eq!(tree.gaps(), [""; 0]);
    let (_, out, _) = tree.run(&["--tests"]);
    assert_eq!(out.matches("uses a client of `reqwest`").count(), 6, "{out}");
}

#[test]
fn every_known_library_is_in_the_docs() {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/audit.md")).unwrap();
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/audit/clients.rs")).unwrap();
    let libraries: Vec<&str> = source
        .split("library(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(libraries.len() > 30, "{libraries:?}");
    for library in libraries {
        assert!(
            docs.contains(&format!("`{library}`")),
            "docs/audit.md does not name {library}"
        );
    }
}
