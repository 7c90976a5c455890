//! The web page of the rooms, and the surface on which people talk in them.
//!
//! It shows a room as it happens (lines, who types, what the floor waits for and for how much longer, what is owed, each
//! decision with its why) and hands what people write to the gateway's intake. It draws on three ports only, [`RoomReader`] for
//! what is shown, [`Intake`](crate::ports::Intake) for what is said and [`Mutes`](crate::ports::Mutes) for an owner's hush.
//!
//! It must not write to the ledger by any other way, decide who may speak, load any asset from elsewhere, put text of people
//! into a log line, or trust a name: who somebody is comes from a signed cookie or a token file, never from what they typed.

mod assets;
mod door;
mod fault;
mod feed;
mod fold;
mod guard;
mod hush;
mod keys;
mod limit;
mod line;
mod look;
mod names;
mod page;
mod panel;
mod program;
mod reader;
mod room;
mod speak;
mod visitors;
mod words;

pub use keys::{Caller, KeyError, Keys, OwnerLink};
pub use reader::{Door, Logged, ReadError, RoomFacts, RoomReader, Typist};

use std::{future::IntoFuture, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{HeaderMap, StatusCode},
    middleware,
    routing::{get, post},
    serve::ListenerExt,
};
use tokio::{net::TcpListener, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::ports::{Intake, Mutes};

/// The longest request: a line of 4,000 characters has at most 16,000 bytes, a form may write each as three, and the ids around
/// it need little. A smaller bound would refuse long lines of scripts that take three bytes a character.
const BODY_MAX: usize = 50 * 1024;

/// What is under way at a stop is given this long; event streams end at once.
const STOP: Duration = Duration::from_secs(3);

/// What the console needs to run.
pub struct Console {
    /// What is shown.
    pub reader: Arc<dyn RoomReader>,
    /// Where lines of people go.
    pub intake: Arc<dyn Intake>,
    /// Hushes rooms on their owner's word.
    pub mutes: Arc<dyn Mutes>,
    /// Signs the cookies and knows the local tokens.
    pub keys: Keys,
    /// The link that makes its opener the owner.
    pub owner: OwnerLink,
}

/// The console cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The listener has no address, so that the Host header cannot be checked.
    #[error("the console's listener has no address to check requests against: {0}; start it again on another port")]
    Address(#[source] std::io::Error),
    /// The server ended by itself.
    #[error("the console's server ended: {0}")]
    Serve(#[source] std::io::Error),
}

/// What every request may use.
struct App {
    reader: Arc<dyn RoomReader>,
    intake: Arc<dyn Intake>,
    mutes: Arc<dyn Mutes>,
    keys: Keys,
    owner: OwnerLink,
    hosts: guard::Hosts,
    names: names::Names,
    limits: limit::Limits,
    streams: Arc<feed::Streams>,
    shutdown: CancellationToken,
}

impl App {
    fn holder(&self, headers: &HeaderMap) -> visitors::Holder {
        visitors::Holder::of(headers, &self.keys, self.reader.now())
    }
}

/// Serves the console on `listener` until `shutdown`, then ends every event stream, gives what is under way a few seconds and
/// returns. Requests are answered only under the names of this machine with the listener's own port.
pub async fn serve(listener: TcpListener, console: Console, shutdown: CancellationToken) -> Result<(), ConsoleError> {
    let address = listener.local_addr().map_err(ConsoleError::Address)?;
    let Console { reader, intake, mutes, keys, owner } = console;
    let app = Arc::new(App {
        reader,
        intake,
        mutes,
        keys,
        owner,
        hosts: guard::Hosts::of(address),
        names: names::Names::default(),
        limits: limit::Limits::default(),
        streams: Arc::default(),
        shutdown: shutdown.clone(),
    });
    // Events are small and must not wait for more to come.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection of the console could not be set to send at once");
        }
    });
    let server = axum::serve(listener, routes(app)).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let patience = async {
        shutdown.cancelled().await;
        sleep(STOP).await;
    };
    tokio::select! {
        ended = server.into_future() => ended.map_err(ConsoleError::Serve),
        () = patience => Ok(()),
    }
}

fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(look::rooms))
        .route("/owner", get(look::owner).post(look::become_owner))
        .route("/rooms/{name}", get(look::room))
        .route("/rooms/{name}/events", get(look::events))
        .route("/rooms/{name}/enter", post(speak::enter))
        .route("/rooms/{name}/lines", post(speak::say))
        .route("/rooms/{name}/acts", post(speak::press))
        .route("/rooms/{name}/typing", post(speak::typing))
        .route("/api/rooms/{name}/lines", post(program::say))
        .route("/api/rooms/{name}/mute", post(hush::mute))
        .route("/api/rooms/{name}/unmute", post(hush::unmute))
        .route("/assets/{name}", get(assets::serve))
        .fallback(|| async { fault::Fault::new(StatusCode::NOT_FOUND, "There is no such page.").answer(false) })
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}
