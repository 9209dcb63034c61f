//! The page in every situation that it was designed for: by a far side that fails, by the operator's hand, and by chaos.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use product_page::far::{Far, Health};
use product_page::page::app;
use resilience_runtime::{Mode, Override, Policy, Runtime, State, testing};
use serde_json::{Value, json};
use tower_service::Service;

const POLICY: &str = include_str!("../resilience.toml");

fn shop() -> Runtime {
    Runtime::new(Policy::from_toml(POLICY).unwrap())
}

async fn ask(far: &Far, method: &str, path: &str) -> Response {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    app(far.clone()).call(request).await.unwrap()
}

async fn body(response: Response) -> Value {
    let body = to_bytes(response.into_body(), 65_536).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// The page, and its `degraded` header.
async fn page(far: &Far) -> (Value, Option<String>) {
    let response = ask(far, "GET", "/products/4").await;
    assert_eq!(response.status(), 200);
    let header = response.headers().get("degraded");
    let header = header.map(|value| value.to_str().unwrap().to_owned());
    (body(response).await, header)
}

fn isolate(runtime: &Runtime, dependency: &str, answer: Option<&str>) {
    let mut set = Override::new(Mode::Isolate, "ops", "drill", Duration::from_secs(600));
    set.answer = answer.map(str::to_owned);
    runtime.set_mode(dependency, set).unwrap();
}

#[tokio::test(start_paused = true)]
async fn everything_fresh_and_nothing_is_said() {
    shop()
        .scope(async {
            let (page, header) = page(&Far::default()).await;
            let expected = json!({
                "product": 4,
                "price": 499,
                "price_status": "fresh",
                "can_checkout": true,
                "look_again_in_s": null,
                "recommendations": { "items": ["for buyer 7: a tent", "for buyer 7: a lamp"], "status": "fresh", "age_s": null },
                "reviews": { "items": ["product 4 keeps its promise"], "status": "fresh", "age_s": null },
                "visit": "counted",
                "degraded_components": [],
            });
            assert_eq!((page, header), (expected, None));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn pj_r01_pj_r02_pj_r04_best_sellers_stand_in_and_the_checkout_stays() {
    shop()
        .scope(async {
            let far = Far::default();
            far.set("recommendations", Health::Down);
            let (page, header) = page(&far).await;
            assert_eq!(
                (&page["price_status"], &page["can_checkout"]),
                (&json!("fresh"), &json!(true))
            );
            let replaced = json!({ "items": ["a rucksack", "a flask"], "status": "replaced", "age_s": null });
            assert_eq!(page["recommendations"], replaced);
            assert_eq!(page["degraded_components"], json!(["recommendations"]));
            assert_eq!(header.as_deref(), Some("recommendations"));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn pj_r03_without_the_price_nothing_is_sold_and_none_is_made_up() {
    let runtime = shop();
    runtime
        .scope(async {
            let far = Far::default();
            // One that was seen before is not remembered.
            assert_eq!(page(&far).await.0["price"], 499);
            for health in [Health::Down, Health::Hangs] {
                far.set("prices", health);
                let (page, _) = page(&far).await;
                assert_eq!(
                    (&page["price"], &page["price_status"]),
                    (&Value::Null, &json!("missing"))
                );
                assert_eq!(page["can_checkout"], false);
                assert_eq!(
                    page["recommendations"]["status"], "fresh",
                    "the rest of the page is there"
                );
            }
            assert_eq!(ask(&far, "POST", "/products/4/checkout").await.status(), 504);
            testing::trip("prices");
            let refused = ask(&far, "POST", "/products/4/checkout").await;
            let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert_eq!(refused.status(), 503);
            assert!((9..=11).contains(&wait), "{wait}");
            assert_eq!(page(&far).await.0["look_again_in_s"], wait);
            assert_eq!(
                body(refused).await["detail"],
                format!("not available at the moment, try again in {wait} s")
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn pj_r07_fresh_stale_with_its_age_omitted_and_deferred() {
    shop()
        .scope(async {
            let far = Far::default();
            page(&far).await;
            tokio::time::advance(Duration::from_secs(60)).await;
            far.set("reviews", Health::Down);
            far.set("visits", Health::Down);
            let (shown, header) = page(&far).await;
            let reviews = json!({ "items": ["product 4 keeps its promise"], "status": "stale", "age_s": 60 });
            assert_eq!((&shown["reviews"], &shown["visit"]), (&reviews, &json!("deferred")));
            assert_eq!(shown["degraded_components"].as_array().unwrap().len(), 2);
            assert!(header.unwrap().contains("reviews"));
            // Beyond its bound there is none, and the page says so.
            tokio::time::advance(Duration::from_secs(241)).await;
            let (shown, _) = page(&far).await;
            assert_eq!(
                shown["reviews"],
                json!({ "items": [], "status": "omitted", "age_s": null })
            );
            // Twice deferred under one key is once.
            assert_eq!(far.outbox(), ["visit of 4, request r-1"]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn pj_r05_each_replacement_is_counted_for_the_operator() {
    let runtime = shop();
    runtime
        .scope(async {
            let far = Far::default();
            far.set("recommendations", Health::Down);
            for _ in 0..3 {
                page(&far).await;
            }
            far.set("recommendations", Health::Up);
            page(&far).await;
            let snapshot = runtime.snapshot();
            assert_eq!(snapshot.dependency("recommendations").unwrap().fallbacks["with"], 3);
            assert_eq!((snapshot.requests.total, snapshot.requests.degraded), (4, 3));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn fb_r05_isolating_each_optional_part_exercises_its_fallback() {
    let runtime = shop();
    runtime
        .scope(async {
            let far = Far::default();
            page(&far).await;
            let rows = [
                ("recommendations", "recommendations", "replaced"),
                ("reviews", "reviews", "stale"),
            ];
            for (dependency, part, status) in rows {
                isolate(&runtime, dependency, None);
                let calls = far.calls(dependency);
                let (page, header) = page(&far).await;
                assert_eq!(page[part]["status"], status);
                assert_eq!((header.as_deref(), far.calls(dependency)), (Some(part), calls));
                runtime.clear_mode(dependency).unwrap();
            }
            isolate(&runtime, "visits", None);
            assert_eq!(page(&far).await.0["visit"], "deferred");
            runtime.clear_mode("visits").unwrap();
            isolate(&runtime, "prices", None);
            let (page, _) = page(&far).await;
            assert_eq!(
                (&page["can_checkout"], &page["look_again_in_s"]),
                (&json!(false), &json!(600))
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_operators_word_chooses_between_prepared_ways_of_degrading() {
    let runtime = shop();
    runtime
        .scope(async {
            isolate(&runtime, "recommendations", Some("nothing"));
            let (page, header) = page(&Far::default()).await;
            assert_eq!(
                page["recommendations"],
                json!({ "items": [], "status": "omitted", "age_s": null })
            );
            assert_eq!(header.as_deref(), Some("recommendations"));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn fb_r06_chaos_drives_the_fallbacks_where_it_is_switched_on() {
    let on = Policy::from_toml(&POLICY.replace("version = 1", "version = 1\n[runtime]\nchaos = true")).unwrap();
    let runtime = Runtime::new(on);
    runtime
        .scope(async {
            let far = Far::default();
            let (page, _) = page(&far).await;
            assert_eq!(
                (&page["recommendations"]["status"], &page["visit"]),
                (&json!("replaced"), &json!("deferred"))
            );
            assert_eq!(
                (far.calls("recommendations"), far.calls("visits"), far.calls("reviews")),
                (0, 0, 1)
            );
        })
        .await;
    shop()
        .scope(async {
            assert_eq!(
                page(&Far::default()).await.1,
                None,
                "without the switch the tables do nothing"
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn pp_r05_pp_r06_a_part_that_is_down_costs_the_page_nothing_once_it_is_known() {
    let runtime = shop();
    runtime
        .scope(async {
            let far = Far::default();
            far.set("reviews", Health::Hangs);
            for _ in 0..10 {
                page(&far).await;
            }
            assert_eq!(testing::state("reviews"), State::Open);
            let before = tokio::time::Instant::now();
            let (page, _) = page(&far).await;
            assert_eq!((before.elapsed(), far.calls("reviews")), (Duration::ZERO, 10));
            assert_eq!(page["can_checkout"], true);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_product_that_does_not_exist_is_no_failure() {
    let runtime = shop();
    runtime
        .scope(async {
            let far = Far::default();
            for _ in 0..30 {
                assert_eq!(ask(&far, "GET", "/products/0").await.status(), 404);
            }
            assert_eq!(testing::state("prices"), State::Closed);
        })
        .await;
}
