//! Where the calls come from: a service's admin router, or what somebody saved from one. A thread of its own reads, so
//! that Ctrl-C waits for nobody.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::args::Record;

/// To reach it, and for its first word.
const PATIENCE: Duration = Duration::from_secs(5);
/// The token, where the service wants one. An argument would stand in everybody's list of processes.
const TOKEN: &str = "RESILIENCE_ADMIN_TOKEN";
/// Lines on their way to the file. A disk that is slow makes the service lose calls, not this process grow.
const ON_THE_WAY: usize = 4096;
/// No call is longer than this.
const LONGEST: u64 = 64 * 1024;
/// What the admin router has beside its calls; any of these may be given.
const BESIDE: [&str; 7] = ["calls", "page", "snapshot", "events", "metrics", "live", "ready"];

pub(super) enum Got {
    Line(String),
    End,
    Broken(String),
}

pub(super) fn is_service(from: &str) -> bool {
    from.starts_with("http://")
}

pub(super) fn open(options: &Record, lasting: Option<Duration>) -> Result<Receiver<Got>, String> {
    let from = options.from.as_str();
    let reader: Box<dyn Read + Send> = if from.starts_with("https://") {
        return Err(format!(
            "`{from}`: only `http://` is spoken here; over TLS: `curl -fsSN {from} | resilience record -`"
        ));
    } else if is_service(from) {
        Box::new(ask(from, options, lasting)?)
    } else if from == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(from).map_err(|error| format!("`{from}` cannot be read: {error}"))?)
    };
    let (sender, receiver) = mpsc::sync_channel(ON_THE_WAY);
    std::thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        // Who has stopped listening has dropped the other end.
        while let (true, got) = next(&mut reader) {
            if sender.send(got).is_err() {
                return;
            }
        }
        let _ = sender.send(Got::End);
    });
    Ok(receiver)
}

/// The next line, and whether there was one. Half a line at the end is none.
fn next(reader: &mut impl BufRead) -> (bool, Got) {
    let mut line = Vec::new();
    match reader.take(LONGEST).read_until(b'\n', &mut line) {
        Ok(_) if line.ends_with(b"\n") => match String::from_utf8(line) {
            Ok(text) => (true, Got::Line(text.trim_end().to_owned())),
            Err(_) => (true, Got::Broken("it said something that is no text".to_owned())),
        },
        Ok(length) if u64::try_from(length) == Ok(LONGEST) => (
            true,
            Got::Broken("it said something that is longer than any call".to_owned()),
        ),
        Ok(_) => (false, Got::End),
        Err(error) => (true, Got::Broken(error.to_string())),
    }
}

fn ask(from: &str, options: &Record, lasting: Option<Duration>) -> Result<impl Read + Send + use<>, String> {
    let address = address(from);
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .http_status_as_error(false)
        // One's own instances are asked, not the world.
        .proxy(None)
        .build()
        .into();
    let mut request = agent.get(&address);
    if !options.dependency.is_empty() {
        request = request.query("dependency", options.dependency.join(","));
    }
    if let Some(lasting) = lasting {
        request = request.query("for", lasting.as_secs_f64().to_string());
    }
    if let Ok(token) = std::env::var(TOKEN) {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let mut answer = request
        .call()
        .map_err(|error| format!("`{address}` did not answer: {error}"))?;
    let status = answer.status();
    let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    if status.is_success() && kind == Some("application/x-ndjson") {
        return Ok(answer.into_body().into_reader());
    }
    let said = answer
        .body_mut()
        .with_config()
        .limit(LONGEST)
        .read_to_string()
        .unwrap_or_default();
    let said: String = said
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|letter| !letter.is_control())
        .collect();
    Err(match status.as_u16() {
        401 | 403 => format!("`{address}` refused: {said}; the token is taken from `{TOKEN}`"),
        404 if said.is_empty() => format!(
            "`{address}` is not there: the service needs the feature `record` of `resilience-admin` and `Admin::record`"
        ),
        200..300 => format!("`{address}` answered with something that is no recording"),
        status => format!("`{address}` answered {status}: {said}"),
    })
}

/// The calls of a router, whatever of it was named.
fn address(from: &str) -> String {
    let plain = from.split(['?', '#']).next().unwrap_or(from).trim_end_matches('/');
    let root = match plain.rsplit_once('/') {
        Some((root, last)) if BESIDE.contains(&last) => root,
        _ => plain,
    };
    format!("{root}/calls")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_of_the_router_is_named_its_calls_are_asked_for() {
        for (from, asked) in [
            ("http://ops:9000/admin", "http://ops:9000/admin/calls"),
            ("http://ops:9000/admin/", "http://ops:9000/admin/calls"),
            ("http://ops:9000/admin/page#payrail", "http://ops:9000/admin/calls"),
            ("http://ops:9000/admin/snapshot", "http://ops:9000/admin/calls"),
            ("http://ops:9000/calls?for=3", "http://ops:9000/calls"),
            ("http://ops:9000", "http://ops:9000/calls"),
        ] {
            assert_eq!(address(from), asked);
        }
    }

    #[test]
    fn half_a_line_at_the_end_is_none() {
        let mut text = &b"{\"a\":1}\n{\"b\""[..];
        assert!(matches!(next(&mut text), (true, Got::Line(line)) if line == "{\"a\":1}"));
        assert!(!next(&mut text).0);
        let mut endless = &vec![b'x'; 100_000][..];
        assert!(matches!(next(&mut endless), (true, Got::Broken(_))));
    }
}
