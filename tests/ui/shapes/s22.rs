//! S22: inner attributes, and names imported inside the body.

#![deny(warnings)]

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

type Answer = Res<()>;
#[derive(PartialEq)]
enum Word {
    Answer,
    Other,
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn f(w: Word) -> Answer {
    #![allow(unused_variables)]
    use Word::*;
    let unused = 1;
    tick().await;
    if w == Answer || w == Other {
        Ok(())
    } else {
        unreachable!()
    }
}

#[test]
fn s22_inner_attributes_and_names_imported_inside_the_body() {
    assert_eq!(block_on(f(Word::Answer)), Ok(()));
}
