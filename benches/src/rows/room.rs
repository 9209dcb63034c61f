//! A bulkhead by itself, with room.

use resilience_runtime::Runtime;
use tokio::sync::Semaphore;

use super::guarded;
use crate::measure::{Group, Row};
use crate::peers::{sentinel, towers};
use crate::work::{Answer, Failed, SLOTS, answer, finish};

pub(super) fn group(runtime: &Runtime) -> Group {
    let (tried, waited) = (Semaphore::new(SLOTS), Semaphore::new(SLOTS));
    let (mut limit, mut shed, mut tower) = (towers::limit(), towers::shed(), towers::bulkhead());
    let sizer = Semaphore::new(SLOTS);
    let rows = vec![
        guarded(runtime, "room", "ours: guard", "room"),
        Row::new("semaphore", "tokio Semaphore: try_acquire, call, drop", move || {
            finish(tried_call(&tried))
        })
        .sized(&tried_call(&sizer)),
        Row::new("semaphore-wait", "tokio Semaphore: acquire, call, drop", move || {
            finish(waited_call(&waited))
        })
        .sized(&waited_call(&sizer)),
        Row::new("tower-limit", "tower ConcurrencyLimit", move || {
            towers::call(&mut limit, false).is_ok()
        }),
        Row::new("tower-shed", "tower LoadShed, ConcurrencyLimit", move || {
            towers::call(&mut shed, false).is_ok()
        }),
        Row::new("tower-resilience-room", "tower-resilience", move || {
            towers::call(&mut tower, false).is_ok()
        }),
        Row::new("sentinel-room", "sentinel-core", || {
            finish(sentinel::call(sentinel::ROOM, false))
        }),
    ];
    Group {
        title: "Bulkhead alone",
        note: "Twenty slots, one taken. Ours carries its (unused) timeout.",
        rows,
    }
}

async fn tried_call(semaphore: &Semaphore) -> Answer {
    let _slot = semaphore.try_acquire().map_err(|_| Failed)?;
    answer(false).await
}

async fn waited_call(semaphore: &Semaphore) -> Answer {
    let _slot = semaphore.acquire().await.map_err(|_| Failed)?;
    answer(false).await
}
