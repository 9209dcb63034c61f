//! The whole call against a second, plain telling of it: random policies, arrivals, results, drops, reloads, modes and
//! time, and after every step the same ends, starts, states, counts, slots, waiters, budgets, transitions and metrics.
//!
//! `plain` was written from the contract and knows nothing of the runtime; `real` drives the runtime. A difference is
//! shrunk by proptest; what was one once stands by name in `found`.

mod far;
mod found;
mod ledger;
mod numbers;
mod plain;
mod real;
mod steps;

use proptest::prelude::*;

use ledger::Ledger;
use numbers::{Numbers, Source};
use steps::{Day, Step};

/// Somebody who records makes the runtime take other ways, so it is looked at with and without.
fn compare(first: &Numbers, steps: &[Step], recorded: bool) {
    let ledger = Ledger::default();
    let _listens = recorded.then(|| metrics::set_default_local_recorder(&ledger));
    side_by_side(first, steps, recorded.then_some(&ledger));
}

fn side_by_side(first: &Numbers, steps: &[Step], ledger: Option<&Ledger>) {
    let alone = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    alone.block_on(tokio::task::unconstrained(steps::run(first, steps, ledger)));
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 48)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_whole_call_does_as_the_plain_telling_says_on_stormy_days(
        bytes in bytes(),
        steps in prop::collection::vec(steps::any_step(Day::Stormy), 1..60),
        recorded in any::<bool>(),
    ) {
        compare(&Numbers::draw(&mut Source::new(&bytes)), &steps, recorded);
    }

    #[test]
    fn the_whole_call_does_as_the_plain_telling_says_on_calm_days(
        bytes in bytes(),
        steps in prop::collection::vec(steps::any_step(Day::Calm), 1..90),
        recorded in any::<bool>(),
    ) {
        compare(&Numbers::draw(&mut Source::new(&bytes)), &steps, recorded);
    }
}
