//! The guarded future beside the bare one.

use resilience_runtime::{breaker, bulkhead, fallback, retry, timeout};

use crate::kit::{FarError, guard};

/// What a guarded future may be larger than the bare one.
const ROOM: usize = 512;

type Large = [u8; 1_024];

/// The same body bare, and under one to four attributes without a retry and then with it.
macro_rules! functions {
    ($module:ident($($name:ident: $ty:ty = $given:expr),*) $body:block) => {
        mod $module {
            use super::*;

            async fn bare($($name: $ty),*) -> Result<usize, FarError> $body

            #[breaker("seatmap")]
            #[fallback(none = "its size is all that counts")]
            async fn one($($name: $ty),*) -> Result<usize, FarError> $body

            #[breaker("seatmap")]
            #[timeout]
            #[fallback(none = "its size is all that counts")]
            async fn two($($name: $ty),*) -> Result<usize, FarError> $body

            #[breaker("seatmap")]
            #[timeout]
            #[bulkhead]
            #[fallback(none = "its size is all that counts")]
            async fn three($($name: $ty),*) -> Result<usize, FarError> $body

            #[breaker("seatmap")]
            #[timeout]
            #[bulkhead]
            #[fallback(value = 0)]
            async fn four($($name: $ty),*) -> Result<usize, FarError> $body

            #[breaker("seatmap")]
            #[timeout]
            #[bulkhead]
            #[retry]
            #[fallback(none = "its size is all that counts")]
            async fn again($($name: $ty),*) -> Result<usize, FarError> $body

            pub(super) fn bare_size() -> usize {
                size_of_val(&bare($($given),*))
            }

            /// With one, two, three and four layers, and a fallback.
            pub(super) fn once() -> [usize; 4] {
                [
                    size_of_val(&one($($given),*)),
                    size_of_val(&two($($given),*)),
                    size_of_val(&three($($given),*)),
                    size_of_val(&four($($given),*)),
                ]
            }

            pub(super) fn repeated() -> usize {
                size_of_val(&again($($given),*))
            }
        }
    };
}

functions!(nothing() {
    std::future::ready(()).await;
    Ok(0)
});

functions!(word(text: String = String::new()) {
    std::future::ready(()).await;
    Ok(text.len())
});

functions!(large(bytes: Large = [0; 1_024]) {
    std::future::ready(()).await;
    Ok(bytes.len())
});

#[test]
fn without_a_retry_it_is_at_most_512_bytes_larger_and_no_attribute_adds_to_it() {
    for (name, bare, guarded) in [
        ("no argument", nothing::bare_size(), nothing::once()),
        ("a `String`", word::bare_size(), word::once()),
        ("1 KiB", large::bare_size(), large::once()),
    ] {
        assert!(
            guarded.iter().all(|size| *size <= bare + ROOM),
            "{name}: {guarded:?} over {bare}"
        );
        assert!(guarded.iter().all(|size| *size == guarded[0]), "{name}: {guarded:?}");
    }
}

/// What a body may consume has to be kept for the next attempt: one copy of the arguments by value, and no second one.
#[test]
fn with_a_retry_it_keeps_one_copy_of_the_arguments_and_no_more() {
    for (name, bare, guarded, arguments) in [
        ("no argument", nothing::bare_size(), nothing::repeated(), 0),
        ("a `String`", word::bare_size(), word::repeated(), size_of::<String>()),
        ("1 KiB", large::bare_size(), large::repeated(), size_of::<Large>()),
    ] {
        assert!(guarded <= bare + arguments + ROOM, "{name}: {guarded} over {bare}");
    }
}

#[test]
fn a_guards_call_is_at_most_512_bytes_larger_than_its_body() {
    let (_runtime, guard) = guard("timeout = \"1s\"");
    let bytes = [0_u8; 1_024];
    let bare = || async move {
        std::future::ready(()).await;
        Ok::<_, FarError>(bytes.len())
    };
    let room = |guarded: usize, bare: usize| assert!(guarded <= bare + ROOM, "{guarded} over {bare}");
    room(size_of_val(&guard.call_once(bare())), size_of_val(&bare()));
    // The closure that makes the bodies is kept beside the body that runs.
    room(
        size_of_val(&guard.call(bare)),
        size_of_val(&bare()) + size_of_val(&bare),
    );
}

#[test]
fn a_scope_adds_a_word_or_two() {
    let (runtime, guard) = guard("timeout = \"1s\"");
    let bare = size_of_val(&guard.call_once(std::future::ready(Ok::<_, FarError>(1))));
    let scoped = size_of_val(&runtime.scope(guard.call_once(std::future::ready(Ok::<_, FarError>(1)))));
    assert!(scoped <= bare + 32, "{scoped} over {bare}");
}
