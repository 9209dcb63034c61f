//! Addresses, which may hold a password: no message and no report may show it.

use super::Draft;
use crate::fault::FaultName;
use crate::name::{nearest, shown};
use crate::policy::Value;
use crate::reference::Key;

const SCHEMES: [&str; 4] = ["redis", "rediss", "unix", "redis+unix"];

pub(super) fn read(key: &Key, text: &str) -> Result<Value, Draft> {
    let wrong = |why: String, ours: Option<String>| {
        let message = format!("`{}` is {}: {why}", key.name, key.allowed());
        Err(Draft::new(FaultName::OutOfRange, message).suggest(ours))
    };
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return wrong("this holds a space or a control character".into(), None);
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        // What may be a password is not repeated.
        let plain = !text.is_empty() && !text.contains('@');
        return wrong(
            "this has no `redis://`".into(),
            plain.then(|| format!("redis://{text}/")),
        );
    };
    if !SCHEMES.contains(&scheme) {
        let near = nearest(scheme, SCHEMES).map(|near| without_password(&format!("{near}://{rest}")));
        return wrong(format!("`{}` is no scheme of a Redis", shown(scheme)), near);
    }
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if host.is_empty() || host.starts_with([':', '?']) || host.starts_with('/') && !scheme.ends_with("unix") {
        return wrong("this names no host".into(), None);
    }
    Ok(Value::String(text.into()))
}

/// The address as it may be shown: whatever stands before its last `@`, and a password among its parameters, is left out.
pub(crate) fn without_password(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (hidden, host) = rest.rsplit_once('@').map_or(("", rest), |(_, host)| ("…@", host));
    let (host, parameters) = host.split_once('?').map_or((host, ""), |(host, _)| (host, "?…"));
    let between = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{between}{hidden}{host}{parameters}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Id;

    #[test]
    fn an_address_of_a_redis_has_a_scheme_and_a_host() {
        let key = Id::FleetRedis.key();
        for good in [
            "redis://127.0.0.1/",
            "redis://:secret@cache:6379/1",
            "rediss://me:p@ss@cache",
            "unix:///run/redis.sock",
            "redis://[::1]:6379/",
        ] {
            assert!(read(key, good).is_ok(), "{good}");
        }
        for bad in [
            "cache:6379",
            "http://cache/",
            "redis://",
            "redis:///0",
            "redis://:6379",
            "redis://a b/",
            "redis://me:pw@/",
        ] {
            let draft = read(key, bad).unwrap_err();
            assert!(!draft.message.contains("pw"), "{}", draft.message);
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for (address, shown) in [
            ("redis://127.0.0.1/", "redis://127.0.0.1/"),
            ("redis://me:se@cret@cache:6379/1", "redis://…@cache:6379/1"),
            ("unix:///run/redis.sock?pass=secret&db=1", "unix:///run/redis.sock?…"),
            ("secret@cache", "…@cache"),
        ] {
            assert_eq!(without_password(address), shown);
        }
    }
}
