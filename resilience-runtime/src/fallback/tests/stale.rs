//! The last good answer, for who gets none.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_last_good_answer_is_served_for_its_key_until_max_stale() {
    let world = World::open();
    let site = site!(Form::Stale, Form::None(""));
    let (mine, other) = (stale_key(site, &("tenant", 1)), stale_key(site, &("tenant", 2)));
    let call = world.call(site).await;
    keep(call.pinned(), ops::<Answer, _, _>(), mine, &Ok(7));
    keep(
        call.pinned(),
        ops::<Answer, _, _>(),
        mine,
        &Err(Error::Down("no answer is not a good one")),
    );
    keep(
        call.pinned(),
        pick::<Answer>().ops(|_| Outcome::Business),
        mine,
        &Ok(404),
    );
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(world.rejected(site).await.stale(0, other), None);
    assert_eq!(world.rejected(site).await.stale(0, mine), Some(Ok(7)));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(world.rejected(site).await.stale(0, mine), None);
    assert_eq!(world.used("stale").await, 1);
}

#[tokio::test(start_paused = true)]
async fn another_type_or_function_never_gets_a_stale_answer() {
    let world = World::open();
    let (site, elsewhere) = (site!(Form::Stale), site!(Form::Stale));
    keep(
        world.call(site).await.pinned(),
        ops::<Answer, _, _>(),
        stale_key(site, "a"),
        &Ok(7),
    );
    assert_eq!(world.rejected(site).await.stale(0, stale_key(elsewhere, "a")), None);
    let text = ops::<Result<String, Error>, _, _>();
    let mut chain = fall(world.call(site).await, text, End::Rejected(open()));
    assert_eq!(chain.stale(0, stale_key(site, "a")), None);
}
