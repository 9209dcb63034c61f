//! Stale answers, in any order of good and failed calls: none crosses a key, outlives its bound or is one too many.

use std::time::Duration;

use proptest::prelude::*;
use resilience_runtime::{FailureKind, Freshness, Served, fallback, timeout};
use tokio::time::advance;

use crate::fallbacks::open;
use crate::kit::{FarError, secs};

/// What an answer is for: whose it is, and which one of his.
type For = (u8, u8);

#[timeout("seatmap")]
#[fallback(stale(key = (tenant, show)))]
async fn seats(tenant: u8, show: u8, answer: Result<u32, FarError>) -> Result<Served<(For, u32)>, FarError> {
    std::future::ready(answer.map(|number| Served::fresh(((tenant, show), number)))).await
}

/// The same key of another function is another key.
#[timeout("seatmap")]
#[fallback(stale(key = (tenant, show)))]
async fn rows(tenant: u8, show: u8, answer: Result<u32, FarError>) -> Result<Served<(For, u32)>, FarError> {
    std::future::ready(answer.map(|number| Served::fresh(((tenant, show), number + 1_000_000)))).await
}

#[derive(Debug, Clone, Copy)]
struct Step {
    rows: bool,
    key: For,
    good: bool,
    then: Duration,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let then = prop_oneof![3 => Just(0), 2 => 1..20_u64, 1 => Just(59), 1 => Just(60), 1 => Just(61)];
    let step = (any::<bool>(), (0..3_u8, 0..3_u8), any::<bool>(), then).prop_map(|(rows, key, good, then)| Step {
        rows,
        key,
        good,
        then: secs(then),
    });
    prop::collection::vec(step, 1..80)
}

const DOWN: FarError = FarError::Failed(FailureKind::Server);
const MAX_STALE: Duration = Duration::from_secs(60);
const MAX_ENTRIES: usize = 4;

/// What may be served, oldest first.
#[derive(Default)]
struct Kept(Vec<(bool, For, u32, tokio::time::Instant)>);

impl Kept {
    fn put(&mut self, rows: bool, key: For, number: u32) {
        self.0.retain(|kept| (kept.0, kept.1) != (rows, key));
        self.0.push((rows, key, number, tokio::time::Instant::now()));
        if self.0.len() > MAX_ENTRIES {
            self.0.remove(0);
        }
    }

    fn get(&self, rows: bool, key: For) -> Option<(u32, Duration)> {
        let (_, _, number, at) = self.0.iter().find(|kept| (kept.0, kept.1) == (rows, key))?;
        (at.elapsed() <= MAX_STALE).then(|| (*number, at.elapsed()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_stale_answer_crosses_a_key_outlives_max_stale_or_exceeds_max_entries(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let policy = open("timeout = \"1s\"\nfallback.max_stale = \"60s\"\nfallback.max_entries = 4");
        runtime.block_on(policy.scope(async {
            let mut kept = Kept::default();
            for (number, step) in steps.into_iter().enumerate() {
                let number = u32::try_from(number).unwrap();
                let (tenant, show) = step.key;
                let answer = if step.good { Ok(number) } else { Err(DOWN) };
                let (got, offset) = if step.rows {
                    (rows(tenant, show, answer).await, 1_000_000)
                } else {
                    (seats(tenant, show, answer).await, 0)
                };
                if step.good {
                    prop_assert_eq!(got.unwrap(), Served::fresh((step.key, number + offset)));
                    kept.put(step.rows, step.key, number);
                } else {
                    let expected = kept.get(step.rows, step.key).map(|(number, age)| Served {
                        value: (step.key, number + offset),
                        freshness: Freshness::Stale { age },
                    });
                    prop_assert_eq!(got.ok(), expected);
                }
                advance(step.then).await;
            }
            Ok(())
        }))?;
    }
}

#[tokio::test(start_paused = true)]
async fn a_business_answer_is_neither_kept_nor_does_it_push_out_what_is() {
    open("timeout = \"1s\"")
        .scope(async {
            seats(1, 1, Ok(7)).await.unwrap();
            assert_eq!(seats(1, 1, Err(FarError::Business)).await, Err(FarError::Business));
            assert_eq!(seats(1, 1, Err(DOWN)).await.unwrap().value, ((1, 1), 7));
            assert!(seats(2, 1, Err(DOWN)).await.is_err(), "another tenant's");
        })
        .await;
}
