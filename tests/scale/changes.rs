//! What a reload of many dependencies reports, and that it leaves nothing behind.

use allocation_counter::measure;
use resilience_runtime::{Policy, Runtime};

use crate::file::{self, FOUR_TABLES};
use crate::{FEWER, MANY};

const RELOADS: usize = 200;

/// A runtime of so many dependencies, and a reload that changes one number of theirs there and back.
fn reloads(many: usize) -> (Runtime, impl Fn(usize)) {
    let policies = ["2s", "3s"].map(|timeout| file::policy("far-side", many, FOUR_TABLES, timeout));
    let runtime = Runtime::new(policies[0].clone());
    let reloaded = runtime.clone();
    let reload = move |number: usize| {
        let report = reloaded.reload(policies[number % 2].clone()).unwrap();
        let [change] = report.changes() else {
            panic!("{} changes", report.changes().len());
        };
        let values = if number % 2 == 1 { ("2s", "3s") } else { ("3s", "2s") };
        assert_eq!(change.key(), "dependency.far-side-0.timeout");
        assert_eq!((change.old(), change.new()), values);
    };
    (runtime, reload)
}

#[test]
fn one_changed_number_among_ten_thousand_dependencies_is_one_change() {
    let (_runtime, reload) = reloads(MANY);
    (1..=4).for_each(reload);
}

#[test]
fn two_hundred_reloads_leave_no_byte_behind() {
    let (runtime, reload) = reloads(FEWER);
    let _guards: Vec<_> = (0..FEWER)
        .map(|number| runtime.guard(&file::name("far-side", number)).unwrap())
        .collect();
    // The first ones make what later ones use again.
    (1..=2).for_each(&reload);
    let kept = measure(|| (1..=RELOADS).for_each(&reload));
    assert_eq!((kept.count_current, kept.bytes_current), (0, 0));
}

/// The changes of a reload from one policy to another, each of which has this end.
fn changes(old: Policy, new: Policy, end: &str) -> usize {
    let runtime = Runtime::new(old);
    let report = runtime.reload(new).unwrap();
    assert!(report.changes().iter().all(|change| change.key().ends_with(end)));
    report.changes().len()
}

#[test]
fn a_templates_edit_is_a_change_of_everybody_who_inherits_it() {
    assert_eq!(changes(file::inherited("2s"), file::inherited("3s"), ".timeout"), MANY);
}

#[test]
fn a_dependencys_edit_is_a_change_of_all_its_operations() {
    assert_eq!(
        changes(file::operations("2s"), file::operations("3s"), ".timeout"),
        MANY
    );
}
