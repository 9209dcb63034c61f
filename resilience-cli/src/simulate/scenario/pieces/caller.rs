//! `[[caller]]`: who calls what, when, and for how long they wait.

use super::{ABOUT, NAME, Place, TIME, key, name_all, stretch};
use crate::simulate::scenario::draft::{Faults, Keys};
use crate::simulate::scenario::values;
use crate::simulate::scenario::{Arrivals, Caller, Keys as CallKeys, Leaves, Named, Nanos};

const CALLER: [&str; 19] = [
    "name",
    "dependency",
    "calls",
    "together",
    "optional",
    "rate",
    "arrivals",
    "every",
    "burst",
    "from",
    "to",
    "keys",
    "key",
    "by",
    "stock",
    "patience",
    "again",
    "leaves",
    "about",
];

pub(in crate::simulate::scenario) fn caller(
    faults: &mut Faults<'_>,
    at: Place<'_, '_>,
    duration: Nanos,
    named: &mut Vec<Named>,
) -> Option<Caller> {
    let keys = at.keys(faults, &CALLER);
    let name = keys.need(faults, &NAME);
    keys.get(faults, &ABOUT);
    keys.exclusive(faults, &["dependency", "calls"]);
    let one = keys.get(
        faults,
        &key(
            "dependency",
            "a dependency, or an operation as payrail.refund",
            values::text,
        ),
    );
    let several = keys.get(faults, &key("calls", "a list of dependencies", values::names));
    let optional = keys
        .get(faults, &key("optional", "a list out of `calls`", values::names))
        .unwrap_or_default();
    let calls: Vec<String> = one.map(|one| vec![one]).or(several).unwrap_or_default();
    name_all(&keys, if keys.has("calls") { "calls" } else { "dependency" }, named);
    for other in optional.iter().filter(|other| !calls.contains(other)) {
        let span = keys.value("optional").map_or(keys.header.clone(), toml::Spanned::span);
        let message = format!("`{}` is not among the calls", other.escape_debug());
        faults.add("contradiction", &span, &keys.path_of("optional"), message);
    }
    let together = keys
        .get(faults, &key("together", "true or false", values::switch))
        .unwrap_or(false);
    let (from, to) = stretch(faults, &keys, duration);
    let arrivals = arrivals(faults, &keys);
    let call_keys = call_keys(faults, &keys);
    let again = keys.get(faults, &key("again", "a whole number, 0 or more", values::small));
    let leaves = keys.get(
        faults,
        &key("leaves", "\"drop\" or \"orphan\"", |value| {
            values::word(value, &[("drop", Leaves::Drop), ("orphan", Leaves::Orphan)])
        }),
    );
    let patience = keys.get(faults, &key("patience", TIME, values::span));
    for needs in ["again", "leaves"] {
        if let Some(value) = keys.value(needs).filter(|_| !keys.has("patience")) {
            let message = format!("`{needs}` needs `patience`: without it nobody leaves");
            faults.add("contradiction", &value.span(), &keys.path_of(needs), message);
        }
    }
    Some(Caller {
        stock: keys.get(faults, &key("stock", "a whole number from 1 on", values::some)),
        name: name?,
        calls,
        together,
        optional,
        arrivals: arrivals?,
        from,
        to,
        keys: call_keys,
        patience,
        again: again.unwrap_or(0),
        leaves: leaves.unwrap_or(Leaves::Drop),
    })
}

fn arrivals(faults: &mut Faults<'_>, keys: &Keys<'_, '_>) -> Option<Arrivals> {
    const ONE: [&str; 3] = ["rate", "every", "burst"];
    keys.exclusive(faults, &ONE);
    let chance = keys
        .get(
            faults,
            &key("arrivals", "\"even\" or \"poisson\"", |value| {
                values::word(value, &[("even", false), ("poisson", true)])
            }),
        )
        .unwrap_or(false);
    if chance && !keys.has("rate") {
        keys.missing(
            faults,
            "rate",
            "calls a second; `arrivals = \"poisson\"` is about a rate",
        );
        return None;
    }
    if !ONE.iter().any(|name| keys.has(name)) {
        keys.missing(faults, "rate", "calls a second; or `every`, or `burst`");
        return None;
    }
    let rate = keys.get(faults, &key("rate", "calls a second, above 0", values::rate));
    let every = keys.get(faults, &key("every", TIME, values::span));
    let burst = keys.get(faults, &key("burst", "so many calls at `from`", values::some));
    rate.map(|rate| {
        if chance {
            Arrivals::Poisson(rate)
        } else {
            Arrivals::Rate(rate)
        }
    })
    .or(every.map(Arrivals::Every))
    .or(burst.map(Arrivals::Burst))
}

fn call_keys(faults: &mut Faults<'_>, keys: &Keys<'_, '_>) -> CallKeys {
    keys.exclusive(faults, &["keys", "key"]);
    let many = keys.get(faults, &key("keys", "so many keys, from 1 on", values::some));
    let fixed = keys.get(faults, &key("key", "the number of a key", values::count));
    let ranked = keys
        .get(
            faults,
            &key("by", "\"turn\" or \"rank\"", |value| {
                values::word(value, &[("turn", false), ("rank", true)])
            }),
        )
        .unwrap_or(false);
    match (many, fixed) {
        (Some(many), _) if ranked => CallKeys::Rank(many),
        (Some(many), _) => CallKeys::Turn(many),
        (None, Some(fixed)) => CallKeys::Fixed(fixed),
        (None, None) => CallKeys::None,
    }
}
