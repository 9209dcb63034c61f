//! The decisions of the literature, as attributes: what fails closed refuses, what fails open answers. That the closed
//! ones can do nothing else is `misuse/fail_closed.rs`.

use resilience_runtime::{Failure, Freshness, Rejection, Served, breaker, fallback, testing};

use crate::kit::{AppError, Res, block_on, tick};

// ---- closed: an error, in one form or the other

fn refusal(rejection: Rejection) -> AppError {
    AppError::Shed(format!("later: {rejection}"))
}

#[breaker("authentication")]
#[fallback(none = "who cannot be checked is not let in")]
async fn is_who_he_says(token: &str) -> Res<bool> {
    tick().await;
    Ok(token.len() > 3)
}

#[breaker("authorisation")]
#[fallback(none = "who cannot be checked is not let in")]
async fn may(token: &str) -> Res<bool> {
    tick().await;
    Ok(token.len() > 3)
}

#[breaker("payment")]
#[fallback(refuse = refusal)]
async fn charge(cents: u32) -> Res<u32> {
    tick().await;
    Ok(cents)
}

#[breaker("fraud-limits")]
#[fallback(refuse = refusal)]
async fn is_suspicious(card: &str) -> Res<bool> {
    tick().await;
    Ok(card.is_empty())
}

#[breaker("quota")]
#[fallback(none = "no quota, no service")]
async fn has_quota(tenant: &str) -> Res<bool> {
    tick().await;
    Ok(!tenant.is_empty())
}

#[breaker("primary-database")]
#[fallback(none = "the request fails")]
async fn write(row: &str) -> Res<()> {
    tick().await;
    drop(row.to_owned());
    Ok(())
}

// ---- open: something lesser

#[breaker("fairness-limiter")]
#[fallback(value = true)]
async fn may_pass(tenant: u32) -> Res<bool> {
    tick().await;
    Ok(tenant == 0)
}

#[breaker("flags")]
#[fallback(stale(key = flag))]
#[fallback(value = flag == "compiled in")]
async fn flag(flag: &str) -> Res<bool> {
    tick().await;
    Ok(!flag.is_empty())
}

#[breaker("personalisation")]
#[fallback(value = "everybody".to_owned())]
async fn variant(user: u32) -> Res<String> {
    tick().await;
    Ok(format!("user {user}"))
}

#[breaker("analytics")]
#[fallback(value = ())]
async fn track(what: &str) -> Res<()> {
    tick().await;
    drop(what.to_owned());
    Ok(())
}

async fn plain(id: u32) -> Res<(u32, Option<String>)> {
    Ok((id, None))
}

#[breaker("enrichment")]
#[fallback(plain)]
async fn enriched(id: u32) -> Res<(u32, Option<String>)> {
    tick().await;
    Ok((id, Some("more".to_owned())))
}

async fn from_the_source(key: u32) -> Res<u32> {
    Ok(key + 1_000)
}

#[breaker("cache")]
#[fallback(from_the_source, one_per = key)]
#[fallback(stale(key = key))]
async fn cached(key: u32) -> Res<u32> {
    tick().await;
    Ok(key)
}

#[breaker("stock")]
#[fallback(stale(key = article))]
async fn stock(article: u32) -> Res<Served<u32>> {
    tick().await;
    Ok(Served::fresh(article * 2))
}

async fn simple_filter(words: &str, _: Failure<AppError>) -> Res<Vec<usize>> {
    Ok(vec![words.len()])
}

#[breaker("search")]
#[fallback(with = simple_filter)]
async fn search(words: &str) -> Res<Vec<usize>> {
    tick().await;
    Ok(vec![words.len(), 7])
}

#[breaker("avatars")]
#[fallback(value = name[..1].to_owned())]
async fn avatar(name: &str) -> Res<String> {
    tick().await;
    Ok(format!("picture of {name}"))
}

#[test]
fn lo_27_lo_30_what_fails_closed_refuses_in_every_state() {
    block_on(async {
        assert_eq!(is_who_he_says("token").await, Ok(true));
        let closed = [
            "authentication",
            "authorisation",
            "payment",
            "fraud-limits",
            "quota",
            "primary-database",
        ];
        for dependency in &closed {
            testing::trip(dependency);
        }
        assert!(matches!(is_who_he_says("token").await, Err(AppError::Shed(_))));
        assert!(matches!(may("token").await, Err(AppError::Shed(_))));
        assert!(matches!(charge(7).await, Err(AppError::Shed(text)) if text.starts_with("later: ")));
        assert!(matches!(is_suspicious("4242").await, Err(AppError::Shed(_))));
        assert!(matches!(has_quota("acme").await, Err(AppError::Shed(_))));
        assert!(matches!(write("row").await, Err(AppError::Shed(_))));
    });
}

#[test]
fn rt_r15_what_fails_open_answers_with_something_lesser() {
    block_on(async {
        assert_eq!(
            (flag("dark mode").await, stock(4).await),
            (Ok(true), Ok(Served::fresh(8)))
        );
        let open = [
            "fairness-limiter",
            "flags",
            "personalisation",
            "analytics",
            "enrichment",
            "cache",
            "stock",
            "search",
            "avatars",
        ];
        for dependency in &open {
            testing::trip(dependency);
        }
        assert_eq!((may_pass(1).await, track("a click").await), (Ok(true), Ok(())));
        assert_eq!(
            (flag("dark mode").await, flag("compiled in").await),
            (Ok(true), Ok(true))
        );
        assert_eq!(flag("unseen").await, Ok(false));
        assert_eq!(variant(7).await, Ok("everybody".to_owned()));
        assert_eq!(enriched(3).await, Ok((3, None)));
        assert_eq!(cached(5).await, Ok(1_005));
        let last = stock(4).await.unwrap();
        assert_eq!(last.value, 8);
        assert!(matches!(last.freshness, Freshness::Stale { .. }));
        assert_eq!(search("two words").await, Ok(vec![9]));
        assert_eq!(avatar("Ada").await, Ok("A".to_owned()));
    });
}
