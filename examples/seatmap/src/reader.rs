//! Seat maps, read through the cache: with guards, and without.

use redis::aio::ConnectionManager;
use resilience_runtime::{Failure, Served, breaker, bulkhead, fallback};
use sqlx::PgPool;

use crate::error::ReadError;
use crate::stores;

/// Shows of tonight, whose maps are worth keeping; all else is read once and never again.
pub(crate) const TONIGHT: u32 = 5;

/// What the operator's hand tells the fallback, beside the mode.
pub(crate) const SPARE: &str = "spare the database";

/// The reader that this is about.
#[derive(Clone)]
pub(crate) struct Guarded {
    pub(crate) redis: ConnectionManager,
    pub(crate) database: PgPool,
}

impl Guarded {
    pub(crate) async fn seat_map(&self, show: u32) -> Result<Served<String>, ReadError> {
        match self.cached(show).await {
            Err(ReadError::NotCached) => {
                let map = self.ask_box_office(show).await?;
                if show <= TONIGHT {
                    // A cache that cannot be written is a matter of its breaker, not of the reader.
                    let _ = self.remember(show, &map).await;
                }
                Ok(Served::fresh(map))
            }
            answer => answer,
        }
    }

    /// Without Redis: from the database while it has room, one read a show at a time; else the map as it was.
    #[breaker("redis")]
    #[bulkhead]
    #[fallback(with = Self::instead, one_per = show)]
    #[fallback(stale(key = show))]
    #[fallback(none = "the seat map is greyed out for a moment")]
    async fn cached(&self, show: u32) -> Result<Served<String>, ReadError> {
        let map = stores::get(&self.redis, "guarded", show).await?;
        map.map(Served::fresh).ok_or(ReadError::NotCached)
    }

    async fn instead(&self, show: u32, why: Failure<ReadError>) -> Result<Served<String>, ReadError> {
        if why.rejection().and_then(|refused| refused.answer()) == Some(SPARE) {
            return Err(ReadError::Spared);
        }
        self.ask_box_office(show).await.map(Served::fresh)
    }

    #[breaker("redis")]
    #[bulkhead]
    #[fallback(none = "the next reader of this show asks the database again")]
    async fn remember(&self, show: u32, map: &str) -> Result<(), ReadError> {
        Ok(stores::set(&self.redis, "guarded", show, map).await?)
    }

    /// Every read of the database goes through here, whoever wants it.
    #[breaker("database")]
    #[bulkhead]
    #[fallback(none = "nobody makes up which seats are free")]
    async fn ask_box_office(&self, show: u32) -> Result<String, ReadError> {
        Ok(stores::select(&self.database, show).await?)
    }
}

/// The same without guards, as it is mostly written: what Redis does not give is asked of the database.
#[derive(Clone)]
pub(crate) struct Twin {
    pub(crate) redis: ConnectionManager,
    pub(crate) database: PgPool,
}

impl Twin {
    // resilience: unguarded, because the twin shows what becomes of those who are
    pub(crate) async fn seat_map(&self, show: u32) -> Result<String, ReadError> {
        if let Ok(Some(map)) = stores::get(&self.redis, "twin", show).await {
            return Ok(map);
        }
        let map = stores::select(&self.database, show).await?;
        if show <= TONIGHT {
            let _ = stores::set(&self.redis, "twin", show, &map).await;
        }
        Ok(map)
    }
}
