//! What an idle dependency keeps.

use allocation_counter::measure;
use resilience_runtime::Runtime;

use crate::file::{self, EVERY_KEY, FOUR_TABLES, TIME_WINDOW};
use crate::{FEWER, MANY};

/// Bytes of one dependency, in the policy and in the runtime that has it in force.
const ROOM: i64 = 4_096;

/// Asserts it of so many dependencies. `name` is theirs alone: what a process keeps of a name it keeps once.
#[track_caller]
fn assert_small(name: &str, many: usize, keys: &str) {
    let (mut policy, mut runtime) = (None, None);
    let of_policy = measure(|| policy = Some(file::policy(name, many, keys, "2s"))).bytes_current;
    let of_runtime = measure(|| runtime = policy.clone().map(Runtime::new)).bytes_current;
    let many = i64::try_from(many).unwrap();
    assert!(
        of_policy + of_runtime <= ROOM * many,
        "{} bytes each in the policy, {} in the runtime",
        of_policy / many,
        of_runtime / many,
    );
}

#[test]
fn an_idle_dependency_with_four_tables_keeps_at_most_4_kib() {
    assert_small("four-tables", MANY, FOUR_TABLES);
}

#[test]
fn nor_does_a_time_window_keep_more() {
    assert_small("time-window", FEWER, TIME_WINDOW);
}

#[test]
fn nor_does_a_dependency_with_every_key_written() {
    assert_small("every-key", FEWER, EVERY_KEY);
}

#[test]
fn every_name_has_its_guard_and_looking_it_up_allocates_nothing() {
    let runtime = Runtime::new(file::policy("looked-up", MANY, FOUR_TABLES, "2s"));
    let names: Vec<_> = (0..MANY).map(|number| file::name("looked-up", number)).collect();
    let looked_up = measure(|| {
        for name in &names {
            runtime.guard(name).expect("it stands in the policy");
        }
    });
    assert_eq!(looked_up.count_total, 0);
    assert!(runtime.guard("looked-up-10000").is_err());
}
