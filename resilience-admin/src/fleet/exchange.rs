//! The task that publishes and reads, interval by interval, wherever the policy in force says at that moment.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};
use std::time::Duration;

use resilience_runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::store::Store;
use super::{Fleet, View};
use crate::admin::Shared;

/// The longest that one exchange may take: a store that needs longer is as good as gone.
const PATIENCE: Duration = Duration::from_secs(1);
/// A report outlives so many intervals; an instance that ended is gone after them.
const KEPT: u32 = 3;
/// How often is it looked whether the policy has a fleet by now.
const IDLE: Duration = Duration::from_secs(1);

/// Publishes and reads until the router is gone or told to end. `code` is where the instances meet if the policy does not
/// say.
pub(crate) async fn share(shared: Weak<Shared>, code: Option<Fleet>, view: Arc<View>) {
    // Two processes may have one name; what they publish must not be one.
    let chance = RandomState::new();
    let me = format!("{:016x}", chance.hash_one("me"));
    let mut met: Option<(Fleet, Store)> = None;
    let mut pools = false;
    let until = shared.upgrade().and_then(|shared| shared.until.clone());
    for round in 0_u64.. {
        let Some(alive) = shared.upgrade() else { break };
        alive.runtime.attend_fleet();
        let pause = match wanted(&alive.runtime, code.as_ref()) {
            None => {
                apart(&alive.runtime, &mut pools);
                drop(alive);
                leave(&mut met).await;
                view.none();
                IDLE
            }
            Some(Err(error)) => {
                apart(&alive.runtime, &mut pools);
                drop(alive);
                leave(&mut met).await;
                view.lost(&error.to_string());
                IDLE
            }
            Some(Ok(fleet)) => {
                if met.as_ref().is_some_and(|(before, _)| !before.meets(&fleet)) {
                    leave(&mut met).await;
                }
                let patience = PATIENCE.min(fleet.interval);
                let (_, store) = met.get_or_insert_with(|| {
                    let store = Store::new(fleet.client.clone(), &fleet.name, &me, patience);
                    (fleet.clone(), store)
                });
                let counted = fleet.pooled.then(|| alive.runtime.counted());
                let mine = view.take_own(&alive.runtime.snapshot(), counted);
                drop(alive);
                let exchange = store.exchange(&mine, fleet.interval * KEPT);
                let heard = match timeout(patience, exchange).await {
                    Ok(Ok(others)) => view.take(&others),
                    Ok(Err(error)) => view.lost(&error.to_string()),
                    Err(_) => view.lost("it does not answer in time"),
                };
                let Some(alive) = shared.upgrade() else { break };
                if fleet.pooled {
                    // Also when nothing was heard: what had been heard still counts, until it is too old.
                    alive.runtime.pool(&heard);
                    pools = true;
                } else {
                    apart(&alive.runtime, &mut pools);
                }
                drop(alive);
                // Instances that started together do not ask together: a tenth less or more.
                let percent = 90 + u32::try_from(chance.hash_one(round) % 21).unwrap_or_default();
                fleet.interval * percent / 100
            }
        };
        if until
            .as_ref()
            .is_some_and(|until| *until.borrow() || until.has_changed().is_err())
        {
            break;
        }
        sleep(pause).await;
    }
    leave(&mut met).await;
}

/// What the policy in force says, else the code.
fn wanted(runtime: &Runtime, code: Option<&Fleet>) -> Option<Result<Fleet, super::FleetError>> {
    Fleet::of(&runtime.policy()).or_else(|| code.cloned().map(Ok))
}

/// Each for itself from now on. Only what was heard here is forgotten: the service may carry counts by other ways.
fn apart(runtime: &Runtime, pools: &mut bool) {
    if std::mem::take(pools) {
        runtime.unpool();
    }
}

async fn leave(met: &mut Option<(Fleet, Store)>) {
    if let Some((fleet, store)) = met.take() {
        store.leave(PATIENCE.min(fleet.interval)).await;
    }
}
