//! Events as `tracing` events, target `resilience`. The name of the event is the field `event`, and the message
//! says it in words.

use crate::event::{Event, TARGET};

/// Whether anybody may listen to events of the level `debug`.
#[inline]
pub(crate) fn hears_debug() -> bool {
    ::tracing::Level::DEBUG <= ::tracing::level_filters::LevelFilter::current()
}

#[allow(clippy::too_many_lines)] // an arm for each event, with nothing to share
pub(crate) fn event(event: &Event<'_>) {
    let name = event.name();
    match event {
        Event::Transition {
            dependency,
            instance,
            from,
            to,
            cause,
            failure_rate,
            slow_rate,
            calls,
            cooldown_ms,
            threshold,
            counts,
            kinds,
            policy_hash,
            evidence,
        } => {
            ::tracing::warn!(
                target: TARGET, event = name, dependency, instance, from, to, cause, failure_rate, slow_rate, calls,
                cooldown_ms, threshold = %threshold, counts = %counts, kinds = %kinds, policy_hash,
                evidence = evidence.map(::tracing::field::display), "breaker of `{dependency}` went from {from} to {to}: {cause}",
            );
        }
        Event::Rejected {
            dependency,
            function,
            reason,
            retry_after_ms,
            observed,
        } => {
            ::tracing::debug!(
                target: TARGET, event = name, dependency, function, reason, retry_after_ms, observed,
                "call of `{function}` to `{dependency}` rejected: {reason}",
            );
        }
        Event::Sample {
            dependency,
            outcome,
            slow,
        } => {
            ::tracing::info!(
                target: TARGET, event = name, dependency, outcome, slow, "sample of `{dependency}` while open: {outcome}",
            );
        }
        Event::HoldCut {
            dependency,
            asked_ms,
            obeyed_ms,
        } => {
            ::tracing::warn!(
                target: TARGET, event = name, dependency, asked_ms, obeyed_ms,
                "`{dependency}` asked for a wait of {asked_ms} ms, `max_hold` obeys {obeyed_ms} ms of it",
            );
        }
        Event::FallbackFailed {
            dependency,
            function,
            kind,
            why,
            first,
            shed: true,
        } => {
            ::tracing::debug!(
                target: TARGET, event = name, dependency, function, kind, why = %why, first,
                "fallback of `{function}` gave nothing: {why}",
            );
        }
        Event::FallbackFailed {
            dependency,
            function,
            kind,
            why,
            first,
            shed: false,
        } => {
            ::tracing::warn!(
                target: TARGET, event = name, dependency, function, kind, why = %why, first,
                "fallback of `{function}` gave nothing: {why}",
            );
        }
        Event::Reloaded {
            file,
            hash,
            changes,
            detail,
        } => {
            ::tracing::info!(
                target: TARGET, event = name, file, hash, changes = *changes as u64, detail = %detail,
                "policy {hash} is in force from `{file}`: {detail}",
            );
        }
        Event::Refused { file, error } => {
            ::tracing::error!(
                target: TARGET, event = name, file, error = %error,
                "`{file}` was refused, what was in force stays: {error}",
            );
        }
        Event::Missing { file } => {
            ::tracing::warn!(target: TARGET, event = name, file, "`{file}` is missing, what was in force stays");
        }
        Event::FleetUnread { file } => {
            ::tracing::warn!(
                target: TARGET, event = name, file,
                "`{file}` has a table `[fleet]` that nothing here reads: mount `resilience-admin` with its feature `fleet`, or remove the table",
            );
        }
        Event::OverrideSet {
            dependency,
            mode,
            by,
            reason,
            seconds,
        } => {
            ::tracing::warn!(
                target: TARGET, event = name, dependency, mode, by, reason, seconds,
                "`{dependency}` is set to {mode} by {by} for {seconds} s: {reason}",
            );
        }
        Event::OverrideExpiring {
            dependency,
            mode,
            by,
            seconds,
        } => {
            ::tracing::warn!(
                target: TARGET, event = name, dependency, mode, by, seconds,
                "{mode} of `{dependency}`, set by {by}, ends in {seconds} s",
            );
        }
        Event::OverrideExpired { dependency, mode, by } => {
            ::tracing::warn!(target: TARGET, event = name, dependency, mode, by, "{mode} of `{dependency}`, set by {by}, ended");
        }
    }
}
