//! Places in which a guarded function may stand, and spellings of its attributes.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry, timeout};

#[breaker("payrail")]
#[bulkhead()]
#[fallback(none = "none")]
async fn commas(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[breaker(r"payrail")]
#[timeout(r#"payrail"#)]
#[fallback(none = r#"said "no""#)]
async fn raw_strings(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[breaker { "payrail" }]
#[fallback[none = "none"]]
async fn other_brackets(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[cfg_attr(all(), breaker("payrail"), fallback(none = "none"))]
#[cfg_attr(any(), no_such_attribute, breaker("nobody"))]
async fn conditional(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[resilience_runtime::breaker("payrail")]
#[::resilience_runtime::fallback(none = "none")]
async fn by_path(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

const _: () = {
    impl Clerk {
        #[breaker("payrail")]
        #[fallback(none = "none")]
        async fn in_a_constant(&self) -> Res<u32> {
            tick().await;
            Ok(self.0)
        }
    }
};

struct Clerk(u32);

mod outer {
    pub mod inner {
        use super::super::*;

        #[breaker("payrail")]
        #[fallback(none = "none")]
        pub(in crate::places) async fn restricted(n: u32) -> Res<u32> {
            tick().await;
            Ok(n)
        }
    }
}

#[allow(async_fn_in_trait)]
trait Named {
    const NAME: &'static str;
    type Out<'a>: Into<usize>
    where
        Self: 'a;

    async fn out(&self) -> Res<Self::Out<'_>>;

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn length(&self) -> Res<usize> {
        tick().await;
        let out = self.out().await?;
        Ok(out.into() + Self::NAME.len())
    }
}

impl<T: Clone> Named for [T] {
    const NAME: &'static str = "slice";
    type Out<'a>
        = usize
    where
        T: 'a;

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn out(&self) -> Res<usize> {
        tick().await;
        Ok(self.len())
    }
}

impl<T: Named + ?Sized> Named for &T {
    const NAME: &'static str = "reference";
    type Out<'a>
        = T::Out<'a>
    where
        Self: 'a;

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn out(&self) -> Res<Self::Out<'_>> {
        tick().await;
        (**self).out().await
    }
}

#[allow(async_fn_in_trait)]
trait Ask {
    async fn ask(&self, n: u32) -> Res<u32>;
}

trait Plain {
    fn plain(&self) -> u32;
}

impl Ask for dyn Plain + '_ {
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn ask(&self, n: u32) -> Res<u32> {
        tick().await;
        Ok(self.plain() + n)
    }
}

impl Plain for Clerk {
    fn plain(&self) -> u32 {
        self.0
    }
}

macro_rules! clients {
    ($($(#[$meta:meta])* $visible:vis fn $name:ident($($argument:ident: $type:ty),*) -> $given:ty = $body:block)*) => {$(
        #[breaker("payrail")]
        $(#[$meta])*
        $visible async fn $name($($argument: $type),*) -> $given $body
    )*};
}

clients! {
    #[fallback(none = "made")]
    pub fn made_one(a: u32, b: &str) -> Res<usize> = { tick().await; Ok(a as usize + b.len()) }
    /// With a doc of its own.
    #[bulkhead]
    #[fallback(none = "made")]
    fn made_two() -> Res<u32> = { Ok(2) }
}

macro_rules! by_literal {
    ($dependency:literal, $reason:literal, $name:ident) => {
        #[breaker($dependency)]
        #[fallback(none = $reason)]
        async fn $name(n: u32) -> Res<u32> {
            tick().await;
            Ok(n)
        }
    };
}

by_literal!("payrail", "a literal", literal);

#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
#[must_use = "it is worth something"]
#[inline]
#[allow(dead_code)]
#[doc(hidden)]
pub async fn adorned(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[test]
fn the_attributes_may_be_spelt_in_every_way() {
    assert_eq!(block_on(is_send(commas(1))), Ok(1));
    assert_eq!(block_on(is_send(raw_strings(2))), Ok(2));
    assert_eq!(block_on(is_send(other_brackets(3))), Ok(3));
    assert_eq!(block_on(is_send(conditional(4))), Ok(4));
    assert_eq!(block_on(is_send(by_path(5))), Ok(5));
    assert_eq!(block_on(is_send(adorned(6))), Ok(6));
}

#[test]
fn they_work_wherever_a_function_may_stand() {
    assert_eq!(block_on(is_send(Clerk(1).in_a_constant())), Ok(1));
    assert_eq!(block_on(is_send(outer::inner::restricted(2))), Ok(2));
    let by_name: BTreeMap<&str, fn() -> u32> = BTreeMap::from([(
        "block",
        (|| {
            #[breaker("payrail")]
            #[fallback(none = "none")]
            async fn in_a_closure(n: u32) -> Res<u32> {
                tick().await;
                Ok(n)
            }
            block_on(in_a_closure(3)).unwrap()
        }) as fn() -> u32,
    )]);
    assert_eq!(by_name["block"](), 3);
}

#[test]
fn they_work_in_traits_for_types_of_every_kind() {
    assert_eq!(block_on([1, 2][..].length()), Ok(7));
    assert_eq!(block_on((&&[1, 2][..]).length()), Ok(11));
    let clerk: Rc<dyn Plain> = Rc::new(Clerk(4));
    assert_eq!(block_on(clerk.ask(1)), Ok(5));
}

#[test]
fn they_work_in_what_macros_make() {
    assert_eq!(block_on(is_send(made_one(1, "ab"))), Ok(3));
    assert_eq!(block_on(is_send(made_two())), Ok(2));
    assert_eq!(block_on(is_send(literal(3))), Ok(3));
}
