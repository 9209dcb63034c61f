use super::*;

const POLICY: &str = "
version = 1
[defaults]
timeout = '1s'
breaker = {}
[dependency.payrail]
fail = 'open'
bulkhead.max_concurrent = 8
retry = {}
[dependency.vault]
fail = 'closed'
breaker = false
[dependency.payrail.operation.refund]
bulkhead.per_key = 2
";

/// The messages about a function with these entries.
fn messages(entries: &str, item: &str) -> Vec<String> {
    let tokens = |text: &str| text.parse::<TokenStream>().expect("the test's own tokens");
    match check(tokens(entries), &tokens(item), || Ok(Source::of(POLICY))) {
        Ok(_) => Vec::new(),
        Err(Refused::Function(faults) | Refused::Other(faults)) => faults.messages(),
    }
}

const FUNCTION: &str = "async fn f(id: String) -> Res<u8> { Ok(1) }";

#[test]
fn what_fits_is_let_through() {
    for entries in [
        "breaker(\"payrail\"), fallback(none = \"x\")",
        "fallback(value = 1), timeout(\"payrail\"), retry(), bulkhead()",
        "bulkhead(\"payrail.refund\", key = id, classify = class), fallback(stale(key = id)), fallback(spare)",
        "timeout(\"vault\"), fallback(refuse = refusal)",
        "breaker(\"payrail\"), bulkhead(\"payrail\"), fallback(with = a::b::<u8>, one_per = (id, 1),)",
        "breaker(\"payrail\"), fallback(<T as Desk>::spare), fallback(self::none)",
    ] {
        assert_eq!(messages(entries, FUNCTION), [""; 0], "{entries}");
    }
}

#[test]
fn all_faults_of_a_function_are_told_at_once() {
    let told = messages(
        "breaker(\"payrial\"), retry(3), breaker(), fallback(value = 1), fallback(none = \"x\")",
        FUNCTION,
    );
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(told[0].starts_with("`#[retry]` takes no number"), "{told:#?}");
    assert!(told[1].starts_with("`#[breaker]` stands here twice"), "{told:#?}");
    assert!(
        told[2].starts_with("never reached: `value` above always answers"),
        "{told:#?}"
    );
    assert_eq!(
        told[3],
        "`payrial` is not in resilience.toml; did you mean `payrail`? (it has `payrail`, `payrail.refund`, `vault`)"
    );
}

#[test]
fn a_closed_dependency_lets_no_fallback_answer() {
    for (form, name) in [
        ("value = 1", "value"),
        ("a::spare", "a::spare"),
        ("with = spare", "with = spare"),
        ("stale(shared)", "stale"),
    ] {
        let told = messages(&format!("timeout(\"vault\"), fallback({form})"), FUNCTION);
        assert_eq!(
            told,
            [format!(
                "`vault` has `fail = \"closed\"` (resilience.toml:11), and `{name}` could make up a success: refuse with \
                 `refuse = path` or `none = \"reason\"`, or decide for `fail = \"open\"` there"
            )]
        );
    }
}

#[test]
fn a_layer_needs_its_table_and_a_key_its_slots() {
    let told = messages(
        "breaker(\"vault\"), bulkhead(), timeout(), fallback(none = \"x\")",
        FUNCTION,
    );
    assert_eq!(
        told,
        [
            "`vault` has no `breaker` table (resilience.toml:10): add `[dependency.vault.breaker]`, which may be empty",
            "`vault` has no `bulkhead` table (resilience.toml:10): add `[dependency.vault.bulkhead]` with `max_concurrent`",
        ]
    );
    let told = messages("bulkhead(\"payrail\", key = id), fallback(none = \"x\")", FUNCTION);
    assert_eq!(
        told,
        [
            "`payrail` has no slots per key (resilience.toml:6): add `per_key = …` to `[dependency.payrail.bulkhead]`, \
          or leave `key` out"
        ]
    );
}

#[test]
fn a_policy_that_cannot_be_used_is_told_beside_what_needs_none() {
    let tokens = |text: &str| text.parse::<TokenStream>().expect("the test's own tokens");
    let faults = match check(tokens("breaker(\"payrail\")"), &tokens(FUNCTION), || {
        Err("no policy".to_owned())
    }) {
        Ok(_) => panic!("there is no policy"),
        Err(Refused::Function(faults) | Refused::Other(faults)) => faults.messages(),
    };
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(
        faults[0].starts_with("`f` calls `payrail` and has no fallback"),
        "{faults:#?}"
    );
    assert_eq!(faults[1], "no policy");
}

#[test]
fn a_function_is_not_its_own_fallback() {
    let method = "async fn ask(&self) -> Res<u8> { Ok(1) }";
    let plain = "async fn ask() -> Res<u8> { Ok(1) }";
    for (path, item, itself) in [
        ("ask", plain, true),
        ("self::ask", plain, true),
        ("Self::ask", plain, true),
        ("Self::ask", method, true),
        ("ask", method, false),
        ("crate::desk::ask", plain, false),
    ] {
        let told = messages(&format!("breaker(\"payrail\"), fallback({path})"), item);
        assert_eq!(!told.is_empty(), itself, "{path} {told:?}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_what_can() {
    for (entries, message) in [
        (
            "breaker(+)",
            "expected the dependency's name in quotes, as in `#[breaker(\"payrail\")]`",
        ),
        (
            "breaker(\"payrail\" key)",
            "expected a comma after the dependency's name",
        ),
        ("breaker(\" \")", "the dependency's name is empty"),
        ("breaker(\"payrail\", classify = a b)", "`classify` takes a path"),
        ("bulkhead(\"payrail\", key = a b)", "`key` takes an expression"),
        ("bulkhead(\"payrail\", key)", "`key` takes an expression: `key = EXPR`"),
        (
            "fallback(with)",
            "`with` needs a path: `with = path` (for a function of that name write `self::with`)",
        ),
        ("fallback(refuse)", "`refuse` needs a path: `refuse = path`"),
        ("fallback(value)", "`value` needs an expression: `value = EXPR`"),
        ("fallback(1)", "a fallback answer needs its word: `value = 1`"),
        (
            "fallback(\"a::spare\")",
            "expected the path of a function, not a text: `#[fallback(a::spare)]`",
        ),
        (
            "fallback(\"gone fishing\")",
            "a text alone is no fallback: `none = \"gone fishing\"` for a reason",
        ),
        ("fallback(none = because)", "`none` takes the reason as a text"),
        ("fallback(none = )", "`none` takes the reason as a text"),
        ("fallback(none = \" \")", "the reason is empty"),
        (
            "fallback(stale = key)",
            "expected `stale(key = EXPR)`, or `stale(shared)`",
        ),
        ("fallback(stale(1))", "expected `stale(key = EXPR)`, or `stale(shared)`"),
        (
            "fallback(stale(key))",
            "expected `stale(key = EXPR)`, or `stale(shared)`",
        ),
        (
            "fallback(stale(shared, 1))",
            "expected nothing more: `stale(key = EXPR)`",
        ),
        ("fallback(stale(shared) none = \"x\")", "expected a comma"),
        (
            "fallback(refuse = refusal, one_per = id)",
            "`one_per` belongs to `path` and `with = path`: `refuse` runs nothing that callers could share",
        ),
        (
            "fallback(none = \"x\", one_per = id)",
            "`one_per` belongs to `path` and `with = path`: `none` runs nothing that callers could share",
        ),
        (
            "fallback(spare(id))",
            "a fallback is the path of a function; its arguments are passed by themselves",
        ),
    ] {
        let told = messages(&format!("timeout(\"payrail\"), {entries}"), FUNCTION);
        assert!(
            told.iter().any(|told| told.starts_with(message)),
            "{entries}: {told:#?}"
        );
    }
    // An argument that cannot be read hides none that can.
    let told = messages(
        "timeout(\"payrail\" +, crate = 1), fallback(stale(), none = \"x\")",
        FUNCTION,
    );
    assert!(
        told.iter().any(|told| told.starts_with("`crate` takes a path")),
        "{told:#?}"
    );
}

#[test]
fn the_hidden_attribute_by_itself_says_what_to_write() {
    assert_eq!(
        messages("", FUNCTION),
        ["this attribute is written by the others: use `#[breaker(\"…\")]`"]
    );
}

#[test]
fn a_policy_without_what_is_named_says_what_to_add() {
    let told = |policy: &'static str, entries: &str| {
        let tokens = |text: &str| text.parse::<TokenStream>().expect("the test's own tokens");
        match check(tokens(entries), &tokens(FUNCTION), || Ok(Source::of(policy))) {
            Ok(_) => Vec::new(),
            Err(Refused::Function(faults) | Refused::Other(faults)) => faults.messages(),
        }
    };
    assert_eq!(
        told("version = 1\n", "breaker(\"payrail\"), fallback(none = \"x\")"),
        ["`payrail` is not in resilience.toml, which has no dependency yet: add `[dependency.payrail]`"]
    );
    assert_eq!(
        told(
            "version = 1\n[dependency.payrail]\nfail = \"open\"\n",
            "timeout(\"payrail\"), fallback(none = \"x\")"
        ),
        ["`payrail` has no `timeout` (resilience.toml:2): add `timeout = \"…\"` to `[dependency.payrail]`"]
    );
}
