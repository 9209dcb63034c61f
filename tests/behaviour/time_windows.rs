//! Windows of time.

use resilience_runtime::testing::record;

use crate::stand::{Stand, is_rate, rejections, transitions, words};

#[tokio::test(start_paused = true)]
async fn win_01_the_fifth_result_decides_and_the_numbers_stay_readable() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"20s\", minimum_calls = 5, failure_rate = 0.5 }");
    let ((), events) = record(async {
        assert_eq!(far.each("F F F S").await, words("3*server ok"));
        assert_eq!(far.read().failure_rate, None);
        assert_eq!(far.each("S S").await, words("ok open"));
    })
    .await;
    assert_eq!(transitions(&events), ["closed>open failure_rate"]);
    assert_eq!(rejections(&events), ["open"]);
    let read = far.read();
    assert_eq!(read.calls, 5);
    assert!(is_rate(read.failure_rate, 0.6));
}

fn five_seconds() -> Stand {
    Stand::new("timeout = \"10s\"\nbreaker = { window = \"5s\", minimum_calls = 1, failure_rate = false }")
}

#[tokio::test(start_paused = true)]
async fn win_03_results_leave_when_their_time_is_over() {
    let far = five_seconds();
    for (at, step, calls) in [(0, "F", 1), (100, "S", 2), (800, "F", 3)] {
        far.at_ms(at).await;
        far.one(step).await;
        assert_eq!(far.window(), calls);
    }
    far.at_ms(4_800).await;
    assert_eq!(far.window(), 3);
    far.at_ms(5_800).await;
    assert_eq!((far.window(), far.read().failure_rate), (0, None));
    far.at_ms(5_900).await;
    far.one("S").await;
    assert_eq!(far.window(), 1);
    far.at_ms(10_900).await;
    far.one("S").await;
    assert_eq!(far.window(), 1, "a result that is exactly as old as the window is out");
}

#[tokio::test(start_paused = true)]
async fn win_04_the_sums_are_those_of_the_last_five_seconds() {
    let far = five_seconds();
    let steps = [
        (0, "F", 1, 1),
        (100, "S", 2, 1),
        (200, "S", 3, 1),
        (1_200, "S", 4, 1),
        (2_200, "S", 5, 1),
        (3_200, "F", 6, 2),
        (4_200, "S", 7, 2),
        (5_200, "S", 5, 1),
        (6_200, "S", 5, 1),
        (11_200, "S", 1, 0),
    ];
    for (at, step, calls, failed) in steps {
        far.at_ms(at).await;
        far.one(step).await;
        assert_eq!((far.window(), far.failed_and_slow().0), (calls, failed), "at {at} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn win_06_failures_of_the_minute_before_do_not_count() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"60s\", minimum_calls = 10, failure_rate = 0.5 }");
    for call in 0..9 {
        far.at_ms(call * 111).await;
        assert_eq!(far.one("F").await, "server");
    }
    assert_eq!(far.state(), "closed");
    far.at_ms(61_000).await;
    assert_eq!(far.each("9*F").await, words("9*server"));
    assert_eq!((far.state(), far.window()), ("closed", 9));
    assert_eq!(far.each("F S").await, words("server open"));
}

#[tokio::test(start_paused = true)]
async fn win_07_reading_takes_nothing_out() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"10s\", minimum_calls = 1, failure_rate = false }");
    far.each("10*S").await;
    let handle = tokio::runtime::Handle::current();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let _inside = handle.enter();
                for _ in 0..250 {
                    assert_eq!(far.window(), 10);
                }
            });
        }
    });
    assert_eq!(far.window(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_result_lives_at_most_as_long_as_the_window_and_at_least_a_slice_less() {
    // Ten slices at least: a result may leave half a second early of five, never late.
    for born in [1_u64, 137, 499, 1_234, 4_321] {
        let far = five_seconds();
        far.one("S").await;
        far.at_ms(born).await;
        far.one("F").await;
        far.at_ms(born + 4_500).await;
        assert_eq!(far.failed_and_slow().0, 1, "born at {born} ms");
        far.at_ms(born + 5_000).await;
        assert_eq!(far.failed_and_slow().0, 0, "born at {born} ms");
    }
}
