//! What the run is meant to show.

use std::time::Duration;

use resilience_runtime::DependencySnapshot;
use seatmap::Claim;

use crate::Phase;
use crate::load::Tally;
use crate::stores::QUERY;

/// Slots of the fallback, and of the database over all: the policy's numbers.
const LIMITER: i64 = 2;
const DATABASE: i64 = 4;

/// One phase as a line of the run.
pub(crate) fn row(phase: &Phase) -> String {
    let seen = phase.tally();
    format!(
        "{:9} {:4} reads: redis {:4}, database {:4}, stale {:4}, refused {:3}, failed {:3} | database by its own count: \
         {:3} reads, {} at once; without guards {:4} reads, {} at once | {}",
        phase.name,
        seen.reads,
        seen.from_redis,
        seen.from_database,
        seen.stale,
        seen.refused,
        seen.failed,
        phase.statements.guarded,
        phase.peak.guarded,
        phase.statements.twin,
        phase.peak.twin,
        phase.state,
    )
}

pub(crate) fn judge(phases: &[Phase], redis: &DependencySnapshot) -> Vec<Claim> {
    let of = |name| {
        phases
            .iter()
            .find(|phase| phase.name == name)
            .expect("every phase was run")
    };
    let healthy = of("healthy");
    let mut claims = vec![
        in_health(healthy),
        without_guards(healthy, of("killed")),
        at_the_bound(healthy, of("killed")),
        one_fetch_per_show(of("killed")),
    ];
    claims.extend([of("killed"), of("frozen")].map(nobody_waits));
    claims.push(never_more(phases));
    claims.extend(["restarted", "thawed", "calm"].map(|name| back(of(name))));
    claims.push(by_hand(of("isolated")));
    claims.push(spared(of("spared")));
    claims.push(by_chaos(of("chaos")));
    claims.push(every_fallback_ran(redis));
    claims
}

fn in_health(healthy: &Phase) -> Claim {
    let seen = healthy.tally();
    Claim::new(
        "healthy: Redis answers nineteen reads in twenty, and the database sees the rest",
        at_least(seen.from_redis, 0.9, seen.reads) && healthy.statements.guarded * 10 <= i64::from(seen.reads),
        format!(
            "{} of {} reads, {} reached the database",
            seen.from_redis, seen.reads, healthy.statements.guarded
        ),
    )
}

fn per_second(statements: i64, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
    let statements = statements as f64;
    statements / took.as_secs_f64()
}

/// How much more the database gets than in health.
fn multiple(now: f64, healthy: f64) -> f64 {
    now / healthy.max(1.0)
}

fn without_guards(healthy: &Phase, killed: &Phase) -> Claim {
    let (before, now) = (
        per_second(healthy.statements.twin, healthy.took),
        per_second(killed.statements.twin, killed.took),
    );
    Claim::new(
        "killed: without guards the database gets some twenty times its load",
        multiple(now, before) >= 12.0,
        format!(
            "{now:.0} reads a second instead of {before:.0}: {:.1} times; {} at once",
            multiple(now, before),
            killed.peak.twin
        ),
    )
}

/// Two slots of 40 ms are 50 reads a second, whatever knocks.
fn at_the_bound(healthy: &Phase, killed: &Phase) -> Claim {
    let bound = per_second(LIMITER, QUERY);
    let (before, now) = (
        per_second(healthy.statements.guarded, healthy.took),
        per_second(killed.statements.guarded, killed.took),
    );
    Claim::new(
        "killed: with guards it gets what the limiter lets through, and no more",
        now <= bound * 1.1 && now >= bound * 0.3 && killed.peak.guarded <= LIMITER,
        format!(
            "{now:.0} reads a second of at most {bound:.0}: {:.1} times; {} at once",
            multiple(now, before),
            killed.peak.guarded
        ),
    )
}

fn one_fetch_per_show(killed: &Phase) -> Claim {
    let seen = killed.tally();
    Claim::new(
        "killed: one fetch a show serves all who want it then",
        i64::from(seen.from_database) >= killed.statements.guarded * 6 / 5,
        format!(
            "{} readers were served by {} reads",
            seen.from_database, killed.statements.guarded
        ),
    )
}

/// Redis's client alone would have them wait for its retries, the pool for its connections.
fn nobody_waits(phase: &Phase) -> Claim {
    let seen: Tally = phase.tally();
    let text = match phase.name {
        "killed" => "killed: every reader has an answer or a refusal at once, most an answer",
        _ => "frozen: the same, although Redis keeps its connections and says nothing",
    };
    Claim::new(
        text,
        seen.longest < Duration::from_millis(1_500) && at_least(seen.answered(), 0.8, seen.reads) && seen.failed == 0,
        format!(
            "{} of {} answered ({} from the database, {} some seconds old), {} refused, the longest took {} ms",
            seen.answered(),
            seen.reads,
            seen.from_database,
            seen.stale,
            seen.refused,
            seen.longest.as_millis()
        ),
    )
}

fn never_more(phases: &[Phase]) -> Claim {
    let most = phases.iter().map(|phase| phase.peak.guarded).max().unwrap_or_default();
    Claim::new(
        "over all: the database never runs more at once than its bulkhead says, an empty cache included",
        most <= DATABASE,
        format!("{most} of {DATABASE}"),
    )
}

fn back(phase: &Phase) -> Claim {
    let seen = phase.tally();
    let text = match phase.name {
        "restarted" => "restarted: a probe closed the breaker, and Redis serves again",
        "thawed" => "thawed: a probe closed the breaker, and Redis serves again",
        _ => "calm: after the game day everything is as it was",
    };
    Claim::new(
        text,
        phase.state == "closed"
            && at_least(seen.from_redis, 0.9, seen.reads)
            && phase.cause == Some("probes_succeeded"),
        format!(
            "{} ({}), {} of {} from Redis",
            phase.state,
            phase.cause.unwrap_or("never opened"),
            seen.from_redis,
            seen.reads
        ),
    )
}

fn by_hand(phase: &Phase) -> Claim {
    let seen = phase.tally();
    Claim::new(
        "isolated: the operator's hand sends every reader to the fallbacks, within the limiter",
        seen.from_redis == 0 && seen.from_database > 0 && phase.peak.guarded <= LIMITER,
        format!(
            "{} from the database, {} stale, {} at once",
            seen.from_database, seen.stale, phase.peak.guarded
        ),
    )
}

fn spared(phase: &Phase) -> Claim {
    let seen = phase.tally();
    Claim::new(
        "spared: with the answer `spare the database` it sends none of them there",
        phase.statements.guarded == 0 && seen.stale > 0,
        format!(
            "{} reads of the database, {} stale, {} refused",
            phase.statements.guarded, seen.stale, seen.refused
        ),
    )
}

fn by_chaos(phase: &Phase) -> Claim {
    let seen = phase.tally();
    Claim::new(
        "chaos: failures that never reached Redis open the breaker and drive the same fallbacks",
        phase.state != "closed" && seen.from_redis == 0 && seen.from_database > 0,
        format!(
            "{}, {} from the database, {} stale",
            phase.state, seen.from_database, seen.stale
        ),
    )
}

fn every_fallback_ran(redis: &DependencySnapshot) -> Claim {
    let ran = |kind| redis.fallbacks.get(kind).copied().unwrap_or_default();
    let untried = redis.never_ran.join(", ");
    Claim::new(
        "the snapshot names no fallback that never ran",
        untried.is_empty() && ["with", "stale", "none"].map(ran).iter().all(|count| *count > 0),
        format!(
            "with {}, stale {}, none {}; untried: {untried:?}",
            ran("with"),
            ran("stale"),
            ran("none")
        ),
    )
}

fn at_least(part: u32, share: f64, of: u32) -> bool {
    of > 0 && f64::from(part) >= share * f64::from(of)
}
