//! One run per key for all who wait.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_hundred_readers_of_one_key_make_one_run() {
    let world = World::open();
    let site = site!(PATH);
    let runs = Arc::new(AtomicU32::new(0));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (runs, mut chain) = (Arc::clone(&runs), world.rejected(site).await);
        readers.spawn(async move {
            assert!(chain.offers_shared(0));
            let run = async move {
                runs.fetch_add(1, Ordering::Relaxed);
                after(100, Ok(7)).await
            };
            chain.one_per("key", run).await
        });
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(world.state().await.slots_taken(), 1, "only the runner holds a slot");
    let answers = readers.join_all().await;
    assert!(answers.iter().all(|answer| *answer == Some(Ok(7))));
    assert_eq!((runs.load(Ordering::Relaxed), world.used("path").await), (1, 100));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_run_is_everybodys() {
    let world = World::open();
    let site = site!(PATH);
    let (mut first, mut second) = (world.rejected(site).await, world.failed(site, "body").await);
    assert!(first.offers_shared(0) && second.offers_shared(0));
    let runs = first.one_per("key", after(10, Err(Error::Down("path"))));
    let waits = second.one_per("key", async { unreachable!("it must not run") });
    assert_eq!(tokio::join!(runs, waits), (None, None));
    assert_eq!(
        (first.dry(), second.dry()),
        (Err(Error::Down("path")), Err(Error::Down("path")))
    );
}

#[tokio::test(start_paused = true)]
async fn if_the_runners_caller_leaves_the_next_one_runs_within_its_own_time() {
    let world = World::open();
    let site = site!(PATH);
    let (mut first, mut second) = (world.rejected(site).await, world.rejected(site).await);
    assert!(first.offers_shared(0));
    let mut runs = Box::pin(first.one_per("key", pending()));
    assert!(poll_once(runs.as_mut()).is_pending());
    tokio::time::advance(Duration::from_millis(50)).await;
    assert!(second.offers_shared(0));
    let mut waits = pin!(second.one_per("key", after(60, Ok(2))));
    assert!(poll_once(waits.as_mut()).is_pending());
    tokio::time::advance(Duration::from_millis(100)).await;
    drop(runs);
    let begun = tokio::time::Instant::now();
    assert_eq!(waits.await, Some(Ok(2)));
    assert_eq!(begun.elapsed(), Duration::from_millis(60));
    assert_eq!(world.state().await.slots_taken(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiters_time_runs_from_when_it_began_to_wait() {
    let world = World::open();
    let site = site!(PATH, Form::None(""));
    let (mut first, mut second) = (world.rejected(site).await, world.rejected(site).await);
    assert!(first.offers_shared(0));
    let mut runs = Box::pin(first.one_per("key", pending()));
    assert!(poll_once(runs.as_mut()).is_pending());
    tokio::time::advance(Duration::from_millis(150)).await;
    assert!(second.offers_shared(0));
    let begun = tokio::time::Instant::now();
    let waits = second.one_per("key", pending());
    let (gone, late) = tokio::join!(runs, waits);
    assert_eq!((gone, late), (None, None));
    assert_eq!(begun.elapsed(), Duration::from_millis(200));
    assert_eq!(world.state().await.slots_taken(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_is_not_asked_by_those_who_have_no_time_left() {
    let world = World::open();
    let site = site!(PATH);
    let runs = Arc::new(AtomicU32::new(0));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (runs, mut chain) = (Arc::clone(&runs), world.rejected(site).await);
        readers.spawn(async move {
            assert!(chain.offers_shared(0));
            let run = async move {
                runs.fetch_add(1, Ordering::Relaxed);
                pending().await
            };
            chain.one_per("key", run).await
        });
    }
    let begun = tokio::time::Instant::now();
    assert!(readers.join_all().await.iter().all(Option::is_none));
    assert_eq!(begun.elapsed(), Duration::from_millis(200));
    assert_eq!(
        (runs.load(Ordering::Relaxed), world.state().await.slots_taken()),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_panics_is_begun_anew_by_the_next_one() {
    let world = World::open();
    let site = site!(PATH);
    let (mut first, mut second) = (world.rejected(site).await, world.rejected(site).await);
    assert!(first.offers_shared(0) && second.offers_shared(0));
    let runs = first.one_per("key", async { panic!("popular is broken") });
    let waits = second.one_per("key", after(10, Ok(2)));
    assert_eq!(tokio::join!(runs, waits), (None, Some(Ok(2))));
    assert_eq!(first.dry(), Err(Error::Refused(Reason::Open)));
}

#[tokio::test(start_paused = true)]
async fn another_key_runs_beside_it_while_there_are_slots() {
    let world = World::open();
    let site = site!(PATH);
    let (mut a, mut b) = (world.rejected(site).await, world.rejected(site).await);
    let mut c = world.rejected(site).await;
    assert!(a.offers_shared(0) && b.offers_shared(0) && c.offers_shared(0));
    let both = tokio::join!(
        a.one_per(&1, after(10, Ok(1))),
        b.one_per(&2, after(10, Ok(2))),
        c.one_per(&3, async { unreachable!("there are two slots") }),
    );
    assert_eq!(both, (Some(Ok(1)), Some(Ok(2)), None));
    assert_eq!(c.dry(), Err(Error::Refused(Reason::Open)));
}

#[tokio::test(start_paused = true)]
async fn an_error_lost_in_a_with_that_found_no_slot_becomes_bulkhead_full() {
    let world = World::open();
    let site = site!(WITH, Form::None(""));
    let (mut a, mut b) = (world.rejected(site).await, world.rejected(site).await);
    assert!(a.offers(0) && b.offers(0));
    let mut c = world.failed(site, "body").await;
    assert!(c.offers_shared(0));
    assert!(c.failure().is_some());
    assert_eq!(c.one_per(&1, pending()).await, None);
    assert_eq!(c.none(1), Err(Error::Refused(Reason::BulkheadFull)));
}
