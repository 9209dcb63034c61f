use super::*;

/// What the derive makes of a declaration.
fn derived(text: &str) -> String {
    derive(text.parse().expect("the test's own tokens")).to_string()
}

#[test]
fn the_implementation_is_that_of_the_crate_that_is_named() {
    let text = derived("#[classify(other, crate = facade::rt)] struct Lost(u8);");
    assert!(text.contains("impl facade :: rt :: Classify for Lost"), "{text}");
    assert!(
        text.contains("facade :: rt :: Outcome :: Failure (facade :: rt :: FailureKind :: Other)"),
        "{text}"
    );
    let text = derived("#[classify(crate = facade)] enum Lost { #[classify(transparent)] By(u8) }");
    assert!(
        text.contains("facade :: Classify :: classify (__resilience_field)"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_read_says_what_there_is() {
    for (text, message) in [
        ("fn lost() {}", "expected one of"),
        (
            "#[classify(throttled(retry_after = 1))] struct Busy(u8);",
            "there is no field `1`; it has `0`",
        ),
        (
            "#[classify(throttled(retry_after = wait))] struct Busy { after: u8, by: u8 }",
            "there is no field `wait`; it has `after`, `by`",
        ),
        (
            "#[classify(throttled(retry_after = 0))] struct Busy;",
            "there is no field `0`; it has none",
        ),
        (
            "#[classify(throttled(retry_after = 0, 1))] struct Busy(u8);",
            "expected `throttled(retry_after = FIELD)`",
        ),
        (
            "#[classify(throttled(after = 0))] struct Busy(u8);",
            "expected `throttled(retry_after = FIELD)`",
        ),
        (
            "#[classify(server, client)] struct Lost;",
            "there is no class `client`; expected one of `business`",
        ),
        (
            "#[classify(gone)] struct Lost;",
            "there is no class `gone`; expected one of `business`",
        ),
        (
            "#[classify(crate = rt)] struct Lost;",
            "`Lost` has no class: write `#[classify(…)]` above it",
        ),
        ("#[classify(crate = 1, other)] struct Lost;", "expected identifier"),
    ] {
        let made = derived(text);
        assert!(
            made.contains(message) && made.contains("compile_error"),
            "{text}: {made}"
        );
        assert!(!made.contains("impl"), "{text}: {made}");
    }
}
