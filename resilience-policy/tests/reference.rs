//! The page in the docs is the loader's table of today.

const WRITTEN: &str = include_str!("../../docs/reference.md");

#[test]
fn the_reference_in_the_docs_is_current() {
    let page = resilience_policy::reference::page();
    let differs = WRITTEN.lines().zip(page.lines()).find(|(written, now)| written != now);
    assert!(
        WRITTEN == page,
        "run `cargo run -q -p resilience-policy --example reference > docs/reference.md`; first difference: {differs:?}"
    );
}
