//! The table itself.

use std::sync::LazyLock;

use super::{Key, Kind, Range, Reload, Table};
use crate::policy::Value;

const fn range(least: f64, most: f64, words: &'static str) -> Range {
    Range {
        least,
        above: false,
        most,
        below: false,
        words,
        share: false,
    }
}

/// A rate: above 0 and up to 1.
pub(crate) const RATE: Range = Range {
    least: 0.0,
    above: true,
    most: 1.0,
    below: false,
    words: "0 < rate <= 1",
    share: true,
};
const SHARE: Range = Range {
    least: 0.0,
    above: false,
    most: 1.0,
    below: false,
    words: "0 <= share <= 1",
    share: true,
};
const JITTER: Range = Range {
    least: 0.0,
    above: false,
    most: 1.0,
    below: true,
    words: "0 <= jitter < 1",
    share: true,
};
const PER_SECOND: Range = Range {
    least: 0.0,
    above: true,
    most: 1e9,
    below: false,
    words: "a number above 0, at most 1000000000",
    share: false,
};

macro_rules! keys {
    ($($id:ident $table:ident $path:literal $kind:expr, $default:literal, $reload:ident, $none:literal, $meaning:literal, $synonyms:expr;)+) => {
        /// A key of the file. The order is that of the documentation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Id { $(#[doc = $meaning] $id),+ }

        impl Id {
            /// Every key.
            pub const ALL: &'static [Self] = &[$(Self::$id),+];

            /// What the table says of it.
            pub fn key(self) -> &'static Key { &KEYS[self as usize] }

            /// The built-in value that depends on nothing else; `None` where there is none or where it depends on
            /// other keys.
            pub fn built_in(self) -> Option<&'static Value> {
                static BUILT_IN: LazyLock<Vec<Option<Value>>> =
                    LazyLock::new(|| KEYS.iter().map(Key::read_built_in).collect());
                BUILT_IN[self as usize].as_ref()
            }
        }

        static KEYS: &[Key] = &[$(Key {
            table: Table::$table,
            name: last_part($path),
            path: $path,
            kind: $kind,
            default: $default,
            meaning: $meaning,
            reload: Reload::$reload,
            none: $none,
            synonyms: $synonyms,
        }),+];
    };
}

const fn last_part(path: &'static str) -> &'static str {
    let bytes = path.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'.' {
            return path.split_at(at + 1).1;
        }
        at += 1;
    }
    path
}

use Kind::{
    Address, Bool, Duration, Integer, Interval, Name, Number, Path, RateOrOff, Rates, Resources, Template, Text,
    Version, Window, Word, Words,
};

const TIME: Kind = Duration { zero: false };
const PAUSE: Kind = Duration { zero: true };
const EXCHANGE: Kind = Interval(
    std::time::Duration::from_millis(100),
    std::time::Duration::from_secs(60),
);
const SLOTS: Kind = Integer(1, 1_000_000);
const WINDOW_CALLS: Kind = Integer(1, 100_000);

keys! {
    Version Top "version" Version, "required", Words, "", "the version of the file's format", &[];

    Instance Runtime "instance" Text, "RESILIENCE_INSTANCE, else HOSTNAME, else the host's name", Restart, "", "the name of this instance in metrics and reports", &["instanceId", "instance_name"];
    Overrides Runtime "overrides" Path, "resilience.overrides.toml", AtOnce, "", "the operator's overrides, a file beside the policy file; may be missing", &[];
    ChaosSwitch Runtime "chaos" Bool, "false", AtOnce, "", "a chaos table acts only where this is true", &["chaosEnabled"];

    FleetRedis Fleet "fleet.redis" Address, "required", Exchange, "for no fleet remove the table", "where the instances meet; a password belongs into the variable `RESILIENCE__FLEET__REDIS`", &["url", "redis_url", "address", "addr", "host", "endpoint"];
    FleetName Fleet "fleet.name" Name, "the program's name", Exchange, "", "the name of this service there, for several that share a Redis", &["service", "cluster", "group", "prefix", "namespace"];
    FleetEvidence Fleet "fleet.evidence" Word(&["view", "pooled"]), "view", Exchange, "`view` decides nothing", "`view` shows who differs; `pooled` lets breakers that are too quiet to judge alone judge on what all instances counted", &["mode", "share", "sharing"];
    FleetInterval Fleet "fleet.interval" EXCHANGE, "1s", Exchange, "", "how often an instance publishes and reads", &["period", "every", "poll_interval"];

    Inherits Dependency "inherits" Template, "none", AtOnce, "remove the key", "one template; keys merge one by one", &["baseConfig", "extends", "base", "template"];
    About Dependency "about" Text, "none", Words, "remove the key", "what the dependency is, for people", &["description", "comment"];
    Fail Dependency "fail" Word(&["closed", "open"]), "required", AtOnce, "", "may a caller get something lesser instead of an error? `closed`: no, `open`: yes", &["failMode", "fail_mode", "failureMode"];
    Agreed Dependency "agreed" Text, "none", Words, "remove the key", "who decided `fail`, and when", &["agreed_by", "owner"];
    Label Dependency "label" Text, "none", AtOnce, "remove the key", "the only name of it that a client may see", &["displayName", "alias"];
    Uses Dependency "uses" Resources, "none", Words, "remove the key", "resources it draws on", &[];
    Mode Dependency "mode" Word(&["enforce", "observe", "isolate", "off"]), "enforce", AtOnce, "", "what the guards may do", &["forceOpen", "state"];
    Timeout Dependency "timeout" TIME, "none; required where there is a breaker", AtOnce, "the longest is \"24h\"; without a breaker the key may be removed", "bound of one attempt", &["timeoutDuration", "timeoutInMilliseconds", "timeLimiter", "timeout_ms", "timeout_s", "executionTimeoutInMilliseconds"];
    Deadline Dependency "deadline" TIME, "none", NextCall, "for none remove the key", "bound of the whole call: waiting, attempts and pauses", &["maxDuration", "totalTimeout", "total_timeout"];
    Throttle Dependency "throttle" Word(&["call", "dependency"]), "call", AtOnce, "", "whom a throttling answer binds", &[];
    MaxHold Dependency "max_hold" TIME, "60s", AtOnce, "the longest is \"24h\"", "the longest Retry-After that is obeyed; a longer one is cut and reported", &["maxRetryAfter"];
    Failures Dependency "failures" Words(&["timeout", "connect", "server", "protocol", "other"]), "all five", AtOnce, "for all five remove the key", "the failure kinds that count and are retried", &["recordExceptions", "failOn", "ignoreExceptions"];

    Window Breaker "breaker.window" Window, "100 calls", WindowEmpty, "", "what the rates look at: so many calls, or so much time", &["slidingWindowSize", "rollingWindow", "metricsRollingStatisticalWindowInMilliseconds", "statisticalWindow", "statIntervalMs", "samplingDuration", "interval", "rollingCountTimeout"];
    MinimumCalls Breaker "breaker.minimum_calls" WINDOW_CALLS, "20, or the window's calls if that is smaller", AtOnce, "the least is 1", "results in the window before a rate is looked at", &["requestVolumeThreshold", "minimumNumberOfCalls", "volumeThreshold", "minimumThroughput", "minRequestAmount", "circuitBreakerRequestVolumeThreshold"];
    FailureRate Breaker "breaker.failure_rate" RateOrOff, "0.5", AtOnce, "`false` switches it off", "share of failures that trips; reached is enough", &["errorThresholdPercentage", "failureRateThreshold", "failureThreshold", "failureRatio", "circuitBreakerErrorThresholdPercentage", "errorThreshold"];
    SlowAfter Breaker "breaker.slow_after" TIME, "none", AtOnce, "remove the key, and `slow_rate` and `bad_rate` with it", "an attempt that ran strictly longer is slow", &["slowCallDurationThreshold", "maxAllowedRt", "slowRt"];
    SlowRate Breaker "breaker.slow_rate" Number(RATE), "none", AtOnce, "remove the key", "share of slow attempts that trips", &["slowCallRateThreshold", "slowRatioThreshold"];
    BadRate Breaker "breaker.bad_rate" Number(RATE), "none", AtOnce, "remove the key", "share of attempts that failed or were slow that trips", &[];
    ConsecutiveFailures Breaker "breaker.consecutive_failures" SLOTS, "none", AtOnce, "remove the key", "failures in a row that trip", &["consecutive5xxErrors", "consecutiveErrors", "maxFailures", "exceptionsAllowedBeforeBreaking", "handledEventsAllowedBeforeBreaking"];
    InFlight Breaker "breaker.in_flight" SLOTS, "none", AtOnce, "remove the key", "attempts in flight that trip", &[];
    Cooldown Breaker "breaker.cooldown" TIME, "30s", Cooldown, "write `breaker = false` for no breaker", "how long open lasts at first", &["sleepWindowInMilliseconds", "sleepWindow", "resetTimeout", "BreakDuration", "durationOfBreak", "waitDurationInOpenState", "delay", "recoveryTimeoutMs", "timeWindow", "baseEjectionTime", "open_time", "circuitBreakerSleepWindowInMilliseconds"];
    CooldownMax Breaker "breaker.cooldown_max" TIME, "5m, or cooldown if longer", Cooldown, "", "how long open lasts at most", &["maxEjectionTime", "maxWaitDurationInOpenState"];
    CooldownFactor Breaker "breaker.cooldown_factor" Number(range(1.0, 10.0, "1 <= factor <= 10; 1 is constant")), "2.0", Cooldown, "1 is constant", "what cooldown is multiplied by for each further opening in a row", &["backoffMultiplier", "cooldown_multiplier"];
    CooldownJitter Breaker "breaker.cooldown_jitter" Number(JITTER), "0.1", Cooldown, "0 is none", "how far each cooldown is spread, as a share of it", &["randomizedWaitFactor"];
    Probes Breaker "breaker.probes" WINDOW_CALLS, "1", AtOnce, "", "attempts at a time when half-open", &["permittedNumberOfCallsInHalfOpenState", "halfOpenMaxCalls", "maxRequests", "half_open_max_calls", "trials"];
    ProbeSuccesses Breaker "breaker.probe_successes" WINDOW_CALLS, "probes", AtOnce, "", "successes that end half-open, or start the ramp", &["successThreshold", "halfOpenSuccesses"];
    Ramp Breaker "breaker.ramp" Rates, "none", AtOnce, "remove the key", "shares of arrivals admitted after the probes, step by step", &["slowStart"];
    SampleEvery Breaker "breaker.sample_every" TIME, "none", AtOnce, "remove the key", "one call per this time is let through and measured while open", &[];

    MaxConcurrent Bulkhead "bulkhead.max_concurrent" SLOTS, "required", Drains, "for no bulkhead write `bulkhead = false`", "slots: how many calls may run at once", &["maxConcurrentCalls", "maxConcurrentRequests", "executionIsolationSemaphoreMaxConcurrentRequests", "maxParallelization", "permitLimit", "coreThreadPoolSize", "max_requests", "limit"];
    MaxWaiting Bulkhead "bulkhead.max_waiting" Integer(0, 1_000_000), "0", Drains, "the most is 1000000", "calls that may wait for a slot", &["queueCapacity", "maxQueueSize", "maxQueuingActions", "waitingTaskQueue", "queue", "queueLimit", "max_queue"];
    MaxWait Bulkhead "bulkhead.max_wait" PAUSE, "0s", NextCall, "the longest is \"24h\"", "how long a call waits at most", &["maxWaitDuration", "queueTimeout", "maxQueueWait"];
    PerKey Bulkhead "bulkhead.per_key" SLOTS, "none", Drains, "remove the key", "slots per key, inside `max_concurrent`", &[];
    MaxKeys Bulkhead "bulkhead.max_keys" SLOTS, "10000", Words, "the most is 1000000", "keys remembered at once; idle ones are forgotten first", &[];
    SlotRetryAfter Bulkhead "bulkhead.retry_after" TIME, "1s", AtOnce, "", "what a caller without a slot is told", &[];

    MaxAttempts Retry "retry.max_attempts" Integer(1, 100), "3", NextCall, "1 is no retry; for no layer write `retry = false`", "attempts, the first included", &["maxRetries", "maxRetryAttempts", "retries", "max_retries", "numRetries", "retryCount"];
    Backoff Retry "retry.backoff" PAUSE, "100ms", NextCall, "", "the first pause; doubled each time", &["waitDuration", "initialInterval", "baseDelay", "initialDelay", "retry_delay", "minBackoff"];
    BackoffMax Retry "retry.backoff_max" PAUSE, "2s", NextCall, "", "the longest pause", &["maxInterval", "maxDelay", "maxBackoff", "exponentialMaxWaitDuration"];
    Jitter Retry "retry.jitter" Word(&["full", "equal", "none"]), "full", NextCall, "write \"none\"", "how a pause is spread", &["useJitter", "randomizationFactor"];
    Budget Retry "retry.budget" Number(range(0.0, 10.0, "0 <= budget <= 10")), "0.1", AtOnce, "0 leaves only `budget_floor`", "retries allowed as a share of calls", &["retryBudget", "budgetPercent", "retryRatio"];
    BudgetFloor Retry "retry.budget_floor" Number(range(0.0, 10_000.0, "0 <= budget_floor <= 10000")), "1.0", AtOnce, "0 leaves only `budget`", "retries allowed a second whatever the calls", &["minRetriesPerSecond", "minRetryConcurrency"];

    MaxStale Fallback "fallback.max_stale" TIME, "5m", NextCall, "the longest is \"24h\"", "how old a stale answer may be", &["maxAge", "ttl", "staleTtl"];
    MaxEntries Fallback "fallback.max_entries" SLOTS, "10000", AtOnce, "the most is 1000000", "stale answers kept", &["maxSize", "cacheSize"];
    FallbackConcurrent Fallback "fallback.max_concurrent" SLOTS, "10", Drains, "the most is 1000000", "slots of `path` and `with`; no waiting", &["fallbackIsolationSemaphoreMaxConcurrentRequests"];
    FallbackTimeout Fallback "fallback.timeout" TIME, "1s", NextCall, "the longest is \"24h\"", "bound of `path` and `with`", &[];
    FallbackUses Fallback "fallback.uses" Resources, "none", Words, "remove the key", "resources the fallback draws on", &[];

    CallsPerSecond Traffic "traffic.calls_per_second" Number(PER_SECOND), "none", Words, "remove the key", "calls expected, over all instances", &["rps", "qps", "rate"];
    Instances Traffic "traffic.instances" SLOTS, "1", Words, "remove the key", "instances of this service", &["replicas", "processes"];
    Latency Traffic "traffic.latency" TIME, "none", Words, "remove the key", "median answer time expected", &["p50", "median"];
    LatencyP99 Traffic "traffic.latency_p99" TIME, "none", Words, "remove the key", "99th percentile expected", &["p99"];
    Capacity Traffic "traffic.capacity" Integer(1, 1_000_000_000), "none", Words, "remove the key", "what the far side, or the pool in between, can take at once, from all instances", &[];

    ChaosFailure Chaos "chaos.failure" Number(SHARE), "0", AtOnce, "0 is none", "share of attempts that fail, kind `other`, without reaching the body", &["faultRate", "abort", "injectionRate"];
    ChaosLatency Chaos "chaos.latency" TIME, "none", AtOnce, "remove the key", "how much longer some attempts take", &["delay"];
    ChaosLatencyShare Chaos "chaos.latency_share" Number(SHARE), "0", AtOnce, "0 is none", "share of attempts that take longer", &[];

    ResourceCapacity Resource "resource.capacity" Integer(1, 1_000_000_000), "required", Words, "", "slots over all instances", &["size", "max_connections"];
}
