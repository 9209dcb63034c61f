//! OpenTelemetry spans in OTLP's JSON, as the collector's file exporter writes them: one export a line, or one document.
//!
//! A guarded call is a client's span: where a file has spans of kind `CLIENT`, those are the calls; else `SERVER`, else
//! all. The dependency is `peer.service`, else `server.address` (`net.peer.name`), else for a server's span
//! `service.name`; the instance is `service.instance.id`. The status of HTTP decides the outcome as the classifier
//! does; without one `error.type = "timeout"` and the span's own status do.

use serde::Deserialize;
use serde_json::Value;

use super::{Record, Seen, Trace, column, lines};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Export {
    #[serde(default)]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    #[serde(default)]
    resource: Resource,
    #[serde(default, alias = "instrumentationLibrarySpans")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize, Default)]
struct Resource {
    #[serde(default)]
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
struct ScopeSpans {
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    #[serde(default, rename = "spanId")]
    id: String,
    #[serde(default)]
    kind: Value,
    #[serde(default)]
    start_time_unix_nano: Value,
    #[serde(default)]
    end_time_unix_nano: Value,
    #[serde(default)]
    attributes: Vec<Attribute>,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize)]
struct Attribute {
    key: String,
    #[serde(default)]
    value: Value,
}

/// A span's place among the kinds: the nearest to a guarded call first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Client,
    Server,
    Other,
}

struct Found {
    side: Side,
    at: i64,
    nanos: u64,
    outcome: Seen,
    dependency: Option<String>,
    instance: Option<String>,
}

pub(super) fn read(bytes: &[u8], trace: &mut Trace) {
    let mut found = Vec::new();
    let whole = std::str::from_utf8(bytes).ok();
    let one_document = lines(bytes)
        .next()
        .is_some_and(|(_, line)| line.is_ok_and(|line| serde_json::from_str::<serde::de::IgnoredAny>(line).is_err()));
    match whole.filter(|_| one_document) {
        Some(text) => export(1, text, text, &mut found, trace),
        None => {
            for (number, line) in lines(bytes) {
                match line {
                    Ok(line) => export(number, line, line, &mut found, trace),
                    Err(column) => trace.skip(number, column, "", "a trace is UTF-8"),
                }
            }
        }
    }
    let Some(nearest) = found.iter().map(|span| span.side).min() else {
        return;
    };
    let (calls, others): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|span| span.side == nearest);
    let kind = match nearest {
        Side::Client => "CLIENT",
        Side::Server => "SERVER",
        Side::Other => "any kind",
    };
    trace.notes.push(format!(
        "calls are the {} spans of kind {kind}; {} of other kinds were left out",
        calls.len(),
        others.len()
    ));
    for span in calls {
        trace.push(&Record {
            at: span.at,
            latency: std::time::Duration::from_nanos(span.nanos),
            outcome: span.outcome,
            dependency: span.dependency.as_deref(),
            key: None,
            instance: span.instance.as_deref(),
            repeats: false,
        });
    }
}

fn export(number: usize, line: &str, text: &str, found: &mut Vec<Found>, trace: &mut Trace) {
    let export: Export = match serde_json::from_str(text) {
        Ok(export) => export,
        Err(error) => {
            let message = error.to_string();
            let told = message.split(" at line ").next().unwrap_or_default();
            let message = format!("a line is an export with `resourceSpans`: {told}");
            trace.skip(number + error.line().saturating_sub(1), error.column(), "", message);
            return;
        }
    };
    for resource in export.resource_spans {
        let of_resource = &resource.resource.attributes;
        for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            match judge(span, of_resource) {
                Ok(call) => found.push(call),
                Err((value, message)) => {
                    // The span's own id is the one text that stands only there.
                    let at = (!span.id.is_empty()).then(|| line.find(&span.id)).flatten();
                    let before = &line[..at.unwrap_or(0)];
                    let down = before.matches('\n').count();
                    let from = before.rfind('\n').map_or(0, |at| at + 1);
                    let column = column(&line[from..], &line[before.len()..]);
                    trace.skip(number + down, column, &value, message);
                }
            }
        }
    }
}

fn judge(span: &Span, resource: &[Attribute]) -> Result<Found, (String, &'static str)> {
    const TIMES: &str = "a span has `startTimeUnixNano` and a later `endTimeUnixNano`, in nanoseconds since 1970";
    let start = integer(&span.start_time_unix_nano).ok_or_else(|| (shown(&span.start_time_unix_nano), TIMES))?;
    let end = integer(&span.end_time_unix_nano).ok_or_else(|| (shown(&span.end_time_unix_nano), TIMES))?;
    let nanos = u64::try_from(end - start).map_err(|_| (shown(&span.end_time_unix_nano), TIMES))?;
    let side = side(&span.kind);
    let own = |names: &[&str]| names.iter().find_map(|name| attribute(&span.attributes, name));
    let dependency = own(&["peer.service", "server.address", "net.peer.name", "db.system"]);
    Ok(Found {
        side,
        at: start,
        nanos,
        outcome: outcome(span),
        dependency: match side {
            Side::Server => attribute(resource, "service.name"),
            _ => dependency,
        },
        instance: attribute(resource, "service.instance.id").or_else(|| attribute(resource, "host.name")),
    })
}

fn outcome(span: &Span) -> Seen {
    let status = ["http.response.status_code", "http.status_code"]
        .iter()
        .find_map(|name| attribute(&span.attributes, name));
    if let Some(seen) = status.and_then(|status| Seen::of_status(&status)) {
        return seen;
    }
    let failed = matches!(
        span.status.get("code"),
        Some(code) if code.as_i64() == Some(2) || code.as_str() == Some("STATUS_CODE_ERROR")
    );
    let kind = attribute(&span.attributes, "error.type").unwrap_or_default();
    match (failed, Seen::read(&kind.to_ascii_lowercase(), None)) {
        (_, Ok(failure @ Seen::Failure(_))) => failure,
        (true, _) => Seen::Failure(resilience_policy::FailureKind::Other),
        (false, _) => Seen::Success,
    }
}

fn side(kind: &Value) -> Side {
    match (kind.as_i64(), kind.as_str()) {
        (Some(3), _) | (_, Some("SPAN_KIND_CLIENT")) => Side::Client,
        (Some(2), _) | (_, Some("SPAN_KIND_SERVER")) => Side::Server,
        _ => Side::Other,
    }
}

/// 64-bit numbers are texts in OTLP's JSON; some writers do not know.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn attribute(attributes: &[Attribute], name: &str) -> Option<String> {
    let value = &attributes.iter().find(|attribute| attribute.key == name)?.value;
    let inner = value.as_object()?.values().next()?;
    Some(shown(inner))
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
