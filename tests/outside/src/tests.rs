use resilience_runtime::{Policy, Reason, Runtime, available, testing};

use crate::charge;

#[tokio::test(start_paused = true)]
async fn a_buyer_is_told_when_to_come_back_and_is_let_in_then() {
    let policy = Policy::read("resilience.toml").unwrap();
    Runtime::new(policy)
        .scope(async {
            testing::trip("payrail");
            let answer = charge("127.0.0.1:1").await.unwrap_err();
            let refused = answer.rejection().unwrap();
            assert_eq!(refused.reason(), Reason::Open);

            tokio::time::advance(refused.retry_after().unwrap()).await;
            assert!(available("payrail"));
        })
        .await;
}
