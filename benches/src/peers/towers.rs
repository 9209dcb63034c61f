//! Services for tower: tower's own limiter and timeout, and tower-resilience.

use std::future::{Future, poll_fn};
use std::time::Duration;

use tower::{Layer, Service, ServiceBuilder, service_fn};
use tower_resilience_bulkhead::BulkheadLayer;
use tower_resilience_circuitbreaker::{CircuitBreakerLayer, SlidingWindowType};
use tower_resilience_timelimiter::TimeLimiterLayer;

use crate::work::{Answer, COOLDOWN, Failed, SLOTS, TIMEOUT, answer, finish};

/// The service inside all of them. Its request says whether the work fails.
pub fn inner()
-> impl Service<bool, Response = u32, Error = Failed, Future = impl Future<Output = Answer> + Send> + Clone + Send {
    service_fn(answer)
}

/// One call of one service: ready, then called.
#[inline]
pub fn call<S: Service<bool>>(service: &mut S, fail: bool) -> Result<S::Response, S::Error> {
    finish(poll_fn(|cx| service.poll_ready(cx)))?;
    finish(service.call(fail))
}

/// tower's `ConcurrencyLimit`.
pub fn limit() -> impl Service<bool, Response = u32, Error = Failed> + Clone + Send {
    ServiceBuilder::new().concurrency_limit(SLOTS).service(inner())
}

/// The same, refusing instead of making wait: tower's `LoadShed` around it.
pub fn shed() -> impl Service<bool, Response = u32> + Clone + Send {
    ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(SLOTS)
        .service(inner())
}

/// `LoadShed`, `ConcurrencyLimit` and `Timeout`: what tower has; it has no breaker.
pub fn shed_timed() -> impl Service<bool, Response = u32> + Clone + Send {
    ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(SLOTS)
        .timeout(TIMEOUT)
        .service(inner())
}

/// What tower-resilience's breaker watches.
#[derive(Debug, Clone, Copy)]
pub enum Watch {
    /// The last so many calls.
    Calls(usize),
    /// The last so many calls, slow ones too.
    Slow(usize),
    /// All calls of a time longer than any run.
    Time,
}

fn breaker_layer(watch: Watch) -> CircuitBreakerLayer {
    let builder = CircuitBreakerLayer::builder()
        .failure_rate_threshold(0.5)
        .minimum_number_of_calls(20)
        .wait_duration_in_open(COOLDOWN);
    match watch {
        Watch::Calls(window) => builder
            .sliding_window_size(window)
            .minimum_number_of_calls(20.min(window)),
        Watch::Slow(window) => builder
            .sliding_window_size(window)
            .minimum_number_of_calls(20.min(window))
            .slow_call_duration_threshold(Duration::from_millis(400))
            .slow_call_rate_threshold(0.5),
        Watch::Time => builder
            .sliding_window_type(SlidingWindowType::TimeBased)
            .sliding_window_duration(COOLDOWN),
    }
    .build()
    .expect("the settings are within its ranges")
}

/// tower-resilience's breaker.
pub fn breaker(watch: Watch) -> impl Service<bool, Response = u32> + Clone + Send {
    breaker_layer(watch).layer(inner())
}

/// tower-resilience's bulkhead.
pub fn bulkhead() -> impl Service<bool, Response = u32> + Clone + Send {
    let layer = BulkheadLayer::builder()
        .max_concurrent_calls(SLOTS)
        .reject_when_full()
        .build();
    layer.expect("the settings are within its ranges").layer(inner())
}

/// tower-resilience's bulkhead around its breaker around its time limiter.
pub fn three() -> impl Service<bool, Response = u32> + Clone + Send {
    let bulkhead = BulkheadLayer::builder()
        .max_concurrent_calls(SLOTS)
        .reject_when_full()
        .build();
    let limiter: TimeLimiterLayer<_> = TimeLimiterLayer::builder().timeout_duration(TIMEOUT).build();
    let inside = breaker_layer(Watch::Slow(100)).layer(limiter.layer(inner()));
    bulkhead.expect("the settings are within its ranges").layer(inside)
}
