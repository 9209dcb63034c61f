//! Each form, and what a chain of them gives.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Chain, State, fall, keep, stale_key};
use crate::classify::RetryAfter as _;
use crate::failure::Failure;
use crate::guard::{Calling, Late};
use crate::ops::{End, MarkNone as _, PickPlain as _, PlainOps, ResultOps, ops, ops_refusing, pick, served};
use crate::outcome::{Classify, FailureKind, Outcome};
use crate::private::{Form, Spec};
use crate::rejection::{Reason, Rejection};
use crate::runtime::Runtime;
use crate::served::{Freshness, Served};
use crate::site::Site;
use crate::{deadline, degraded};

const OPEN: &str = r#"
version = 1
[dependency.recs]
fail = "open"
label = "recommendations"
timeout = "1s"
[dependency.recs.fallback]
max_concurrent = 2
timeout = "200ms"
max_stale = "1m"
"#;

#[derive(Debug, Clone, PartialEq)]
enum Error {
    Down(&'static str),
    Refused(Reason),
}

impl Classify for Error {
    fn classify(&self) -> Outcome {
        Outcome::Failure(FailureKind::Server)
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection.reason())
    }
}

type Answer = Result<u32, Error>;

const fn spec(forms: &'static [Form]) -> Spec {
    Spec {
        dependency: "recs",
        function: "recommend",
        module: "tests",
        here: std::any::type_name::<()>,
        file: file!(),
        line: line!(),
        package: "tests",
        policy_file: "resilience.toml",
        policy: OPEN,
        layers: 1,
        forms,
        plain: false,
    }
}

macro_rules! site {
    ($($form:expr),*) => {{
        static SITE: Site = Site::new(spec(&[$($form),*]));
        &SITE
    }};
}

mod one_per;
mod stale;

const PATH: Form = Form::Path("popular");
const WITH: Form = Form::With("explain");

struct World(Runtime);

impl World {
    fn of(text: &str) -> Self {
        Self(Runtime::new(resilience_policy::Policy::from_toml(text).unwrap()))
    }

    fn open() -> Self {
        Self::of(OPEN)
    }

    /// The same numbers after an operator's edit.
    fn closed() -> Self {
        Self::of(&OPEN.replace(r#"fail = "open""#, r#"fail = "closed""#))
    }

    async fn call(&self, site: &'static Site) -> Late {
        self.0.scope(async { Late::of(Calling::of_site(site)) }).await
    }

    async fn failed(&self, site: &'static Site, error: &'static str) -> Chain<ResultOps<u32, Error>> {
        fall(
            self.call(site).await,
            ops::<Answer, _, _>(),
            End::Failed(Err(Error::Down(error))),
        )
    }

    async fn rejected(&self, site: &'static Site) -> Chain<ResultOps<u32, Error>> {
        fall(self.call(site).await, ops::<Answer, _, _>(), End::Rejected(open()))
    }

    async fn used(&self, kind: &str) -> u64 {
        let state = self.state().await;
        state.used().find(|used| used.0 == kind).unwrap().1
    }

    async fn state(&self) -> Arc<State> {
        Arc::clone(&self.call(site!()).await.pinned().fallback)
    }
}

fn open() -> Rejection {
    let identity = crate::identity::Identity::intern("recs", Some("recommendations"), None);
    Rejection::new(identity, Reason::Open, Duration::from_secs(9).retry_after())
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

async fn after(millis: u64, answer: Answer) -> Answer {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    answer
}

#[tokio::test(start_paused = true)]
async fn a_path_answers_and_says_so() {
    let world = World::open();
    let (answer, degraded) = degraded::collect(async {
        let mut chain = world.rejected(site!(PATH)).await;
        assert!(chain.offers(0));
        assert_eq!(world.state().await.slots_taken(), 1);
        chain.answer(async { Ok(7) }).await
    })
    .await;
    assert_eq!(answer, Some(Ok(7)));
    assert_eq!((world.used("path").await, world.state().await.slots_taken()), (1, 0));
    let seen: Vec<_> = degraded
        .iter()
        .map(|d| (d.dependency(), d.label(), d.kind(), d.reason()))
        .collect();
    assert_eq!(seen, [("recs", Some("recommendations"), "path", "open")]);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_the_last_form_is_the_answer() {
    let world = World::open();
    let mut chain = world.failed(site!(PATH), "body").await;
    assert!(chain.offers(0));
    assert_eq!(chain.answer(async { Err(Error::Down("path")) }).await, None);
    assert_eq!(chain.dry(), Err(Error::Down("path")));
    assert_eq!(world.used("path").await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_error_before_the_last_form_goes_on_and_a_dry_chain_gives_the_bodys_own() {
    let world = World::open();
    let site = site!(PATH, Form::Stale);
    for rejected in [false, true] {
        let mut chain = if rejected {
            world.rejected(site).await
        } else {
            world.failed(site, "body").await
        };
        assert!(chain.offers(0));
        assert_eq!(chain.answer(async { Err(Error::Down("path")) }).await, None);
        assert_eq!(chain.stale(1, stale_key(site, "nobody")), None);
        let expected = if rejected {
            Error::Refused(Reason::Open)
        } else {
            Error::Down("body")
        };
        assert_eq!(chain.dry(), Err(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn none_gives_the_calls_own_error_or_the_rejections() {
    let world = World::open();
    let site = site!(Form::None("nothing lesser exists"));
    assert_eq!(world.failed(site, "body").await.none(0), Err(Error::Down("body")));
    assert_eq!(world.rejected(site).await.none(0), Err(Error::Refused(Reason::Open)));
    assert_eq!(world.used("none").await, 2);
}

#[tokio::test(start_paused = true)]
async fn refuse_makes_the_error_of_a_rejected_call_and_leaves_a_failed_one_alone() {
    let world = World::open();
    let site = site!(Form::Refuse("busy"));
    let busy = |rejection: Rejection| {
        assert_eq!(rejection.retry_after(), Some(Duration::from_secs(9)));
        Error::Down("busy")
    };
    let rejected = fall(
        world.call(site).await,
        ops_refusing::<Answer, _>(),
        End::Rejected(open()),
    );
    assert_eq!(rejected.refuse(0, busy), Err(Error::Down("busy")));
    let failed = fall(
        world.call(site).await,
        ops_refusing::<Answer, _>(),
        End::Failed(Err(Error::Down("body"))),
    );
    assert_eq!(failed.refuse(0, busy), Err(Error::Down("body")));
}

#[tokio::test(start_paused = true)]
async fn with_gets_the_rejection_or_the_bodys_error() {
    let world = World::open();
    let site = site!(WITH);
    let mut chain = world.rejected(site).await;
    assert!(chain.offers(0));
    let failure = chain.failure().unwrap();
    assert_eq!(failure.rejection().map(Rejection::reason), Some(Reason::Open));
    assert_eq!(chain.answer(async { Err(Error::Down("with")) }).await, None);
    assert_eq!(chain.dry(), Err(Error::Down("with")));

    let mut chain = world.failed(site, "body").await;
    assert!(chain.offers(0));
    assert_eq!(chain.failure().and_then(Failure::into_error), Some(Error::Down("body")));
    assert_eq!(chain.answer(async { Ok(1) }).await, Some(Ok(1)));
    assert_eq!(world.used("with").await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_with_gets_the_error_of_the_first() {
    let world = World::open();
    let mut chain = world.failed(site!(WITH, WITH, Form::None("")), "body").await;
    assert!(chain.offers(0));
    assert!(chain.failure().is_some());
    assert_eq!(chain.answer(async { Err(Error::Down("first")) }).await, None);
    assert!(chain.offers(1));
    assert_eq!(
        chain.failure().and_then(Failure::into_error),
        Some(Error::Down("first"))
    );
    assert_eq!(chain.answer(async { Err(Error::Down("second")) }).await, None);
    assert_eq!(chain.none(2), Err(Error::Down("second")));
}

#[tokio::test(start_paused = true)]
async fn an_error_lost_in_a_with_that_ran_out_of_time_becomes_timed_out() {
    let world = World::open();
    let mut chain = world.failed(site!(WITH, Form::None("")), "body").await;
    assert!(chain.offers(0));
    let failure = chain.failure();
    let begun = tokio::time::Instant::now();
    let answer = chain.answer(async move {
        pending::<()>().await;
        failure.and_then(Failure::into_error).map_or(Ok(1), Err)
    });
    assert_eq!(answer.await, None);
    assert_eq!(begun.elapsed(), Duration::from_millis(200));
    assert_eq!(chain.none(1), Err(Error::Refused(Reason::TimedOut)));
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "explain is broken")]
async fn an_error_lost_in_a_with_that_panicked_goes_on_unwinding() {
    let world = World::open();
    let mut chain = world.failed(site!(WITH), "body").await;
    assert!(chain.offers(0));
    assert!(chain.failure().is_some());
    assert_eq!(chain.answer(async { panic!("explain is broken") }).await, None);
    drop(chain.dry());
}

#[tokio::test(start_paused = true)]
async fn a_success_that_classify_judged_failed_makes_with_decline() {
    let world = World::open();
    let judged = pick::<Answer>().ops(|_| Outcome::Failure(FailureKind::Other));
    let mut chain = fall(
        world.call(site!(WITH, Form::None(""))).await,
        judged,
        End::Failed(Ok(3)),
    );
    assert!(chain.offers(0));
    assert!(chain.failure().is_none());
    assert_eq!(world.state().await.slots_taken(), 0);
    assert_eq!(chain.none(1), Ok(3));
}

#[tokio::test(start_paused = true)]
async fn a_panic_declines_and_the_body_keeps_its_error() {
    let world = World::open();
    let mut chain = world.failed(site!(PATH), "body").await;
    assert!(chain.offers(0));
    assert_eq!(chain.answer(async { panic!("popular is broken") }).await, None);
    assert_eq!(world.state().await.slots_taken(), 0);
    assert_eq!(chain.dry(), Err(Error::Down("body")));
}

#[tokio::test(start_paused = true)]
async fn one_that_ends_exactly_in_time_has_answered() {
    let world = World::open();
    for (millis, expected) in [(200, Some(Ok(1))), (201, None)] {
        let mut chain = world.rejected(site!(PATH)).await;
        assert!(chain.offers(0));
        assert_eq!(chain.answer(after(millis, Ok(1))).await, expected, "{millis} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_the_callers_deadline_bounds_it_too() {
    let world = World::open();
    let site = site!(WITH, Form::None(""));
    let begun = tokio::time::Instant::now();
    let answer = deadline::within(Duration::from_millis(50), async {
        let mut chain = world.failed(site, "body").await;
        assert!(chain.offers(0));
        assert!(chain.failure().is_some());
        assert_eq!(chain.answer(after(100, Ok(1))).await, None);
        assert!(!chain.offers(0), "no time is left");
        chain.none(1)
    })
    .await;
    assert_eq!(begun.elapsed(), Duration::from_millis(50));
    assert_eq!(answer, Err(Error::Refused(Reason::DeadlineExceeded)));
}

#[tokio::test(start_paused = true)]
async fn without_a_slot_the_next_form_is_tried_and_nothing_is_taken_from_the_call() {
    let world = World::open();
    let site = site!(WITH, Form::Value);
    let mut first = world.rejected(site).await;
    let mut second = world.rejected(site).await;
    assert!(first.offers(0) && second.offers(0));
    let mut third = world.failed(site, "body").await;
    assert!(!third.offers(0));
    assert_eq!(third.value(1, || 9), Ok(9));
    drop(first);
    assert!(world.rejected(site).await.offers(0));
    drop(second);
    assert_eq!((world.state().await.slots_taken(), world.used("value").await), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_is_dropped_gives_its_slot_back() {
    let world = World::open();
    let mut chain = world.rejected(site!(PATH)).await;
    assert!(chain.offers(0));
    {
        let mut answer = pin!(chain.answer(pending()));
        assert!(poll_once(answer.as_mut()).is_pending());
        assert_eq!(world.state().await.slots_taken(), 1);
    }
    assert_eq!(world.state().await.slots_taken(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_panics_leaves_the_bodys_error() {
    let world = World::open();
    let site = site!(Form::Value);
    assert_eq!(
        world.failed(site, "body").await.value(0, || panic!("no value")),
        Err(Error::Down("body"))
    );
    assert_eq!(
        world.rejected(site).await.value(0, || panic!("no value")),
        Err(Error::Refused(Reason::Open))
    );
}

#[tokio::test(start_paused = true)]
async fn an_operators_closed_skips_every_form_that_answers() {
    let world = World::closed();
    let site = site!(PATH, Form::Stale, Form::Value);
    let key = stale_key(site, "a");
    keep(world.call(site).await.pinned(), ops::<Answer, _, _>(), key, &Ok(1));
    let mut chain = world.rejected(site).await;
    assert!(!chain.offers(0) && !chain.offers_shared(0));
    assert_eq!(chain.stale(1, key), None);
    assert_eq!(
        chain.value(2, || unreachable!("it must not be made")),
        Err(Error::Refused(Reason::Open))
    );
}

#[tokio::test(start_paused = true)]
async fn served_answers_are_marked_whatever_they_say() {
    type Marked = Result<Served<u32>, Error>;
    let world = World::open();
    let site = site!(Form::Stale, PATH, Form::Value);
    let ops = ops::<Marked, _, _>().marking(served::<Marked>().mark());
    let key = stale_key(site, "a");
    keep(world.call(site).await.pinned(), ops, key, &Ok(Served::fresh(7)));
    tokio::time::advance(Duration::from_secs(3)).await;
    let mut chain = fall(world.call(site).await, ops, End::Rejected(open()));
    let age = Duration::from_secs(3);
    assert_eq!(
        chain.stale(0, key),
        Some(Ok(Served {
            value: 7,
            freshness: Freshness::Stale { age }
        }))
    );
    let mut chain = fall(world.call(site).await, ops, End::Rejected(open()));
    assert!(chain.offers(1));
    let lesser = Served {
        value: 8,
        freshness: Freshness::Fallback,
    };
    assert_eq!(chain.answer(async { Ok(Served::fresh(8)) }).await, Some(Ok(lesser)));
    let chain = fall(world.call(site).await, ops, End::Rejected(open()));
    assert_eq!(chain.value(2, || Served::fresh(8)), Ok(lesser));
    assert!(served::<Answer>().mark().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_function_without_result_answers_even_when_closed() {
    let world = World::closed();
    let site = site!(PATH, Form::Value);
    let plain: PlainOps<u32> = pick::<u32>().ops(|_| Outcome::Failure(FailureKind::Other));
    let mut chain = fall(world.call(site).await, plain, End::Rejected(open()));
    assert!(!chain.offers(0));
    assert_eq!(chain.value(1, || 5), 5);
    let world = World::open();
    let mut chain = fall(world.call(site).await, plain, End::Failed(4));
    assert!(chain.offers(0));
    assert_eq!(chain.failure().and_then(Failure::into_error), Some(4));
    assert_eq!(chain.answer(async { 6 }).await, Some(6));
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "no value")]
async fn a_value_that_panics_without_result_or_error_goes_on_unwinding() {
    let world = World::open();
    let plain: PlainOps<u32> = pick::<u32>().ops(|_| Outcome::Success);
    let chain = fall(world.call(site!(Form::Value)).await, plain, End::Rejected(open()));
    let _ = chain.value(0, || panic!("no value"));
}

#[test]
fn chains_and_their_futures_are_send_when_the_answers_are() {
    fn send<T: Send>(_: &T) {}
    fn check(chain: &mut Chain<ResultOps<u32, Error>>) {
        send(chain);
        send(&chain.answer(async { Ok(1) }));
        send(&chain.one_per(&1, async { Ok(1) }));
    }
    let _ = check;
}

#[test]
fn idle_state_is_small() {
    assert!(size_of::<State>() <= 1024);
}

#[test]
fn everything_that_begins_a_chain_has_a_word_in_the_list() {
    let failures = crate::outcome::FailureKind::ALL
        .iter()
        .map(|kind| Outcome::Failure(*kind));
    let outcomes = failures.chain([Outcome::Throttled { retry_after: None }, Outcome::Ignored]);
    let reasons = crate::rejection::Reason::ALL.iter().map(|reason| reason.as_str());
    let words: Vec<_> = reasons.chain(outcomes.map(Outcome::word)).collect();
    assert_eq!(words, super::REASONS);
}
