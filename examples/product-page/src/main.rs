//! Shows the page in every situation that it was designed for. Nothing is started and nothing is listened to: the requests
//! go to the router in this process.

use std::error::Error;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use product_page::far::{Far, Health};
use product_page::page::app;
use resilience_runtime::{Mode, Override, Policy, Runtime};
use serde_json::Value;
use tower_service::Service;

/// The policy of this example, wherever it is started from.
const POLICY: &str = include_str!("../resilience.toml");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new(Policy::from_toml(POLICY)?);
    runtime.install()?;
    let far = Far::default();

    tell("everything answers", &far).await?;

    far.set("recommendations", Health::Down);
    tell("recommendations are down: the best-seller list, marked", &far).await?;

    let mut nothing = Override::new(
        Mode::Isolate,
        "example",
        "they look worse than none",
        Duration::from_secs(60),
    );
    nothing.answer = Some("nothing".to_owned());
    runtime.set_mode("recommendations", nothing)?;
    tell("… and by the operator's word none at all", &far).await?;
    runtime.clear_mode("recommendations")?;
    far.set("recommendations", Health::Up);

    far.set("reviews", Health::Hangs);
    far.set("visits", Health::Down);
    tell(
        "reviews hang: the last ones with their age; visits are counted later",
        &far,
    )
    .await?;
    far.set("reviews", Health::Up);
    far.set("visits", Health::Up);

    far.set("prices", Health::Down);
    tell("the price is missing: the page is there, and sells nothing", &far).await?;

    println!("in the outbox: {:?}", far.outbox());
    for (name, dependency) in &runtime.snapshot().dependencies {
        println!(
            "{name}: fallbacks {:?}, never ran {:?}",
            dependency.fallbacks, dependency.never_ran
        );
    }
    Ok(())
}

async fn tell(what: &str, far: &Far) -> Result<(), Box<dyn Error>> {
    println!("== {what}");
    let page = ask(far, "GET", "/products/4").await?;
    println!("degraded: {:?}", page.headers().get("degraded"));
    let body = to_bytes(page.into_body(), usize::MAX).await?;
    println!("{:#}", serde_json::from_slice::<Value>(&body)?);
    println!(
        "checkout: {}\n",
        ask(far, "POST", "/products/4/checkout").await?.status()
    );
    Ok(())
}

async fn ask(far: &Far, method: &str, path: &str) -> Result<Response, Box<dyn Error>> {
    let request = Request::builder().method(method).uri(path).body(Body::empty())?;
    Ok(app(far.clone()).call(request).await?)
}
