//! Shapes that do the same with and without attributes while nothing is wrong, to the order of the last drop. What they
//! tell is compared by `differential.rs`.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry, timeout};

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static CLONES: Cell<u32> = const { Cell::new(0) };
}

fn note(what: &str) {
    LOG.with(|log| log.borrow_mut().push(what.to_owned()));
}

/// Tells what was noted since the last time, and how many clones were made.
fn tell(name: &str) {
    let log = LOG.with(RefCell::take).join(",");
    println!("told {name} {log} clones {}", CLONES.with(Cell::take));
}

/// Notes its drop and counts its clones.
struct Loud(&'static str);

impl Drop for Loud {
    fn drop(&mut self) {
        note(self.0);
    }
}

impl Clone for Loud {
    fn clone(&self) -> Self {
        CLONES.with(|clones| clones.set(clones.get() + 1));
        Self(self.0)
    }
}

#[breaker("payrail")]
#[bulkhead]
#[timeout]
#[fallback(none = "none")]
async fn unused(_a: Loud, _second: Loud, (b, _rest): (Loud, Loud), _c: &Loud) -> Res<u32> {
    let _local = Loud("local");
    tick().await;
    drop(b);
    Ok(1)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn early(first: Loud, second: Loud, how: u32) -> Res<u32> {
    let _guard = Loud("guard");
    if how == 0 {
        return Ok(0);
    }
    tick().await;
    let moved = second;
    let number: u32 = "x".repeat(how as usize - 1).parse()?;
    drop((moved, first));
    Ok(number)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn explodes(_first: Loud, second: Loud) -> Res<u32> {
    let _guard = Loud("guard");
    tick().await;
    let _late = second;
    std::panic::resume_unwind(Box::new("as asked"))
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn temporary(of: &Loud) -> Res<usize> {
    match Some(of.clone()).as_ref().map(|loud| loud.0.len()) {
        Some(length) => {
            tick().await;
            note("matched");
            Ok(length)
        }
        None => Err(AppError::Down),
    }
}

struct Desk {
    name: Loud,
    seen: Vec<u32>,
}

impl Desk {
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn consume(self, by: Loud) -> Res<usize> {
        let Self { name, seen } = self;
        tick().await;
        drop(by);
        note("between");
        drop(name);
        Ok(seen.len())
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn each<'a, I>(&'a mut self, all: I) -> Res<&'a [u32]>
    where
        I: IntoIterator<Item = u32>,
        I::IntoIter: Send,
    {
        for one in all {
            tick().await;
            self.seen.push(one);
        }
        Ok(&self.seen)
    }
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn counted(shared: Rc<Cell<u32>>, mut by: impl FnMut() -> u32) -> Res<u32> {
    let nested = async {
        shared.set(shared.get() + by());
        tick().await;
        by()
    };
    let last = nested.await;
    let shadow = |shared: u32| shared + last;
    Ok(shadow(shared.get()))
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn labelled(rows: &[&[u32]], wanted: u32) -> Res<(usize, usize)> {
    let found = 'rows: {
        for (row, cells) in rows.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                tick().await;
                if *cell == wanted {
                    break 'rows Some((row, column));
                }
            }
        }
        None
    };
    found.ok_or(AppError::Bad(wanted))
}

#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
async fn repeatable(a: Loud, b: String, c: &mut u32) -> Res<usize> {
    *c += 1;
    tick().await;
    drop(a);
    note("body");
    Ok(b.len())
}

/// Drops the future before its `polls`th poll.
fn cut<F: Future>(future: F, polls: usize) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..polls {
        let _: Poll<F::Output> = Pin::as_mut(&mut future).poll(&mut context);
    }
    note("cut");
}

// Named ones: what a `_` leaves without a name cannot be moved into the body, and is dropped after what can.
#[test]
fn arguments_that_are_not_used_are_dropped_in_their_order() {
    let kept = Loud("kept");
    let tuple = (Loud("b"), Loud("rest"));
    assert_eq!(block_on(unused(Loud("a"), Loud("second"), tuple, &kept)), Ok(1));
    tell("unused");
}

#[test]
fn an_early_end_drops_what_the_body_held_and_then_its_arguments() {
    assert_eq!(block_on(early(Loud("first"), Loud("second"), 0)), Ok(0));
    tell("early-return");
    assert_eq!(block_on(early(Loud("first"), Loud("second"), 1)), Err(AppError::Bad(0)));
    tell("early-question-mark");
}

#[test]
fn a_panic_drops_in_the_same_order() {
    let call = || block_on(explodes(Loud("first"), Loud("second")));
    let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"as asked"));
    tell("panic");
}

#[test]
fn a_call_that_is_dropped_drops_in_the_same_order() {
    for polls in 0..2 {
        block_on(async { cut(early(Loud("first"), Loud("second"), 1), polls) });
        tell(if polls == 0 { "never-polled" } else { "dropped-amid" });
    }
}

#[test]
fn temporaries_live_as_long() {
    let of = Loud("of");
    assert_eq!(block_on(temporary(&of)), Ok(2));
    tell("temporary");
}

#[test]
fn a_receiver_by_value_may_be_taken_apart() {
    let desk = Desk {
        name: Loud("name"),
        seen: vec![1],
    };
    assert_eq!(block_on(desk.consume(Loud("by"))), Ok(1));
    tell("consume");
}

#[test]
fn what_borrows_from_a_receiver_may_be_returned() {
    let mut desk = Desk {
        name: Loud("name"),
        seen: vec![],
    };
    assert_eq!(block_on(is_send(desk.each(vec![1, 2]))), Ok(&[1, 2][..]));
    drop(desk);
    tell("each");
}

#[test]
fn closures_nested_futures_and_labels_stay_what_they_are() {
    let shared = Rc::new(Cell::new(1));
    let mut next = 0;
    let by = || {
        next += 1;
        next
    };
    assert_eq!(block_on(counted(Rc::clone(&shared), by)), Ok(4));
    assert_eq!((shared.get(), Rc::strong_count(&shared), next), (2, 1, 2));
    assert_eq!(block_on(is_send(labelled(&[&[1], &[2, 3]], 3))), Ok((1, 1)));
    assert_eq!(block_on(labelled(&[], 3)), Err(AppError::Bad(3)));
}

#[test]
fn a_body_that_may_run_again_and_does_not_drops_once_what_it_was_given() {
    let mut runs = 0;
    let call = repeatable(Loud("a"), "bb".into(), &mut runs);
    assert_eq!(block_on(is_send(call)), Ok(2));
    assert_eq!(runs, 1);
    LOG.with(|log| assert_eq!(log.borrow().first().map(String::as_str), Some("a")));
}
