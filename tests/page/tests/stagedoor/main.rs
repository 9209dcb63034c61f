//! The example's whole evening, told four times: by the page on the screen, the metrics, the events and the snapshot. They
//! agree in every frame of the page.

mod evening;
mod frame;
mod reading;

use resilience_page_tests::Browser;

use evening::Evening;
use frame::{Frame, Frames};
use reading::{Page, Snapshot};

/// Those that fail in the course of it.
const DEPENDENCIES: [&str; 3] = ["payrail", "replica", "seatmap"];
/// The evening has more than fifty seconds, and the page a frame for each of them; a busy machine may skip some.
const LEAST_FRAMES: usize = 20;
/// So often the rates of each have to be met while they do not move, where rounding is all that may differ.
const LEAST_STILL: usize = 3;
/// What a scrape may still lack is there at the next one, or the one after it.
const MOST_LOOKS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_metrics_events_and_snapshot_agree_in_every_frame_of_the_evening() {
    let Some(browser) = Browser::open(1280, 900, false).await else {
        return;
    };
    let mut evening = Evening::begin().await;
    browser.visit(&format!("{}page", evening.address)).await;

    let (mut frames, mut pictured) = (Frames::default(), false);
    while let Some(made) = watch(&browser, &evening, &mut frames).await {
        let Some(frame) = made else { continue };
        frame.agrees(&mut frames.seen);
        if !pictured && frame.shows_trouble() {
            browser.picture("page-stagedoor", true).await;
            pictured = true;
        }
        frames.kept.push(frame);
    }
    browser.close().await;

    let told = evening.end().await;
    let start = told.start(&frames.kept.last().expect("a frame").after);
    for frame in &frames.kept {
        told.agrees(frame, start);
    }
    assert_eq!(told.names(), DEPENDENCIES);
    let seen = &frames.seen;
    eprintln!(
        "{} frames, still {:?}, states {:?}",
        frames.kept.len(),
        seen.still,
        seen.states
    );
    assert!(frames.kept.len() >= LEAST_FRAMES && pictured);
    for name in DEPENDENCIES {
        assert!(seen.still[name][0] >= LEAST_STILL, "{name}");
        for state in ["closed", "open"] {
            assert!(
                seen.states.contains(&(name.to_owned(), state.to_owned())),
                "{name} {state}"
            );
        }
    }
}

/// Looks once; gives a frame where the page has a new one, and nothing once the example has ended.
///
/// A frame that is seen was made after the last snapshot that had come by its moment, and before the one that is asked for
/// now. What only grows lies between the two, and what is the same in both was so in between: no moment has to be hit.
async fn watch(browser: &Browser, evening: &Evening, frames: &mut Frames) -> Option<Option<Frame>> {
    frames.pace.tick().await;
    let page = Page::read(browser).await;
    let Some(before) = frames.before(&page) else {
        frames.snapshots.push(Snapshot::read(&evening.address).await?);
        return Some(None);
    };
    for look in 1.. {
        let scrape = reading::scrape(&evening.address).await?;
        if scrape.is_up_with(&before) || look == MOST_LOOKS {
            let after = Snapshot::read(&evening.address).await?;
            return Some(Some(frames.frame(before, page, scrape, after)));
        }
    }
    None
}
