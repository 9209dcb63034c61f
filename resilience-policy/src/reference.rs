//! The one table of keys: where each stands, its type and range, its default, what it means and what a change of
//! it does to running state. The checker, `explain`, the schema and the documentation all read it.

use crate::policy::Value;

/// One key of the file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Key {
    /// The table it stands in.
    pub table: Table,
    /// Its name there.
    pub name: &'static str,
    /// Its path below a dependency: `breaker.failure_rate`.
    pub path: &'static str,
    /// Its type and range.
    pub kind: Kind,
    /// What holds where it is not written, in words or in the file's notation.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What a change of it does while running.
    pub reload: Reload,
    /// How to say "none", "unbounded" or "off".
    pub none: &'static str,
    /// What other products call it.
    pub synonyms: &'static [&'static str],
}

/// The tables of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Table {
    /// Above the first header.
    Top,
    /// `[runtime]`.
    Runtime,
    /// `[dependency.…]`, and the same in a template, the defaults and an operation.
    Dependency,
    /// `[dependency.….breaker]`.
    Breaker,
    /// `[dependency.….bulkhead]`.
    Bulkhead,
    /// `[dependency.….retry]`.
    Retry,
    /// `[dependency.….fallback]`.
    Fallback,
    /// `[dependency.….traffic]`.
    Traffic,
    /// `[dependency.….chaos]`.
    Chaos,
    /// `[resource.…]`.
    Resource,
}

impl Table {
    /// The tables below a dependency.
    pub const LAYERS: [Self; 6] = [
        Self::Breaker,
        Self::Bulkhead,
        Self::Retry,
        Self::Fallback,
        Self::Traffic,
        Self::Chaos,
    ];

    /// The table's own name; empty for the top and for the dependency itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Top | Self::Dependency => "",
            Self::Runtime => "runtime",
            Self::Breaker => "breaker",
            Self::Bulkhead => "bulkhead",
            Self::Retry => "retry",
            Self::Fallback => "fallback",
            Self::Traffic => "traffic",
            Self::Chaos => "chaos",
            Self::Resource => "resource",
        }
    }

    /// Whether `breaker = false` is understood: it takes an inherited table away.
    pub const fn can_be_off(self) -> bool {
        matches!(self, Self::Breaker | Self::Bulkhead | Self::Retry | Self::Chaos)
    }

    /// The keys of this table, in order.
    pub fn keys(self) -> impl Iterator<Item = Id> {
        Id::ALL.iter().copied().filter(move |id| id.key().table == self)
    }
}

/// The type and range of a value.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Kind {
    /// Text for people.
    Text,
    /// The path of a file.
    Path,
    /// `true` or `false`.
    Bool,
    /// The number 1.
    Version,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// The name of a template.
    Template,
    /// A list of names of resources.
    Resources,
    /// A duration of at most 24 hours; `zero` says whether none at all is allowed.
    Duration {
        /// Whether `"0s"` is allowed.
        zero: bool,
    },
    /// So many calls or so much time.
    Window,
    /// A whole number between these, both included.
    Integer(i64, i64),
    /// A number in this range.
    Number(Range),
    /// A rate above 0 and up to 1, or `false`.
    RateOrOff,
    /// A list of rates above 0 and up to 1.
    Rates,
}

/// A range of numbers. Written so that a value which is not a number lies outside.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// The least.
    pub least: f64,
    /// Whether the least itself lies outside.
    pub above: bool,
    /// The most.
    pub most: f64,
    /// Whether the most itself lies outside.
    pub below: bool,
    /// In the words of the documentation.
    pub words: &'static str,
    /// Whether it is a share of one, so that `50` was meant as per cent.
    pub share: bool,
}

impl Range {
    /// Whether `value` lies inside.
    pub fn contains(&self, value: f64) -> bool {
        let low = if self.above {
            value > self.least
        } else {
            value >= self.least
        };
        let high = if self.below {
            value < self.most
        } else {
            value <= self.most
        };
        low && high
    }
}

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

/// What a changed value does to running state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reload {
    /// From the next attempt on.
    AtOnce,
    /// From the next call on.
    NextCall,
    /// The window starts empty.
    WindowEmpty,
    /// An open breaker's end moves.
    Cooldown,
    /// A smaller number drains.
    Drains,
    /// Seen at the next start only.
    Restart,
    /// Nothing that runs reads it.
    Words,
}

impl Reload {
    /// In words, for reports.
    pub const fn effect(self) -> &'static str {
        match self {
            Self::AtOnce => "takes effect at once, with the next attempt",
            Self::NextCall => "takes effect with the next call",
            Self::WindowEmpty => "the window starts empty",
            Self::Cooldown => {
                "takes effect at once; the end of an open breaker moves to its opening plus the new cooldown"
            }
            Self::Drains => "takes effect at once; where it is smaller, running calls drain",
            Self::Restart => "takes effect at the next start",
            Self::Words => "nothing that runs changes",
        }
    }
}

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
    Bool, Duration, Integer, Number, Path, RateOrOff, Rates, Resources, Template, Text, Version, Window, Word, Words,
};

const TIME: Kind = Duration { zero: false };
const PAUSE: Kind = Duration { zero: true };
const SLOTS: Kind = Integer(1, 1_000_000);
const WINDOW_CALLS: Kind = Integer(1, 100_000);

keys! {
    Version Top "version" Version, "required", Words, "", "the version of the file's format", &[];

    Instance Runtime "instance" Text, "RESILIENCE_INSTANCE, else HOSTNAME, else the host's name", Restart, "", "the name of this instance in metrics and reports", &["instanceId", "instance_name"];
    Overrides Runtime "overrides" Path, "resilience.overrides.toml", Restart, "", "the operator's overrides, a file beside the policy file; may be missing", &[];
    ChaosSwitch Runtime "chaos" Bool, "false", AtOnce, "", "a chaos table acts only where this is true", &["chaosEnabled"];

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
    MaxKeys Bulkhead "bulkhead.max_keys" SLOTS, "10000", Drains, "the most is 1000000", "keys remembered at once; idle ones are forgotten first", &[];
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

impl Key {
    /// What is allowed, for messages, the schema and the documentation.
    pub fn allowed(&self) -> String {
        match self.kind {
            Text => "a text of at least one character".into(),
            Path => "the path of a file".into(),
            Bool => "true or false".into(),
            Version => "1".into(),
            Word(words) => quoted(words),
            Words(words) => format!("a list of {}", quoted(words)),
            Template => "the name of a template".into(),
            Resources => "a list of names of resources".into(),
            Duration { zero: false } => {
                "a duration above 0 and up to 24h, such as \"400ms\", \"30s\" or \"1m30s\"".into()
            }
            Duration { zero: true } => "a duration from \"0s\" to 24h, such as \"400ms\", \"30s\" or \"1m30s\"".into(),
            Window => "\"1 calls\" to \"100000 calls\", or a duration up to 1h such as \"30s\"".into(),
            Integer(least, most) => format!("a whole number from {least} to {most}"),
            Number(range) => range.words.into(),
            RateOrOff => "0 < rate <= 1, or false".into(),
            Rates => "a list of rates, each 0 < rate <= 1".into(),
        }
    }

    /// The built-in value that depends on nothing else; `None` where there is none or where it depends on other keys.
    pub fn built_in(&self) -> Option<Value> {
        let value = match self.kind {
            Word(_) if self.default != "required" => Value::String(self.default.into()),
            Words(words) => Value::List(words.iter().map(|word| Value::String((*word).into())).collect()),
            Duration { .. } => Value::Duration(crate::units::duration(self.default).ok()?),
            Window => Value::String(self.default.into()),
            Integer(..) => Value::Integer(self.default.parse().ok()?),
            Number(_) | RateOrOff => Value::Float(self.default.parse().ok()?),
            _ => return None,
        };
        Some(value)
    }
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("\"{word}\""))
        .collect::<Vec<_>>()
        .join(", ")
}
