//! What is mounted, and with what.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use resilience_runtime::{Runtime, UnknownDependency};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::board::Board;
#[cfg(feature = "record")]
use crate::calls::{self, Calls};
#[cfg(feature = "fleet")]
use crate::fleet::{Fleet, View};
use crate::gate::{Gate, Token, WeakToken};
use crate::{detail, exposition, feed, hand, health, page};

/// An act is a few lines of text; nobody needs more.
const LARGEST_BODY: usize = 16 * 1024;

/// The page and all that is beside it, for `runtime`: read-only, ready whatever happens, without metrics.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use resilience_runtime::{Policy, Runtime};
/// let runtime = Runtime::new(Policy::from_toml("version = 1")?);
/// let app: axum::Router = axum::Router::new().nest("/admin", resilience_admin::router(runtime));
/// # Ok(()) }
/// ```
///
/// `S` is whatever state the router around it has.
pub fn router<S: Clone + Send + Sync + 'static>(runtime: Runtime) -> Router<S> {
    Admin::new(runtime).router()
}

/// What the router gets to work with.
///
/// Its paths are relative to where it is mounted: `nest("/admin", …)`, `nest("/", …)`, `merge(…)` and a proxy that strips a
/// prefix all do. It adds no fallback and sets its headers on its own answers only.
///
/// A task of its own takes a snapshot once a second, for the last two minutes of history; no guarded call waits for it,
/// and it ends with the router. It begins with [`router`](Self::router), or with the first request where that is called
/// outside tokio.
#[must_use = "nothing is served until `router` is called and mounted"]
pub struct Admin {
    runtime: Runtime,
    gate: Gate,
    ready: Vec<String>,
    metrics: Option<Render>,
    until: Option<watch::Receiver<bool>>,
    #[cfg(feature = "record")]
    calls: Option<Calls>,
    #[cfg(feature = "fleet")]
    fleet: Option<Fleet>,
}

pub(crate) type Render = Arc<dyn Fn() -> String + Send + Sync>;

/// What every handler may use.
pub(crate) struct Shared {
    pub(crate) runtime: Runtime,
    pub(crate) gate: Gate,
    pub(crate) ready: Vec<String>,
    pub(crate) metrics: Option<Render>,
    pub(crate) board: Board,
    pub(crate) until: Option<watch::Receiver<bool>>,
    #[cfg(feature = "record")]
    pub(crate) calls: Option<Calls>,
    started: AtomicBool,
    #[cfg(feature = "fleet")]
    fleet: (Option<Fleet>, Arc<View>),
}

impl Admin {
    /// Shows `runtime`; a service passes [`Runtime::current`] after `init`.
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            gate: Gate::default(),
            ready: Vec::new(),
            metrics: None,
            until: None,
            #[cfg(feature = "record")]
            calls: None,
            #[cfg(feature = "fleet")]
            fleet: None,
        }
    }

    /// Who sends this token, as `Authorization: Bearer …`, may set modes. There is none by default, and without one nobody
    /// may.
    ///
    /// # Errors
    ///
    /// When it is shorter than 16 bytes, longer than 256, or has other than visible ASCII characters.
    pub fn token(mut self, token: impl AsRef<str>) -> Result<Self, WeakToken> {
        self.gate.token = Some(Token::new(token.as_ref())?);
        Ok(self)
    }

    /// An origin, as `https://ops.example`, whose pages may act beside those that the router serves itself: for a proxy
    /// that changes the `Host`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.gate.origins.push(origin.into());
        self
    }

    /// The dependencies without which this process is of no use: `ready` fails while one of them refuses calls. All
    /// others may be down.
    ///
    /// # Errors
    ///
    /// When the policy has no such name.
    pub fn ready<N: AsRef<str>>(mut self, names: impl IntoIterator<Item = N>) -> Result<Self, UnknownDependency> {
        for name in names {
            // A guard marks the name as used, so that a reload which loses it is refused.
            self.runtime.guard(name.as_ref())?;
            self.ready.push(name.as_ref().to_owned());
        }
        Ok(self)
    }

    /// What `metrics` answers: the text of whatever exporter the service has, rendered anew for each request.
    pub fn metrics(mut self, render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics = Some(Arc::new(render));
        self
    }

    /// Ends all streams once the value is `true` or its sender is gone, so that a graceful shutdown does not
    /// wait for open pages.
    pub fn until(mut self, stop: watch::Receiver<bool>) -> Self {
        self.until = Some(stop);
        self
    }

    /// Lets single calls be recorded, by `resilience record` or whoever reads `calls`: at most four readers at once, and
    /// where there is a [`token`](Self::token), only who has it. While nobody reads, no call takes an instruction more.
    ///
    /// A call shows when it began, how long it took, how it ended, its function and, where slots are counted by key, a
    /// hash of the key that says nothing outside of this process.
    #[cfg(feature = "record")]
    #[cfg_attr(docsrs, doc(cfg(feature = "record")))]
    pub fn record(mut self) -> Self {
        self.calls = Some(Calls::new());
        self
    }

    /// Shows the other instances that differ from this one. Where the policy has a `[fleet]` table, that counts instead,
    /// and its edits do while the service runs.
    #[cfg(feature = "fleet")]
    #[cfg_attr(docsrs, doc(cfg(feature = "fleet")))]
    pub fn fleet(mut self, fleet: Fleet) -> Self {
        self.fleet = Some(fleet);
        self
    }

    /// The router.
    pub fn router<S: Clone + Send + Sync + 'static>(self) -> Router<S> {
        let board = Board::new(self.gate.token.is_some());
        #[cfg(feature = "fleet")]
        let view = Arc::new(View::default());
        #[cfg(feature = "fleet")]
        if self.fleet.is_some() || self.runtime.policy().fleet().is_some() {
            view.meets();
        }
        #[cfg(feature = "fleet")]
        let board = board.with_fleet(Arc::clone(&view));
        let shared = Arc::new(Shared {
            board,
            runtime: self.runtime,
            gate: self.gate,
            ready: self.ready,
            metrics: self.metrics,
            until: self.until,
            #[cfg(feature = "record")]
            calls: self.calls,
            started: AtomicBool::new(false),
            #[cfg(feature = "fleet")]
            fleet: (self.fleet, view),
        });
        let mut router = Router::new()
            .route("/", get(page::lead))
            .route("/snapshot", get(detail::snapshot))
            .route("/dependency/{name}", get(detail::dependency))
            .route("/events", get(feed::events))
            .route("/fleet", get(detail::fleet))
            .route("/metrics", get(exposition::metrics))
            .route("/live", get(health::live))
            .route("/ready", get(health::ready))
            .route("/override", post(hand::set))
            .route("/restore", post(hand::restore))
            .layer(DefaultBodyLimit::max(LARGEST_BODY));
        #[cfg(feature = "record")]
        {
            router = router.route("/calls", get(calls::calls));
        }
        for asset in &page::ASSETS {
            router = router.route(asset.path, get(move || async move { page::serve(asset) }));
        }
        // The history begins with the mount where there is a runtime to run it on, else with the first request.
        shared.start();
        router
            .layer(middleware::from_fn_with_state(Arc::clone(&shared), start))
            .layer(middleware::map_response(page::protect))
            .with_state(shared)
    }
}

impl Shared {
    fn start(self: &Arc<Self>) {
        if let (false, Ok(tokio)) = (self.started.load(Ordering::Relaxed), Handle::try_current())
            && !self.started.swap(true, Ordering::Relaxed)
        {
            tokio.spawn(feed::look(Arc::downgrade(self)));
            #[cfg(feature = "fleet")]
            {
                let (fleet, view) = &self.fleet;
                tokio.spawn(crate::fleet::share(
                    Arc::downgrade(self),
                    fleet.clone(),
                    Arc::clone(view),
                ));
            }
        }
    }
}

async fn start(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    shared.start();
    next.run(request).await
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin")
            .field("runtime", &self.runtime)
            .field("token", &self.gate.token.as_ref().map(|_| "…"))
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}
