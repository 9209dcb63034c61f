use crate::kit::*;
use resilience_runtime::{Failure, testing};
#[tokio::test(start_paused = true)]
async fn edge_zero() {
    let (runtime, guard) = guard(LAST_TWENTY);
    runtime.scope(async { testing::trip("far") }).await;
    tokio::time::sleep(secs(30)).await;
    let clock = Clock::start();
    let script = Script::new("H");
    // main's timer first
    let at = clock.at(secs(3));
    let other = { let guard = guard.clone(); tokio::spawn(async move { at.await; guard.call(|| async { Ok::<(), FarError>(()) }).await }) };
    settle().await;
    let t = { let (guard, script) = (guard.clone(), script.clone()); tokio::spawn(async move { call(&guard, &script).await }) };
    let r = other.await.unwrap();
    if let Err(Failure::Rejected(r)) = &r { println!("{:?} {} {:?}", r.reason(), r, r.retry_after()); } else { println!("{r:?}"); }
    println!("{}", t.await.unwrap());
}
#[tokio::test(start_paused = true)]
async fn edge_unlisted_slow() {
    let (runtime, guard) = guard("timeout = \"1s\"\nfailures = [\"server\"]\nbreaker.window = \"20 calls\"\nbreaker.slow_after = \"400ms\"\nbreaker.slow_rate = 0.5");
    calls(&guard, &Script::new("H"), 20).await;
    println!("hung, timeout not listed, slow_rate: {} {}", state(&runtime), window(&runtime));
}
