//! Signatures that no book has, each guarded and doing what it did.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use crate::kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, timeout};

macro_rules! res {
    ($t:ty) => { Result<$t, AppError> };
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn a_type_from_a_macro(n: res!(u32)) -> res!(u32) {
    tick().await;
    n
}

#[breaker("payrail")]
#[fallback(none = "none")]
#[allow(clippy::toplevel_ref_arg)]
async fn by_ref(ref text: String, ref mut count: u32) -> Res<usize> {
    *count += 1;
    tick().await;
    Ok(text.len() + *count as usize)
}

struct Pair {
    left: u32,
    right: (u32, [u32; 2]),
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn deep(
    Pair {
        left,
        right: (one, [two, ..]),
    }: Pair,
) -> Res<u32> {
    tick().await;
    Ok(left + one + two)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn bound_to_the_whole(all @ [first, .., last]: [u32; 3]) -> Res<u32> {
    tick().await;
    Ok(first + last + all[1])
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn for_every_lifetime<F>(text: &str, pick: F) -> Res<String>
where
    F: for<'a> Fn(&'a str, &'a str) -> &'a str,
{
    tick().await;
    Ok(pick(text, "other").to_owned())
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn bound_by_what_it_gives<I: IntoIterator<IntoIter = T>, T: Iterator<Item = D>, D: Display + Copy>(
    all: I,
) -> Res<String> {
    let mut text = String::new();
    for one in all {
        tick().await;
        text.push_str(&one.to_string());
    }
    Ok(text)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn functions(by: fn(u32) -> u32, with: &(dyn Fn(u32) -> u32 + Send + Sync), n: u32) -> Res<u32> {
    tick().await;
    Ok(with(by(n)))
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn borrowed_or_owned<'t>(text: &'t str, _other: &str) -> Res<Cow<'t, str>> {
    tick().await;
    Ok(if text.is_empty() {
        Cow::Owned("empty".to_owned())
    } else {
        Cow::Borrowed(text)
    })
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn never_good(n: u32) -> Res<Infallible> {
    tick().await;
    Err(AppError::Bad(n))
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn nothing() -> Result<(), AppError> {
    Ok(())
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn boxed_futures(
    first: Pin<Box<dyn Future<Output = u32> + Send + '_>>,
    second: impl Future<Output = u32>,
) -> Res<u32> {
    Ok(first.await + second.await)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn constant<const N: usize, const YES: bool>(all: &[u32; N]) -> Res<usize> {
    tick().await;
    Ok(if YES { all.len() } else { N * 2 })
}

struct Typed<'a, K, const N: usize = 2>
where
    K: Display + ?Sized,
{
    of: &'a K,
    kind: PhantomData<fn() -> K>,
}

impl<'a, K: ?Sized + Display, const N: usize> Typed<'a, K, N> {
    #[breaker("payrail")]
    #[bulkhead]
    #[fallback(none = "none")]
    async fn lent(&self, _by: &str, more: &mut Vec<String>) -> Res<&'a K> {
        more.push(format!("{}{N}", self.of));
        tick().await;
        Ok(self.of)
    }

    #[timeout("payrail")]
    #[fallback(none = "none")]
    async fn itself(&self, _by: &u32) -> Res<&Self> {
        tick().await;
        Ok(self)
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn made(of: &'a K) -> Res<Self> {
        tick().await;
        Ok(Self { of, kind: PhantomData })
    }
}

struct Wallet(u32);

impl Wallet {
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn twice_shared(self: &Arc<Self>) -> Res<usize> {
        tick().await;
        Ok(Arc::strong_count(self))
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn pinned_box(self: Pin<Box<Self>>) -> Res<u32> {
        tick().await;
        Ok(self.0)
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn pinned_ref(self: Pin<&Self>, by: u32) -> Res<u32> {
        tick().await;
        Ok(self.get_ref().0 + by)
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn counted(self: Rc<Self>) -> Res<u32> {
        tick().await;
        Ok(self.0)
    }
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn noted_parameters(
    /* a comment */ #[allow(unused_variables)] n: u32,
    #[allow(unused_mut)] mut map: HashMap<&'static str, Vec<Option<(u32, u32)>>>,
) -> Res<usize> {
    tick().await;
    Ok(map.len())
}

#[test]
fn types_may_come_from_a_macro() {
    assert_eq!(block_on(is_send(a_type_from_a_macro(Ok(3)))), Ok(3));
    assert_eq!(
        block_on(a_type_from_a_macro(Err(AppError::Bad(4)))),
        Err(AppError::Bad(4))
    );
}

#[test]
fn patterns_of_every_depth_are_bound() {
    assert_eq!(block_on(is_send(by_ref("four".to_owned(), 1))), Ok(6));
    let pair = Pair {
        left: 1,
        right: (2, [3, 4]),
    };
    assert_eq!(block_on(is_send(deep(pair))), Ok(6));
    assert_eq!(block_on(is_send(bound_to_the_whole([1, 2, 3]))), Ok(6));
}

#[test]
fn bounds_are_kept_as_they_are_written() {
    fn first<'a>(a: &'a str, _: &'a str) -> &'a str {
        a
    }
    assert_eq!(
        block_on(is_send(for_every_lifetime("one", first))),
        Ok("one".to_owned())
    );
    assert_eq!(block_on(bound_by_what_it_gives(vec![1, 2])), Ok("12".to_owned()));
    let add = |n| n + 1;
    assert_eq!(block_on(is_send(functions(|n| n * 2, &add, 4))), Ok(9));
    assert_eq!(block_on(is_send(constant::<3, true>(&[1, 2, 3]))), Ok(3));
    assert_eq!(block_on(constant::<1, false>(&[1])), Ok(2));
}

#[test]
fn what_is_returned_may_be_borrowed_owned_empty_or_impossible() {
    assert_eq!(
        block_on(is_send(borrowed_or_owned("", "x"))),
        Ok(Cow::Borrowed("empty"))
    );
    assert!(matches!(block_on(borrowed_or_owned("a", "x")), Ok(Cow::Borrowed("a"))));
    assert_eq!(block_on(never_good(7)), Err(AppError::Bad(7)));
    assert_eq!(block_on(nothing()), Ok(()));
    let second = async { 2 };
    assert_eq!(block_on(boxed_futures(Box::pin(async { 1 }), second)), Ok(3));
}

#[test]
fn generic_impls_lend_what_outlives_them() {
    let text = String::from("key");
    let mut more = Vec::new();
    let lent = {
        let typed = block_on(Typed::<str>::made(&text)).unwrap();
        assert_eq!(block_on(typed.itself(&1)).map(|typed| typed.of), Ok("key"));
        block_on(is_send(typed.lent("x", &mut more)))
    };
    assert_eq!((lent, more), (Ok("key"), vec!["key2".to_owned()]));
}

#[test]
fn receivers_behind_two_pointers() {
    assert_eq!(block_on(is_send(Arc::new(Wallet(1)).twice_shared())), Ok(1));
    assert_eq!(block_on(is_send(Box::pin(Wallet(2)).pinned_box())), Ok(2));
    assert_eq!(block_on(is_send(Pin::new(&Wallet(3)).pinned_ref(1))), Ok(4));
    assert_eq!(block_on(Rc::new(Wallet(5)).counted()), Ok(5));
    assert_eq!(block_on(noted_parameters(1, HashMap::new())), Ok(0));
}
