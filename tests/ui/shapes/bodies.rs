//! Bodies that do what bodies do: every way to leave one, to loop in one, to declare things in one.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Mutex;

use crate::kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry};

#[breaker("payrail")]
#[fallback(none = "none")]
async fn let_else(text: Option<&str>) -> Res<usize> {
    let Some(text) = text else {
        return Err(AppError::Bad(1));
    };
    tick().await;
    let (Some(first), rest) = (text.chars().next(), text.len()) else {
        return Ok(0);
    };
    Ok(rest + first.len_utf8())
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn loops(mut queue: VecDeque<u32>) -> Res<u32> {
    let mut sum = 0;
    while let Some(next) = queue.pop_front() {
        tick().await;
        sum += match next {
            0 => continue,
            n if n > 100 => break,
            n => n,
        };
    }
    let extra = loop {
        if sum % 7 == 0 {
            break sum / 7;
        }
        sum += 1;
    };
    Ok(sum + extra)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn returns_at_its_end(n: u32) -> Res<u32> {
    tick().await;
    #[allow(clippy::needless_return)]
    return Ok(n);
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn both_branches_return(n: u32) -> Res<u32> {
    if n == 0 {
        return Err(AppError::Bad(n));
    }
    match n {
        1 => return Ok(10),
        2 => {}
        n => return Ok(n + 1),
    }
    tick().await;
    Ok(n)
}

#[breaker("payrail")]
#[fallback(none = "none")]
// Before edition 2021 a lone text is not a format.
#[allow(clippy::uninlined_format_args)]
async fn diverges(n: u32) -> Res<u32> {
    panic!("asked for {}", n)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn shadows(n: u32) -> Res<u32> {
    #[allow(non_snake_case)]
    fn Ok2(n: u32) -> Res<u32> {
        n.checked_add(0).ok_or(AppError::Down)
    }
    struct Option(u32);
    enum Poll {
        Ready(u32),
    }
    #[allow(non_upper_case_globals)]
    const None: u32 = 3;
    let Poll::Ready(ready) = Poll::Ready(n);
    tick().await;
    Ok2(Option(ready).0 + None)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn declares(n: u32) -> Res<u32> {
    use std::fmt::Write as _;
    static CALLS: Mutex<u32> = Mutex::new(0);
    type Text = String;
    trait Twice {
        fn twice(&self) -> u32;
    }
    impl Twice for u32 {
        fn twice(&self) -> u32 {
            self * 2
        }
    }
    macro_rules! add {
        ($a:expr, $b:expr) => {
            $a + $b
        };
    }
    *CALLS.lock().unwrap() += 1;
    let mut text = Text::new();
    write!(text, "{}", n.twice()).map_err(|_| AppError::Down)?;
    tick().await;
    Ok(add!(text.parse::<u32>()?, 1))
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn joins(a: u32, b: u32) -> Res<u32> {
    let one = async {
        tick().await;
        Ok::<_, AppError>(a)
    };
    let other = async {
        tick().await;
        Ok(b)
    };
    let (one, other): (Res<u32>, Res<u32>) = tokio::join!(one, other);
    tokio::select! {
        biased;
        () = tick() => Ok(one? + other?),
        () = std::future::pending() => Err(AppError::Down),
    }
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn asks_twice(text: &str) -> Res<u32> {
    let inner: Res<Res<u32>> = async { Ok(text.parse::<u32>().map_err(AppError::from)) }.await;
    Ok(inner??)
}

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "none")]
async fn holds_a_borrow(cell: RefCell<Vec<u32>>) -> Res<usize> {
    {
        let mut all = cell.borrow_mut();
        all.push(1);
    }
    tick().await;
    let length = cell.borrow().len();
    Ok(length)
}

#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
async fn changes_its_arguments(mut text: String, mut all: Vec<u32>, n: &mut u32) -> Res<String> {
    text.push('!');
    all.push(*n);
    *n += 1;
    tick().await;
    for one in all {
        text.push_str(&one.to_string());
    }
    Ok(text)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn nests(depth: u32) -> Res<u32> {
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn inner(n: u32) -> Res<u32> {
        tick().await;
        Ok(n + 1)
    }
    let closure = |n| inner(n);
    let mut n = depth;
    for _ in 0..3 {
        n = closure(n).await?;
    }
    Ok(n)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn a_single_expression(n: u32) -> Res<u32> {
    if n > 1 { Ok(n) } else { Err(AppError::Bad(n)) }
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn blocks_of_every_kind(n: u32) -> Res<u32> {
    let block = {
        let n = n + 1;
        n * 1_u32.pow(n)
    };
    let constant = const { 2 + 3 };
    'found: {
        if block > 2 {
            break 'found tick().await;
        }
    }
    let closure = move || -> Res<u32> { Ok("7".parse::<u32>()? + block) };
    Ok(closure()? + constant)
}

#[test]
fn every_way_to_leave_is_left_as_it_was() {
    assert_eq!(block_on(is_send(let_else(Some("abc")))), Ok(4));
    assert_eq!(block_on(let_else(Some(""))), Ok(0));
    assert_eq!(block_on(let_else(None)), Err(AppError::Bad(1)));
    assert_eq!(block_on(returns_at_its_end(2)), Ok(2));
    assert_eq!(block_on(both_branches_return(0)), Err(AppError::Bad(0)));
    assert_eq!(block_on(both_branches_return(1)), Ok(10));
    assert_eq!(block_on(both_branches_return(2)), Ok(2));
    assert_eq!(block_on(asks_twice("5")), Ok(5));
    assert_eq!(block_on(asks_twice("x")), Err(AppError::Bad(0)));
    assert_eq!(block_on(a_single_expression(2)), Ok(2));
}

#[test]
fn a_body_that_never_returns_panics_on() {
    let call = std::panic::AssertUnwindSafe(|| block_on(diverges(9)));
    let payload = std::panic::catch_unwind(call).unwrap_err();
    assert_eq!(
        payload.downcast_ref::<String>().map(String::as_str),
        Some("asked for 9")
    );
}

#[test]
fn loops_and_blocks_keep_their_labels() {
    let queue = vec![0, 5, 9, 101, 3].into();
    assert_eq!(block_on(is_send(loops(queue))), Ok(16));
    assert_eq!(block_on(is_send(blocks_of_every_kind(3))), Ok(16));
}

#[test]
fn what_a_body_declares_is_its_own() {
    assert_eq!(block_on(is_send(shadows(4))), Ok(7));
    assert_eq!(block_on(is_send(declares(4))), Ok(9));
    assert_eq!(block_on(is_send(nests(1))), Ok(4));
}

#[test]
fn futures_inside_of_a_body_run_side_by_side() {
    assert_eq!(block_on(is_send(joins(1, 2))), Ok(3));
    assert_eq!(block_on(is_send(holds_a_borrow(RefCell::new(vec![])))), Ok(1));
}

#[test]
fn arguments_may_be_changed_and_used_up() {
    let mut n = 4;
    let call = changes_its_arguments("a".to_owned(), vec![1, 2], &mut n);
    assert_eq!(block_on(is_send(call)), Ok("a!124".to_owned()));
    assert_eq!(n, 5);
}
