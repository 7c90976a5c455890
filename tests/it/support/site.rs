//! A console on a free port, over the double of the rooms.

use std::{net::SocketAddr, sync::Arc};

use parlor::console::{Console, Keys, OwnerLink, serve};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{browser::DEADLINE, rooms::Rooms};

/// A console that runs.
pub(crate) struct Site {
    pub(crate) rooms: Arc<Rooms>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Path and query of the owner's link.
    pub(crate) owner: String,
    /// Its key files.
    pub(crate) folder: Arc<tempfile::TempDir>,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Site {
    pub(crate) async fn open() -> Self {
        Self::open_with(Rooms::new(), Arc::new(tempfile::tempdir().unwrap()), 0).await
    }

    async fn open_with(rooms: Arc<Rooms>, folder: Arc<tempfile::TempDir>, port: u16) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let link = OwnerLink::fresh();
        let owner = link.path();
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let console = Console {
            reader: rooms.clone(),
            intake: rooms.clone(),
            mutes: rooms.clone(),
            keys: Keys::load(folder.path()).unwrap(),
            owner: link,
        };
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(serve(listener, console, stop.clone()));
        tasks.close();
        Self { rooms, address, owner, folder, stop, tasks }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Stops it and starts it again on the same port, with the same rooms and keys. `meanwhile` runs while nobody listens.
    pub(crate) async fn restart(&mut self, meanwhile: impl AsyncFnOnce()) {
        self.stop.cancel();
        timeout(DEADLINE, self.tasks.wait()).await.expect("the console stops in time");
        meanwhile().await;
        *self = Self::open_with(self.rooms.clone(), self.folder.clone(), self.address.port()).await;
    }
}
