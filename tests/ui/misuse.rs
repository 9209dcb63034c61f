//! Every misuse that we report ourselves, with the words and the place. rustc's own words differ from one release to the
//! next: mistakes that it reports are in `scratch.rs`.

use std::process::Command;

/// Set for the run inside, in which the package is trybuild's and the policy is found by this variable alone.
const POLICY: &str = "RESILIENCE_POLICY";

#[test]
fn each_misuse_is_told_where_it_stands_and_with_the_way_out() {
    if std::env::var_os(POLICY).is_some() {
        trybuild::TestCases::new().compile_fail("misuse/*.rs");
        return;
    }
    // The variable of a running process cannot be set without `unsafe`, so the test runs itself once more with it.
    let this = std::env::current_exe().expect("a test knows its own file");
    let status = Command::new(this)
        .args([
            "--exact",
            "each_misuse_is_told_where_it_stands_and_with_the_way_out",
            "--nocapture",
        ])
        .env(POLICY, concat!(env!("CARGO_MANIFEST_DIR"), "/resilience.toml"))
        .status()
        .expect("a test can be started");
    assert!(status.success());
}
