//! The table: who may import whom.

/// Crates, and those of ours that each may build on.
pub(crate) const CRATES: [(&str, &str); 5] = [
    ("resilience-policy", ""),
    ("resilience-macros", "resilience-policy"),
    ("resilience-runtime", "resilience-macros resilience-policy"),
    ("resilience-admin", "resilience-runtime"),
    ("resilience-cli", "resilience-runtime resilience-policy"),
];

/// A module, and what it may import of its own crate; what lies below it is its own affair. Of several rows the longest
/// that fits counts. A name in full, `clock::NEVER`, allows that alone.
pub(crate) struct Row {
    pub(crate) module: &'static str,
    pub(crate) may: &'static str,
    /// Crates it may use beside `std`; `None` for any.
    pub(crate) foreign: Option<&'static str>,
    /// Words that may not stand in its code at all.
    pub(crate) never: &'static str,
}

const fn row(module: &'static str, may: &'static str) -> Row {
    Row {
        module,
        may,
        foreign: None,
        never: "",
    }
}

/// Knows its own settings, and neither a sibling nor who observes nor a clock: the guard says what time it is.
const fn layer(module: &'static str, may: &'static str) -> Row {
    Row {
        module,
        may,
        foreign: Some("resilience_policy fastrand"),
        never: "Instant SystemTime clock::now",
    }
}

/// Decides by what it is told: no runtime, no lock, no reading of a clock.
const fn pure(module: &'static str, may: &'static str) -> Row {
    let never = "Mutex RwLock Atomic Instant SystemTime clock::now";
    Row {
        module,
        may,
        foreign: Some("resilience_policy"),
        never,
    }
}

#[rustfmt::skip] // a row is a line
pub(crate) const RUNTIME: &[Row] = &[
    // The pipe, from its source on.
    row("init", "circle missing runtime watch"),
    row("watch", "bell clock event mode runtime"),
    row("runtime::metrics", "bell dependency event meter observe::metrics runtime::Runtime"),
    row("runtime", "circle clock dependency event fleet guard init instance layer::breaker::Look meter missing mode observe::metrics private::Form recorder site tally"),
    row("dependency", "attempts clock fallback history identity layer meter mode private recorder sync tally words"),
    row("guard", "attempts clock deadline dependency event failure fallback keys layer meter ops outcome private recorder rejection runtime::last_seen served simulation::notes site tally"),
    row("fallback", "clock degraded dependency event failure guard::Calling guard::Late identity ops outcome private rejection served site"),
    row("event", "attempts dependency history::Pooled layer::breaker observe outcome rejection simulation::notes testing::note"),
    row("event::why", "attempts dependency history layer::breaker words"),
    Row { module: "observe", may: "event", foreign: Some("tracing"), never: "Mutex" },
    Row { module: "observe::metrics", may: "meter", foreign: Some("arc_swap metrics"), never: "Mutex" },
    row("meter", "attempts clock dependency event::Served fallback guard::read_breaker history layer::breaker::rate observe::metrics rejection runtime::forms_of sync tally words"),
    row("recorder", "attempts clock identity rejection site"),
    // The layers.
    row("layer", ""),
    layer("layer::breaker", "clock::NEVER sync words"),
    pure("layer::breaker::state", "layer::breaker::window clock::NEVER clock::nanos words"),
    pure("layer::breaker::window", "clock::NEVER clock::nanos sliding"),
    layer("layer::bulkhead", "sync"),
    layer("layer::hold", "sync"),
    layer("layer::retry", "sliding sync"),
    // What the macros and users see.
    row("private", "classify::RetryAfter fallback guard ops site"),
    row("available", "runtime"),
    row("snapshot", "attempts clock dependency event::Served fleet::Others guard::read_breaker history layer::breaker::Totals layer::breaker::rate mode runtime tally words"),
    row("testing", "clock dependency event identity rejection runtime snapshot words"),
    row("tower", "clock degraded event failure guard ops outcome rejection runtime served tally::CallOutcome"),
    row("axum", "failure outcome rejection"),
    row("problem", "failure outcome rejection"),
    row("simulation", "clock guard layer::breaker::Mark private rejection runtime words"),
    row("site", "dependency guard::EntryRef private runtime"),
    row("missing", "private site"),
    row("circle", "private site"),
    // Values.
    row("ops", "outcome rejection served"),
    row("classify", "clock outcome rejection"),
    row("deadline", "clock"),
    row("degraded", "identity"),
    row("failure", "outcome rejection"),
    row("rejection", "identity outcome"),
    row("tally", "event::Served rejection::Reason"),
    row("attempts", "outcome"),
    row("history", "attempts layer::breaker::Totals outcome words"),
    row("fleet", "clock::nanos layer::breaker"),
    row("mode", "clock"),
    // Leaves.
    row("bell", ""),
    row("clock", ""),
    row("identity", ""),
    row("instance", ""),
    row("keys", ""),
    row("outcome", ""),
    row("served", ""),
    row("simulation::notes", ""),
    pure("sliding", ""),
    row("sync", ""),
    row("words", ""),
];

/// The reader of the file. What has no row is free, below the crate's own arrow.
#[rustfmt::skip] // a row is a line
pub(crate) const POLICY: &[Row] = &[
    row("check", "build chain environment error fault fleet hash level locate names policy provenance reference rules syntax walk"),
    row("policy", "check diff error fleet name names provenance reference unite words"),
    row("fleet", "level locate policy provenance reference value words"),
    row("locate", ""),
    row("likeness", ""),
    row("name", "likeness"),
    row("names", ""),
    row("words", ""),
];

/// Parse, check, expand: each step knows only what lies before it.
#[rustfmt::skip] // a row is a line
pub(crate) const MACROS: &[Row] = &[
    row("relay", "krate"),
    row("args", "code fault"),
    row("function", "code"),
    row("gather", "args fault function"),
    row("check", "args code fault function gather krate policy"),
    row("expand", "args check code function"),
    row("classify", "code fault krate"),
    row("policy", ""),
    row("krate", ""),
];

/// The files that name the order of the layers, the short way and the long one, by acts of a call that no other file may
/// perform.
pub(crate) const ORDER: [(&str, &[&str]); 2] = [
    (
        "resilience-runtime/src/guard/attempt.rs",
        &["call.enter()", "call.admit()", ".waited_too_long("],
    ),
    (
        "resilience-runtime/src/guard/short.rs",
        &["breaker.gate()", "breaker.is_surely_open("],
    ),
];

/// The modules that may name more than one layer: where their states stand, and the steps that the order is made of.
pub(crate) const TWO_LAYERS: &str = "dependency guard";
