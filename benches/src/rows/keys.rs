//! Slots per key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::measure::{Group, Row};
use crate::ours;
use crate::work::{Answer, Failed, answer, finish};

pub(super) fn group() -> Group {
    let rows = vec![
        keyed("keys-1", "ours: 1 key", 1, |key| finish(ours::keyed_1(key))).sized(&ours::keyed_1(0)),
        keyed("keys-1000", "ours: 1 000 keys", 1_000, |key| {
            finish(ours::keyed_1_000(key))
        }),
        keyed("keys-100000", "ours: 100 000 keys", 100_000, |key| {
            finish(ours::keyed_100_000(key))
        }),
        by_hand("by-hand-keys-1", 1),
        by_hand("by-hand-keys-1000", 1_000),
        by_hand("by-hand-keys-100000", 100_000),
    ];
    Group {
        title: "Bulkhead with slots per key",
        note: "Keys in no order. No peer has this for async functions; by hand it is a map of semaphores, which \
               forgets no key.",
        rows,
    }
}

fn keyed(id: &'static str, name: impl Into<String>, keys: u64, mut call: impl FnMut(u64) -> Answer + 'static) -> Row {
    for key in 0..keys {
        let _answer = call(key);
    }
    let mut key = 0;
    Row::new(id, name, move || {
        // Steps that share no factor with the number of keys visit all of them.
        key = (key + 7_919) % keys;
        call(key)
    })
}

fn by_hand(id: &'static str, keys: u64) -> Row {
    let slots = Arc::new(Mutex::new(HashMap::<u64, Arc<Semaphore>>::new()));
    let all = Semaphore::new(20);
    keyed(id, format!("by hand: {keys} keys"), keys, move |key| {
        let _slot = all.try_acquire().map_err(|_| Failed)?;
        let own = {
            let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(key).or_insert_with(|| Arc::new(Semaphore::new(5))))
        };
        let _own = own.try_acquire().map_err(|_| Failed)?;
        finish(answer(false))
    })
}
