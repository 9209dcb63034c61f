//! A service that mounts the admin router, on a port of its own.

use std::net::TcpListener;
use std::thread::JoinHandle;

use axum::Router;
use resilience_admin::Admin;
use tokio::sync::oneshot::{self, Sender};

/// Served by a thread of its own until it is dropped: when it ends, its connections are cut, as by a kill.
#[derive(Debug)]
pub struct Site {
    /// Where the router is mounted, without a slash at the end.
    pub address: String,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    /// Serves `admin` below a path, as a service would.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub fn start(admin: Admin) -> Self {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let tokio = tokio.expect("a runtime");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a listener that does not block");
        let address = listener.local_addr().expect("it is bound");
        let address = format!("http://{address}/ops/admin");
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            tokio.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener that does not block");
                let app = Router::new().nest("/ops/admin", admin.router());
                tokio::select! {
                    served = axum::serve(listener, app) => served.expect("a listener that goes on"),
                    _ = stopped => {}
                }
            });
        };
        Self {
            address,
            stop: Some(stop),
            thread: Some(std::thread::spawn(serve)),
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of it was told when it happened.
            let _ = thread.join();
        }
    }
}
