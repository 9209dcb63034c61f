//! The page in headless Chromium: what an operator sees, and what he can do.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use resilience_admin::{Admin, Fleet};
use resilience_page_tests::{Browser, Site};
use resilience_runtime::{Failure, Guard, Mode, Override, Policy, Runtime};
use resilience_test_servers::Redis;
use serde_json::json;

const TOKEN: &str = "an-admin-token-of-a-test";

const POLICY: &str = r#"
version = 1

[dependency.payrail]
about    = "card payments <img src=x onerror=document.title='owned'>"
fail     = "closed"
timeout  = "3s"
deadline = "8s"

[dependency.payrail.breaker]
window        = "20 calls"
minimum_calls = 20
failure_rate  = 0.5
cooldown      = "30s"

[dependency.payrail.bulkhead]
max_concurrent = 12
max_waiting    = 4
max_wait       = "100ms"
"#;

fn runtime(policy: &str) -> Runtime {
    Runtime::new(Policy::from_toml(policy).expect("a good policy"))
}

fn guard(runtime: &Runtime, name: &str) -> Guard {
    runtime.guard(name).expect("a known name")
}

async fn good(guard: &Guard, calls: usize) {
    for _ in 0..calls {
        let _ = guard.call(|| async { Ok::<_, io::Error>(()) }).await;
    }
}

async fn bad(guard: &Guard, calls: usize, kind: io::ErrorKind) {
    for _ in 0..calls {
        let failed: Result<(), _> = guard.call(|| async { Err(io::Error::from(kind)) }).await;
        assert!(matches!(failed, Err(Failure::Error(_) | Failure::Rejected(_))));
    }
}

fn acting(runtime: &Runtime) -> Admin {
    Admin::new(runtime.clone()).token(TOKEN).expect("a good token")
}

fn card(name: &str, rest: &str) -> String {
    format!("document.querySelector('[data-name=\"{name}\"] {rest}')")
}

async fn open_payrail(runtime: &Runtime) {
    let payrail = guard(runtime, "payrail");
    good(&payrail, 8).await;
    bad(&payrail, 4, io::ErrorKind::ConnectionRefused).await;
    bad(&payrail, 8, io::ErrorKind::TimedOut).await;
}

#[tokio::test]
async fn one_dependency_says_its_state_why_and_for_how_long_and_nothing_in_it_is_markup() {
    let Some(browser) = Browser::open(1000, 800, false).await else {
        return;
    };
    let runtime = runtime(POLICY);
    let payrail = guard(&runtime, "payrail");
    let site = Site::start(Admin::new(runtime.clone()));

    good(&payrail, 7).await;
    browser.visit(&format!("{}/page", site.address)).await;
    let state = card("payrail", ".state");
    assert_eq!(
        browser.text(&format!("{state}.textContent")).await,
        "7 of 20 calls: too few to judge"
    );
    assert_eq!(
        browser.text("document.getElementById('verdict').textContent").await,
        "Calls flow everywhere."
    );

    good(&payrail, 1).await;
    bad(&payrail, 4, io::ErrorKind::ConnectionRefused).await;
    bad(&payrail, 8, io::ErrorKind::TimedOut).await;
    browser
        .until(&format!("{state}.textContent === 'open: calls refused'"))
        .await;
    let text = browser.text(&format!("{}.innerText", card("payrail", ".why"))).await;
    for told in [
        "too many calls failed: 60 % failed of 20; limit 50 %",
        "failure 12",
        "success 8",
        "timeout, timeout",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let clock = browser
        .text(&format!("{}.textContent", card("payrail", ".clock")))
        .await;
    assert!(clock.contains("for ") && clock.contains("next test in "), "{clock}");
    assert_eq!(
        browser.text("document.getElementById('verdict').textContent").await,
        "payrail refuses calls."
    );
    assert_eq!(
        browser
            .text("document.getElementById('journal').children[0].querySelector('b').textContent")
            .await,
        "payrail"
    );

    // What the policy says is text, whatever it looks like, and the browser would not let it be more.
    let about = browser
        .text(&format!("{}.textContent", card("payrail", ".about")))
        .await;
    assert!(about.contains("<img src=x onerror="), "{about}");
    assert_eq!(browser.read("document.images.length").await, 0);
    let throws = "(() => { try { document.body.innerHTML = '<b>x</b>'; return false } catch (e) { return e.name } })()";
    assert_eq!(browser.read(throws).await, "TypeError");
    let elsewhere =
        "performance.getEntriesByType('resource').filter((one) => !one.name.startsWith(location.origin)).length";
    assert_eq!(browser.read(elsewhere).await, 0);

    // Nobody may act here, so there is nothing to press.
    let shown = "[...document.querySelectorAll('.card .buttons')].filter((one) => !one.hidden).length";
    assert_eq!(browser.read(shown).await, 0);
    browser.close().await;
}

const EITHER: &str = r#"
version = 1

[dependency.tours]
fail    = "open"
agreed  = "tours"
timeout = "3s"

[dependency.tours.breaker]
window        = "10 calls"
minimum_calls = 10
failure_rate  = false
slow_after    = "200ms"
bad_rate      = 0.7
"#;

#[tokio::test]
async fn what_failed_or_was_slow_is_drawn_against_a_threshold_of_its_own() {
    let Some(browser) = Browser::open(1000, 800, false).await else {
        return;
    };
    let runtime = runtime(EITHER);
    let site = Site::start(Admin::new(runtime.clone()));
    browser.visit(&format!("{}/page", site.address)).await;
    let tours = guard(&runtime, "tours");
    good(&tours, 4).await;
    bad(&tours, 3, io::ErrorKind::ConnectionRefused).await;
    let slow = || {
        tours.call(|| async {
            tokio::time::sleep(Duration::from_millis(250)).await;
            Ok::<_, io::Error>(())
        })
    };
    let slow = tokio::join!(slow(), slow(), slow());
    assert!(slow.0.is_ok() && slow.1.is_ok() && slow.2.is_ok());
    let meter = format!("{}.textContent", card("tours", ".meter.bad .value"));
    browser
        .until(&format!("{meter}.replaceAll('\\u00a0', ' ') === '60 %, limit 70 %'"))
        .await;
    let by_failures = format!("{}.hidden", card("tours", ".meter.failed"));
    assert_eq!(browser.read(&by_failures).await, true);
    for drawn in [".limit.bad", ".line.bad"] {
        let length = format!("{}.getAttribute('d').length > 0", card("tours", drawn));
        browser.until(&length).await;
    }
    let title = browser
        .text(&format!("{}.textContent", card("tours", ".chart title")))
        .await;
    assert!(title.contains("Rate of either now 60 %, threshold 70 %"), "{title}");

    bad(&tours, 1, io::ErrorKind::ConnectionRefused).await;
    browser
        .until(&format!("{}.dataset.state === 'open'", card("tours", "").trim()))
        .await;
    let why = browser.text(&format!("{}.innerText", card("tours", ".why"))).await;
    let told = "too many calls failed or were slow: 40 % failed, 30 % were slow, 70 % either of 10; limit 70 %";
    assert!(why.contains(told), "{why}");
    browser.picture("page-either", false).await;
    browser.close().await;
}

#[tokio::test]
async fn the_numbers_stand_with_their_places_and_the_strip_with_its_threshold() {
    let Some(browser) = Browser::open(1000, 800, false).await else {
        return;
    };
    let runtime = runtime(POLICY);
    let site = Site::start(Admin::new(runtime.clone()));
    browser.visit(&format!("{}/page", site.address)).await;
    open_payrail(&runtime).await;
    browser
        .until(&format!("{}.dataset.state === 'open'", card("payrail", "").trim()))
        .await;

    browser.click(".detail summary").await;
    browser.until("document.querySelector('.detail td.number')").await;
    let rows =
        "[...document.querySelectorAll('.detail tr')].map((row) => row.innerText.replaceAll('\\t', ' ')).join('\\n')";
    let numbers = browser.text(rows).await;
    assert!(
        numbers.contains("breaker.cooldown 30s") && numbers.contains(":14 own"),
        "{numbers}"
    );
    assert!(numbers.contains("breaker.cooldown_factor 2"), "{numbers}");
    assert!(numbers.contains("closed → open"), "{numbers}");

    // The threshold is drawn, and the change of state is marked.
    browser
        .until(&format!(
            "{}.getAttribute('d').length > 0",
            card("payrail", ".limit.failed")
        ))
        .await;
    browser.until(&card("payrail", ".mark.open")).await;
    let title = browser
        .text(&format!("{}.textContent", card("payrail", ".chart title")))
        .await;
    assert!(title.contains("threshold 50 %"), "{title}");
    browser.close().await;
}

#[tokio::test]
async fn of_forty_the_worst_come_first_and_the_healthy_are_one_line() {
    let Some(browser) = Browser::open(1280, 900, true).await else {
        return;
    };
    let mut policy = POLICY.to_owned();
    for name in ["search", "mail", "stock"]
        .into_iter()
        .map(str::to_owned)
        .chain((0..36).map(|n| format!("shard-{n:02}")))
    {
        write!(
            policy,
            "[dependency.{name}]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker.window = \"20 calls\"\n"
        )
        .expect("a text grows");
        policy += "bulkhead.max_concurrent = 5\n";
    }
    let runtime = runtime(&policy);
    for name in runtime.snapshot().dependencies.keys() {
        good(&guard(&runtime, name), 20).await;
    }
    open_payrail(&runtime).await;
    bad(&guard(&runtime, "stock"), 6, io::ErrorKind::TimedOut).await;
    let hand = Override::new(
        Mode::Isolate,
        "kim",
        "provider announced maintenance",
        Duration::from_secs(3590),
    );
    runtime.set_mode("search", hand).expect("a good override");
    let site = Site::start(acting(&runtime));
    browser.visit(&format!("{}/page", site.address)).await;

    let names = "[...document.querySelectorAll('.card')].map((one) => one.dataset.name).join(' ')";
    assert_eq!(browser.text(names).await, "payrail search stock");
    assert_eq!(
        browser.text("document.getElementById('well-title').textContent").await,
        "37 at work, nothing to see"
    );
    assert_eq!(
        browser.text("document.getElementById('verdict').textContent").await,
        "payrail and search refuse calls. 1 other needs a look."
    );
    let by_hand = browser
        .text(&format!("{}.textContent", card("search", ".by-hand")))
        .await;
    assert!(
        by_hand.contains("isolate by kim: provider announced maintenance. Ends in 59 min"),
        "{by_hand}"
    );

    // By keyboard alone: to the filter, to a healthy one, and back.
    browser.press("/").await;
    assert_eq!(browser.read("document.activeElement.id").await, "filter");
    browser.press("shard-07").await;
    browser
        .until("document.getElementById('well-title').textContent.startsWith('1 at')")
        .await;
    browser.press("\u{e004}\u{e007}").await; // Tab, Enter
    browser.press("\u{e004}").await;
    assert_eq!(
        browser
            .read("document.activeElement.closest('summary, button')?.id ?? ''")
            .await,
        ""
    );
    browser
        .until("document.querySelectorAll('#well-list li').length === 1")
        .await;
    browser.click("#well-list button").await;
    browser.until(&card("shard-07", ".state")).await;

    browser.read("(document.getElementById('filter').value = '', document.getElementById('filter').dispatchEvent(new Event('input')))").await;
    browser.picture("page-forty", true).await;
    browser.close().await;
}

#[tokio::test]
async fn a_thousand_are_quick_to_read_and_light_to_draw() {
    let Some(browser) = Browser::open(1280, 900, false).await else {
        return;
    };
    let mut policy = String::from("version = 1\n[defaults]\ntimeout = \"1s\"\nbreaker.window = \"20 calls\"\n");
    for n in 0..1000 {
        write!(policy, "[dependency.shard-{n:04}]\nfail = \"open\"\n").expect("a text grows");
    }
    let runtime = runtime(&policy);
    for n in (0..1000).step_by(100) {
        bad(&guard(&runtime, &format!("shard-{n:04}")), 20, io::ErrorKind::TimedOut).await;
    }
    let site = Site::start(Admin::new(runtime.clone()));
    let begun = Instant::now();
    browser.visit(&format!("{}/page", site.address)).await;
    let took = begun.elapsed();
    assert_eq!(browser.read("document.querySelectorAll('.card').length").await, 10);
    assert_eq!(
        browser.text("document.getElementById('well-title').textContent").await,
        "990 at work, nothing to see"
    );
    // What nobody looks at is not there.
    let elements = browser.read("document.querySelectorAll('*').length").await;
    assert!(
        elements.as_u64().is_some_and(|elements| elements < 1_500),
        "{elements} elements"
    );

    browser.click("#well-title").await;
    browser
        .until("document.querySelectorAll('#well-list li').length === 200")
        .await;
    assert_eq!(
        browser.text("document.getElementById('more-well').textContent").await,
        "790 more; filter by name to see them"
    );
    browser.fill("#filter", "0777").await;
    browser
        .until("document.querySelectorAll('#well-list li').length === 1")
        .await;
    eprintln!("a thousand: first frame on the screen after {took:?}, {elements} elements");
    browser.close().await;
}

#[tokio::test]
async fn a_hand_is_set_and_taken_off_with_the_token_and_not_without() {
    let Some(browser) = Browser::open(390, 844, false).await else {
        return;
    };
    let runtime = runtime(POLICY);
    open_payrail(&runtime).await;
    let site = Site::start(acting(&runtime));
    browser.visit(&format!("{}/page", site.address)).await;
    browser.picture("page-phone", false).await;
    let mode = || runtime.snapshot().dependency("payrail").expect("known").mode;
    // On a phone nothing is wider than the screen.
    assert_eq!(
        browser
            .read("document.documentElement.scrollWidth > window.innerWidth")
            .await,
        false
    );

    browser.click("[aria-label='Isolate payrail']").await;
    browser.fill("#hand-token", "a-token-that-is-quite-wrong").await;
    browser.fill("#hand-by", "kim").await;
    browser.press("\u{e007}").await;
    browser
        .until("document.getElementById('hand-error').textContent === 'a reason is missing'")
        .await;
    browser
        .fill("#hand-reason", "provider <b>announced</b> maintenance")
        .await;
    browser.press("\u{e007}").await;
    browser
        .until("document.getElementById('hand-error').textContent.includes('token')")
        .await;
    assert_eq!(mode(), "enforce");

    browser.read("document.getElementById('hand-token').value = ''").await;
    browser.fill("#hand-token", TOKEN).await;
    browser.fill("#hand-answer", "delayed").await;
    browser.picture("page-hand", false).await;
    browser.click("#hand-do").await;
    browser.until("!document.getElementById('hand').open").await;
    browser
        .until(&format!(
            "{}.textContent === 'isolated by hand: calls refused'",
            card("payrail", ".state")
        ))
        .await;
    let hand = runtime
        .snapshot()
        .dependency("payrail")
        .and_then(|payrail| payrail.overridden.clone())
        .expect("set");
    assert_eq!((hand.by.as_str(), hand.answer.as_deref()), ("kim", Some("delayed")));
    let shown = browser
        .text(&format!("{}.textContent", card("payrail", ".by-hand")))
        .await;
    assert!(shown.contains("provider <b>announced</b> maintenance"), "{shown}");

    browser.click("[aria-label='Restore payrail']").await;
    browser.fill("#hand-reason", "it is over").await;
    browser.click("#hand-do").await;
    browser
        .until("document.querySelector('[data-kind=\"override.cleared\"]')")
        .await;
    assert_eq!(mode(), "enforce");
    let last = browser
        .text("document.getElementById('journal').children[0].textContent")
        .await;
    assert!(last.contains("isolate taken off by kim: it is over"), "{last}");
    browser.close().await;
}

#[tokio::test]
async fn a_refused_policy_is_told_with_its_message() {
    let Some(browser) = Browser::open(1000, 800, false).await else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("resilience.toml");
    std::fs::write(&file, POLICY).expect("written");
    // The process's own runtime is watched; this test is the only one here that installs one.
    let _resilience = resilience_runtime::init_from(&file).expect("a good policy");
    let site = Site::start(Admin::new(Runtime::current()));
    browser.visit(&format!("{}/page", site.address)).await;
    assert_eq!(browser.read("document.getElementById('refusal').hidden").await, true);

    std::fs::write(&file, POLICY.replace("failure_rate  = 0.5", "failure_rate  = 5.0")).expect("written");
    browser.until("!document.getElementById('refusal').hidden").await;
    let told = browser
        .text("document.getElementById('refusal-text').textContent")
        .await;
    assert!(told.contains("failure_rate") && told.contains(":13:"), "{told}");
    browser
        .until("document.querySelector('[data-kind=\"policy.refused\"]')")
        .await;

    std::fs::write(&file, POLICY.replace("failure_rate  = 0.5", "failure_rate  = 0.25")).expect("written");
    browser.until("document.getElementById('refusal').hidden").await;
    browser
        .until("document.querySelector('[data-kind=\"policy.reloaded\"]')")
        .await;
    let failed = format!(
        "{}.textContent.includes('limit 25')",
        card("payrail", ".meter.failed .value")
    );
    browser.until(&failed).await;
    browser.close().await;
}

#[tokio::test]
async fn a_page_without_news_says_so() {
    let Some(browser) = Browser::open(1000, 800, false).await else {
        return;
    };
    let runtime = runtime(POLICY);
    let site = Site::start(Admin::new(runtime));
    browser.visit(&format!("{}/page", site.address)).await;
    browser
        .until("document.getElementById('link').textContent === 'live'")
        .await;
    drop(site);
    browser
        .until("document.getElementById('link').textContent.startsWith('no word from the service')")
        .await;
    assert_eq!(
        browser.read("document.body.hasAttribute('data-lost')").await,
        json!(true)
    );
    browser.close().await;
}

#[tokio::test]
async fn the_instance_that_differs_is_named_with_since_when_and_a_lost_redis_is_told() {
    let Some(browser) = Browser::open(1000, 800, false).await else {
        return;
    };
    let Some(mut redis) = Redis::start() else { return };
    let mut sites = Vec::new();
    for name in ["api-01", "api-02"] {
        let runtime =
            runtime(&POLICY.replace("version = 1", &format!("version = 1\n[runtime]\ninstance = \"{name}\"")));
        let fleet = Fleet::new(&redis.url())
            .expect("an address")
            .interval(Duration::from_millis(300));
        sites.push((Site::start(Admin::new(runtime.clone()).fleet(fleet)), runtime));
    }
    open_payrail(&sites[1].1).await;
    browser.visit(&format!("{}/page", sites[0].0.address)).await;
    let fleet = "document.getElementById('fleet').textContent";
    browser
        .until(&format!(
            "{fleet}.includes('api-02 differs: payrail open (here closed) for ')"
        ))
        .await;
    let elsewhere = card("payrail", ".elsewhere");
    browser
        .until(&format!(
            "{elsewhere}.textContent.startsWith('Elsewhere: api-02 open, differs for ')"
        ))
        .await;

    redis.kill();
    browser.until(&format!("{fleet}.includes('nothing heard for')")).await;
    browser.until(&format!("{elsewhere}.hidden")).await;
    assert_eq!(
        browser.text("document.getElementById('link').textContent").await,
        "live"
    );
    browser.close().await;
}

/// What a store would carry from one instance to the other is carried by hand.
#[tokio::test]
async fn a_quiet_breaker_tells_what_of_its_evidence_is_its_own() {
    let Some(browser) = Browser::open(1000, 800, false).await else {
        return;
    };
    let here = "breaker = { window = \"1h\", minimum_calls = 6 }";
    let text = |name: &str| {
        let runtime = format!("version = 1\n[runtime]\ninstance = \"{name}\"\n");
        format!("{runtime}[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\n{here}\n")
    };
    let (here, there) = (runtime(&text("api-01")), runtime(&text("api-02")));
    let site = Site::start(Admin::new(here.clone()));
    browser.visit(&format!("{}/page", site.address)).await;
    bad(&guard(&there, "payrail"), 3, io::ErrorKind::ConnectionRefused).await;
    here.pool(&[there.counted()]);
    let payrail = card("payrail", "");
    let too_few = "3 of 6 calls, 3 of them on api-02: too few to judge";
    let page = "document.body.textContent";
    browser.until(&format!("{page}.includes('{too_few}')")).await;

    bad(&guard(&here, "payrail"), 3, io::ErrorKind::ConnectionRefused).await;
    here.pool(&[]);
    let why = "here 3 of 3, in all 2 instances 6 of 6";
    browser.until(&format!("{payrail}.textContent.includes('{why}')")).await;
    browser.close().await;
}
