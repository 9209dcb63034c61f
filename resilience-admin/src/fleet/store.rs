//! The Redis: one key for each instance, which ends by itself, and a set of who there is.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult};
use tokio::time::timeout;

pub(crate) struct Store {
    client: Client,
    config: AsyncConnectionConfig,
    connection: Option<MultiplexedConnection>,
    me: String,
    /// Braces keep all keys of a fleet in one slot of a cluster.
    prefix: String,
}

impl Store {
    pub(crate) fn new(client: Client, name: &str, me: &str, patience: Duration) -> Self {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(patience))
            .set_response_timeout(Some(patience));
        Self {
            client,
            config,
            connection: None,
            me: me.to_owned(),
            prefix: format!("resilience:{{{name}}}"),
        }
    }

    /// Publishes `mine` and gives what the others published. One try: the next interval is the next one.
    ///
    /// # Cancel safety
    ///
    /// A connection whose exchange was dropped is dropped too: its answers would be read by the next.
    pub(crate) async fn exchange(&mut self, mine: &str, kept: Duration) -> RedisResult<Vec<String>> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                self.client
                    .get_multiplexed_async_connection_with_config(&self.config)
                    .await?
            }
        };
        let kept = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX);
        let (set, key) = (self.set(), self.key(&self.me));
        let (known,): (Vec<String>,) = redis::pipe()
            .cmd("SET")
            .arg(key)
            .arg(mine)
            .arg("PX")
            .arg(kept)
            .ignore()
            .cmd("SADD")
            .arg(&set)
            .arg(&self.me)
            .ignore()
            .cmd("PEXPIRE")
            .arg(&set)
            .arg(kept.saturating_mul(2))
            .ignore()
            .cmd("SMEMBERS")
            .arg(&set)
            .query_async(&mut connection)
            .await?;
        let others: Vec<_> = known.into_iter().filter(|id| *id != self.me).collect();
        if others.is_empty() {
            self.connection = Some(connection);
            return Ok(Vec::new());
        }
        let keys: Vec<_> = others.iter().map(|id| self.key(id)).collect();
        let found: Vec<Option<String>> = redis::cmd("MGET").arg(keys).query_async(&mut connection).await?;
        let gone: Vec<_> = others
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|(id, _)| id)
            .collect();
        if !gone.is_empty() {
            let _: () = redis::cmd("SREM")
                .arg(&set)
                .arg(gone)
                .query_async(&mut connection)
                .await?;
        }
        self.connection = Some(connection);
        Ok(found.into_iter().flatten().collect())
    }

    /// Who ends in order is not missed for three intervals.
    pub(crate) async fn leave(mut self, patience: Duration) {
        if let Some(connection) = &mut self.connection {
            let (set, key) = (
                format!("{}:instances", self.prefix),
                format!("{}:{}", self.prefix, self.me),
            );
            let mut pipe = redis::pipe();
            pipe.cmd("DEL")
                .arg(key)
                .ignore()
                .cmd("SREM")
                .arg(set)
                .arg(&self.me)
                .ignore();
            let left = pipe.query_async::<()>(connection);
            // Nobody is left to be told; the key ends by itself.
            let _ = timeout(patience, left).await;
        }
    }

    fn set(&self) -> String {
        format!("{}:instances", self.prefix)
    }

    fn key(&self, id: &str) -> String {
        format!("{}:{id}", self.prefix)
    }
}
