//! S24, S27, S33 and their neighbours: names, sizes, drop order and statement positions.

use std::sync::Mutex;

use resilience_runtime::{breaker, bulkhead, fallback, timeout};

use crate::kit::*;

#[expect(non_upper_case_globals, dead_code)]
const body: u8 = 1;
#[expect(non_upper_case_globals, dead_code)]
static call: u8 = 1;
#[expect(non_upper_case_globals, dead_code)]
const end: u8 = 1;
#[expect(non_upper_case_globals, dead_code)]
static chain: u8 = 1;

async fn spare(value: u32) -> Res<u32> {
    Ok(value + 1000)
}

#[breaker("payrail")]
#[fallback(spare)]
async fn names(value: u32) -> Res<u32> {
    tick().await;
    Ok(value)
}

#[test]
fn s24_constants_of_the_user_capture_no_name_of_ours() {
    assert_eq!(block_on(names(1)), Ok(1));
}

static DROPS: Mutex<Vec<&str>> = Mutex::new(Vec::new());

struct Noisy(&'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        DROPS.lock().unwrap().push(self.0);
    }
}

async fn plain(a: Noisy, c: Noisy, _d: Noisy) -> Res<()> {
    let local = Noisy("local");
    tick().await;
    let _ = (&a, &c, &local);
    Ok(())
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn woven(a: Noisy, c: Noisy, _d: Noisy) -> Res<()> {
    let local = Noisy("local");
    tick().await;
    let _ = (&a, &c, &local);
    Ok(())
}

#[test]
fn s31_arguments_are_dropped_in_the_order_of_the_plain_function() {
    let arguments = || (Noisy("a"), Noisy("c"), Noisy("d"));
    let (a, c, d) = arguments();
    block_on(plain(a, c, d)).unwrap();
    let before = std::mem::take(&mut *DROPS.lock().unwrap());
    let (a, c, d) = arguments();
    block_on(woven(a, c, d)).unwrap();
    let after = std::mem::take(&mut *DROPS.lock().unwrap());
    assert_eq!(before, ["local", "d", "c", "a"]);
    assert_eq!(after, before);
    drop(woven(Noisy("a"), Noisy("c"), Noisy("d")));
    assert_eq!(DROPS.lock().unwrap().len(), 3);
}

async fn big(block: [u8; 1024], text: String) -> Res<usize> {
    tick().await;
    Ok(block.len() + text.len())
}

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "none")]
async fn big_woven(block: [u8; 1024], text: String) -> Res<usize> {
    tick().await;
    Ok(block.len() + text.len())
}

#[breaker("payrail")]
#[timeout]
#[fallback(big)]
async fn big_with_spare(block: [u8; 1024], text: String) -> Res<usize> {
    tick().await;
    Ok(block.len() + text.len())
}

#[test]
fn s33_a_guarded_future_carries_its_arguments_no_more_often_than_the_plain_one() {
    let plain = size_of_val(&big([0; 1024], String::new()));
    let woven = size_of_val(&big_woven([0; 1024], String::new()));
    let with_spare = size_of_val(&big_with_spare([0; 1024], String::new()));
    assert!(woven < plain + 1024, "{woven} against {plain}");
    // One copy more, which the fallback would get.
    assert!(with_spare < plain + 2 * 1024, "{with_spare} against {plain}");
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn borrows(cell: std::cell::RefCell<Vec<u8>>) -> Res<usize> {
    tick().await;
    Ok(cell.borrow().len())
}

#[test]
fn s25_temporaries_of_the_last_expression_follow_the_edition_of_the_user() {
    assert_eq!(block_on(borrows(std::cell::RefCell::new(vec![1]))), Ok(1));
}

macro_rules! made {
    ($name:ident, $double:expr, $ty:ty, $self:ident) => {
        impl Made {
            #[breaker("payrail")]
            #[fallback(value = 2 * $double)]
            async fn $name(&$self, n: &mut $ty) -> Res<u32> {
                *n += 2 * $double;
                if $self.0 == *n { Ok(*n) } else { Err(AppError::Down) }
            }
        }
    };
}

struct Made(u32);
made!(twice, 1 + 1, u32, self);

#[test]
fn s27_fragments_of_expressions_stay_grouped() {
    let mut n = 0;
    assert_eq!(block_on(Made(4).twice(&mut n)), Ok(4));
    assert_eq!(block_on(Made(4).twice(&mut n)), Ok(4));
    assert_eq!(n, 8);
}

macro_rules! item {
    ($item:item) => {
        #[breaker("payrail")]
        #[fallback(none = "none")]
        $item
    };
}

item! {
    async fn whole(n: u32) -> Res<u32> { tick().await; Ok(n) }
}

#[test]
fn an_item_fragment_is_a_function_too() {
    assert_eq!(block_on(whole(1)), Ok(1));
}

struct Raw;

impl Raw {
    #[breaker("payrail")]
    #[fallback(Self::r#match)]
    async fn r#type(r#in: u32) -> Res<u32> {
        if r#in == 0 { Err(AppError::Down) } else { Ok(r#in) }
    }

    async fn r#match(r#in: u32) -> Res<u32> {
        Ok(r#in + 1)
    }
}

#[test]
fn raw_names_are_kept() {
    assert_eq!(block_on(Raw::r#type(0)), Ok(1));
}
