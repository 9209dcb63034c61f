//! sentinel-core: rules by the name of a resource, looked up on every call.

use std::sync::Arc;

use sentinel_core::base::TrafficType;
use sentinel_core::circuitbreaker::{self, BreakerStrategy};
use sentinel_core::{EntryBuilder, Error, isolation};

use crate::work::{Answer, Failed, SLOTS, answer};

/// Closed, by the rate of failures.
pub const CLOSED: &str = "closed";
/// Closed, by the rate of slow calls.
pub const SLOW: &str = "slow";
/// To be opened.
pub const OPEN: &str = "open";
/// Slots only.
pub const ROOM: &str = "room";
/// Slots, and the rate of slow calls.
pub const THREE: &str = "three";

/// Loads the rules of all resources.
pub fn load() {
    circuitbreaker::load_rules(vec![
        rule(CLOSED, BreakerStrategy::ErrorRatio, 0.5),
        rule(SLOW, BreakerStrategy::SlowRequestRatio, 0.5),
        rule(OPEN, BreakerStrategy::ErrorRatio, 0.5),
        rule(THREE, BreakerStrategy::SlowRequestRatio, 0.5),
    ]);
    isolation::load_rules(vec![room(ROOM), room(THREE)]);
}

fn rule(resource: &str, strategy: BreakerStrategy, threshold: f64) -> Arc<circuitbreaker::Rule> {
    Arc::new(circuitbreaker::Rule {
        resource: resource.to_owned(),
        strategy,
        retry_timeout_ms: 86_400_000,
        min_request_amount: 20,
        stat_interval_ms: 30_000,
        stat_sliding_window_bucket_count: 10,
        max_allowed_rt_ms: 400,
        threshold,
        ..circuitbreaker::Rule::default()
    })
}

fn room(resource: &str) -> Arc<isolation::Rule> {
    let threshold = u32::try_from(SLOTS).expect("it is twenty");
    Arc::new(isolation::Rule {
        resource: resource.to_owned(),
        threshold,
        ..isolation::Rule::default()
    })
}

/// One call of the work under the rules of `resource`. Blocked is failed.
pub async fn call(resource: &'static str, fail: bool) -> Answer {
    under(resource, answer(fail)).await
}

/// The same with tokio's timeout inside.
pub async fn timed(resource: &'static str) -> Answer {
    under(resource, super::timed(false)).await
}

async fn under(resource: &'static str, work: impl Future<Output = Answer>) -> Answer {
    let entry = EntryBuilder::new(resource.to_owned())
        .with_traffic_type(TrafficType::Outbound)
        .build();
    let Ok(entry) = entry else { return Err(Failed) };
    let answer = work.await;
    if answer.is_err() {
        entry.set_err(Error::msg("the work failed"));
    }
    entry.exit();
    answer
}
