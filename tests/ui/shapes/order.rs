//! S19: in whatever order the attributes stand, the layers are the same.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use resilience_runtime::{breaker, bulkhead, fallback, retry, timeout};

use crate::kit::*;

static RUNS: AtomicU32 = AtomicU32::new(0);

async fn spare(n: u32) -> Res<u32> {
    Ok(n + 1000)
}

macro_rules! permutations {
    ($($name:ident: $(#[$attribute:meta])+;)+) => {
        $(
            $(#[$attribute])+
            async fn $name(n: u32) -> Res<u32> {
                RUNS.fetch_add(1, SeqCst);
                tick().await;
                if n == 0 { Err(AppError::Down) } else { Ok(n) }
            }
        )+

        #[test]
        fn s19_every_order_of_the_attributes_means_the_same() {
            $(
                RUNS.store(0, SeqCst);
                assert_eq!(block_on(is_send($name(0))), Ok(1000), stringify!($name));
                assert_eq!(RUNS.load(SeqCst), 3, stringify!($name));
                assert_eq!(block_on($name(1)), Ok(1), stringify!($name));
            )+
        }
    };
}

permutations! {
    a: #[breaker("payrail")] #[bulkhead] #[retry] #[timeout] #[fallback(spare)];
    b: #[fallback(spare)] #[timeout] #[retry] #[bulkhead] #[breaker("payrail")];
    c: #[retry] #[breaker] #[fallback(spare)] #[bulkhead("payrail")] #[timeout];
    d: #[timeout("payrail")] #[fallback(spare)] #[breaker] #[retry] #[bulkhead];
    e: #[bulkhead] #[retry("payrail")] #[fallback(spare)] #[timeout] #[breaker];
    f: #[retry("payrail")] #[timeout("payrail")] #[fallback(spare)];
}
