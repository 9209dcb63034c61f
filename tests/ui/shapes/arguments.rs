//! S16, S29, S36 and their neighbours: what a retry or a fallback does with arguments of every shape.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use resilience_runtime::testing::trip;
use resilience_runtime::{Failure, breaker, fallback, retry};

use crate::kit::*;

async fn spare(#[cfg(panic = "unwind")] a: String, b: u32) -> Res<String> {
    Ok(format!("{a}{b}"))
}

#[breaker("payrail")]
#[retry]
#[fallback(spare)]
async fn conditional(
    #[cfg(panic = "unwind")] a: String,
    #[cfg(any())] gone: NoSuchType,
    #[allow(unused_mut)] mut b: u32,
) -> Res<String> {
    tick().await;
    drop(a);
    if b > 0 { Err(AppError::Down) } else { Ok(String::new()) }
}

#[test]
fn s16_parameters_under_cfg_are_cloned_and_passed_on_only_where_they_exist() {
    assert_eq!(block_on(is_send(conditional("x".into(), 7))), Ok("x7".to_owned()));
}

async fn cached(n: u32) -> Res<u32> {
    Ok(n + 1000)
}

fn shed(_: resilience_runtime::Rejection) -> AppError {
    AppError::Bad(1)
}

#[breaker("payrail")]
#[fallback(cached)]
async fn hides(cached: u32) -> Res<u32> {
    tick().await;
    if cached == 0 { Err(AppError::Down) } else { Ok(cached) }
}

#[breaker("payrail")]
#[fallback(value = cached + 1)]
async fn names(mut cached: u32) -> Res<u32> {
    cached += 0;
    Err(if cached == 0 {
        AppError::Down
    } else {
        AppError::Bad(cached)
    })
}

#[breaker("payrail")]
#[fallback(refuse = shed)]
async fn hides_in_refuse(shed: u32) -> Res<u32> {
    Ok(shed)
}

#[test]
fn s29_a_parameter_may_be_named_like_the_fallback() {
    assert_eq!(block_on(hides(1)), Ok(1));
    assert_eq!(block_on(hides(0)), Ok(1000));
    assert_eq!(block_on(names(0)), Ok(1));
    block_on(async {
        trip("payrail");
        assert_eq!(hides_in_refuse(1).await, Err(AppError::Bad(1)));
    });
}

/// Counts its clones.
struct Counted(Arc<AtomicU32>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, SeqCst);
        Self(self.0.clone())
    }
}

async fn taken(it: Counted, ok: bool) -> Res<u32> {
    let _ = (it, ok);
    Ok(1000)
}

async fn declines(_: Counted, _: bool) -> Res<u32> {
    Err(AppError::Down)
}

#[breaker("payrail")]
#[fallback(taken)]
async fn consumes(it: Counted, ok: bool) -> Res<u32> {
    tick().await;
    drop(it);
    if ok { Ok(1) } else { Err(AppError::Down) }
}

#[breaker("payrail")]
#[fallback(taken)]
async fn ignores(it: Counted, ok: bool) -> Res<u32> {
    if ok { Ok(1) } else { Err(AppError::Down) }
}

#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
async fn repeats(it: Counted, ok: bool) -> Res<u32> {
    drop(it);
    if ok { Ok(1) } else { Err(AppError::Down) }
}

#[breaker("payrail")]
#[retry]
#[fallback(declines)]
#[fallback(with = last)]
async fn repeats_then_falls_back(it: Counted, ok: bool) -> Res<u32> {
    drop(it);
    if ok { Ok(1) } else { Err(AppError::Down) }
}

async fn last(it: Counted, ok: bool, failure: Failure<AppError>) -> Res<u32> {
    let _ = (it, ok);
    assert!(matches!(failure, Failure::Error(AppError::Down)));
    Ok(2000)
}

#[breaker("payrail")]
#[fallback(value = u32::from(*ok) + it.0.load(SeqCst))]
async fn read_by_value(it: Counted, ok: bool) -> Res<u32> {
    drop(it);
    Err(AppError::Down)
}

#[test]
fn s36_an_argument_by_value_is_cloned_only_where_the_body_could_have_used_it_up() {
    let clones = Arc::new(AtomicU32::new(0));
    let it = || Counted(clones.clone());
    let count = || clones.swap(0, SeqCst);

    assert_eq!((block_on(consumes(it(), true)), count()), (Ok(1), 1));
    assert_eq!((block_on(consumes(it(), false)), count()), (Ok(1000), 1));
    assert_eq!((block_on(ignores(it(), false)), count()), (Ok(1000), 0));
    // Three attempts: the last is followed by none.
    assert_eq!((block_on(repeats(it(), false)), count()), (Err(AppError::Down), 2));
    assert_eq!((block_on(repeats(it(), true)), count()), (Ok(1), 1));
    // Three for the attempts, one for the form that is followed by another.
    assert_eq!((block_on(repeats_then_falls_back(it(), false)), count()), (Ok(2000), 4));
    assert_eq!((block_on(read_by_value(it(), true)), count()), (Ok(2), 1));
    block_on(async {
        trip("payrail");
        assert_eq!((consumes(it(), true).await, count()), (Ok(1000), 0));
        assert_eq!((read_by_value(it(), true).await, count()), (Ok(1), 0));
        assert!(matches!(
            (repeats(it(), true).await, count()),
            (Err(AppError::Shed(_)), 0)
        ));
    });
}

struct Money {
    cents: u32,
    unit: char,
}

impl Clone for Money {
    fn clone(&self) -> Self {
        Money { ..*self }
    }
}

async fn spare_pay((a, b): (u32, u32), money: Money, text: String, log: &mut Vec<u32>, c: &u32) -> Res<u32> {
    log.push(99);
    Ok(a + b + money.cents + text.len() as u32 + c + u32::from(money.unit == '€'))
}

#[breaker("payrail")]
#[retry]
#[fallback(value = if a + first > 1000 { cents + c } else { 0 })]
async fn unpacks(
    (a, mut b): (u32, u32),
    Money { cents, unit: _ }: &Money,
    &c: &u32,
    [first, .., _]: [u32; 3],
) -> Res<u32> {
    b += a + cents + c + first;
    tick().await;
    Err(if b > 0 { AppError::Down } else { AppError::Bad(b) })
}

#[breaker("payrail")]
#[retry]
#[fallback(spare_pay)]
async fn passes_patterns(
    (a, mut b): (u32, u32),
    Money { cents, unit: _ }: Money,
    _: String,
    log: &mut Vec<u32>,
    &c: &u32,
) -> Res<u32> {
    b += a + cents + c;
    log.push(b);
    tick().await;
    Err(AppError::Down)
}

#[test]
fn patterns_are_unpacked_for_each_attempt_and_passed_on_whole() {
    let mut log = vec![];
    let money = Money { cents: 5, unit: '€' };
    assert_eq!(block_on(is_send(unpacks((1, 2), &money, &10, [1000, 0, 0]))), Ok(15));
    let out = block_on(is_send(passes_patterns((1, 2), money, "xx".into(), &mut log, &10)));
    assert_eq!(out, Ok(1 + 2 + 5 + 2 + 10 + 1));
    assert_eq!(log, [18, 18, 18, 99]);
}

async fn spare_cell(cell: Cell<u32>) -> Res<u32> {
    Ok(cell.get() + 1000)
}

#[breaker("payrail")]
#[retry]
#[fallback(spare_cell)]
async fn not_sync(cell: Cell<u32>) -> Res<u32> {
    cell.set(cell.get() + 1);
    tick().await;
    if cell.get() > 0 { Err(AppError::Down) } else { Ok(0) }
}

#[test]
fn send_is_kept_for_arguments_that_are_not_sync() {
    assert_eq!(block_on(is_send(not_sync(Cell::new(4)))), Ok(1004));
}

async fn spare_generic<T: Clone + Send, const N: usize>(all: [T; N]) -> Res<usize> {
    Ok(all.len() + 1000)
}

#[breaker("payrail")]
#[retry]
#[fallback(spare_generic::<T, N>)]
async fn generic<T, const N: usize>(all: [T; N]) -> Res<usize>
where
    T: Clone + Send,
{
    drop(all);
    Err(AppError::Down)
}

#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
async fn opaque(all: impl Iterator<Item = u32> + Clone + Send, mut rest: &str) -> Res<impl Iterator<Item = u32>> {
    rest = &rest[1..];
    tick().await;
    let sum: u32 = all.sum();
    if rest.is_empty() {
        Err(AppError::Down)
    } else {
        Ok(std::iter::once(sum + rest.len() as u32))
    }
}

#[test]
fn generics_and_opaque_types_are_run_again() {
    assert_eq!(block_on(is_send(generic(["a", "b"]))), Ok(1002));
    assert_eq!(
        block_on(is_send(opaque(IntoIterator::into_iter([1, 2]), "xyz"))).map(|mut all| all.next()),
        Ok(Some(5))
    );
    assert!(block_on(opaque(IntoIterator::into_iter([1, 2]), "x")).is_err());
}

struct Conn {
    n: u32,
}

impl Conn {
    #[breaker("payrail")]
    #[retry]
    #[fallback(Self::lent)]
    async fn lend<'a>(&'a self, to: &'a mut Vec<u32>, own: String) -> Res<&'a u32> {
        to.push(own.len() as u32);
        tick().await;
        Err(AppError::Down)
    }

    async fn lent<'a>(&'a self, to: &'a mut Vec<u32>, own: String) -> Res<&'a u32> {
        to.push(own.len() as u32 + 100);
        Ok(&self.n)
    }

    #[breaker("payrail")]
    #[retry]
    #[fallback(Self::closed)]
    async fn close(mut self, by: u32) -> Res<u32>
    where
        Self: Clone,
    {
        self.n += by;
        tick().await;
        let gone = self;
        Err(if gone.n == 11 {
            AppError::Down
        } else {
            AppError::Bad(gone.n)
        })
    }

    async fn closed(self, by: u32) -> Res<u32> {
        Ok(self.n + by + 1000)
    }

    #[breaker("payrail")]
    #[retry]
    #[fallback(none = "none")]
    async fn shut(self, by: &mut u32) -> Res<u32> {
        *by += 1;
        tick().await;
        drop(self);
        Err(AppError::Down)
    }

    #[breaker("payrail")]
    #[fallback(value = self.n + own.len() as u32)]
    async fn count(&mut self, own: String, mut by: Vec<u32>) -> Res<u32> {
        by.push(1);
        self.n += by.len() as u32;
        tick().await;
        drop((own, by));
        Err(AppError::Down)
    }
}

impl Clone for Conn {
    fn clone(&self) -> Self {
        Conn { n: self.n }
    }
}

#[test]
fn receivers_of_every_kind_are_there_again() {
    let mut to = vec![];
    let mut conn = Conn { n: 10 };
    assert_eq!(block_on(is_send(conn.lend(&mut to, "abc".into()))), Ok(&10));
    assert_eq!(to, [3, 3, 3, 103]);
    assert_eq!(block_on(is_send(conn.count("ab".into(), vec![]))), Ok(13));
    assert_eq!(conn.n, 11);
    conn.n = 10;
    let mut by = 0;
    assert_eq!(block_on(is_send(conn.clone().shut(&mut by))), Err(AppError::Down));
    assert_eq!(by, 3);
    assert_eq!(block_on(is_send(conn.close(1))), Ok(1011));
}
