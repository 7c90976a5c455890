//! Rooms on a real Postgres, through the real ledger and the real actor, on virtual time.
//!
//! The database's clock is the one thing that is taken from it: `parlor.now_ms` reads a number that the simulation sets. So it
//! plays only in databases of its own. One thread does everything; a draft is a call that waits until the script answers it.

mod models;
mod site;

use std::{cell::Cell, collections::BTreeMap, rc::Rc, sync::Arc, time::Duration};

use parlor_core::{Millis, Policy};
use secrecy::{ExposeSecret, SecretString};
use sqlx::{Connection, PgConnection};
use tokio::{runtime::Runtime, sync::watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    SimError, words,
    world::{World, WorldError},
};
use crate::{
    actor::{PersonaText, RoomTexts},
    ledger::{Hub, HubOptions, Label, LedgerError, Logins, Passwords, PolicyRow, Ringer},
};
use models::ScriptedModels;
use site::PostgresSite;

thread_local! {
    /// Virtual time of everything on this thread, ms.
    static NOW: Cell<Millis> = const { Cell::new(0) };
}

/// The database's own look at what no bell told: never, since the script says when a room looks.
const NO_POLL: Duration = Duration::from_hours(24);
const CLOCK: &[&str] = &[
    "create schema if not exists sim",
    "create sequence if not exists sim.clock",
    "create or replace function parlor.now_ms() returns bigint language sql volatile parallel safe return (select last_value from sim.clock)",
    "grant usage on schema sim to parlor_service, parlor_api",
    "grant select on sim.clock to parlor_service, parlor_api",
];

/// A database for simulations; a clone is the same.
#[derive(Clone)]
pub(super) struct Postgres(Rc<Base>);

struct Base {
    // The fields are dropped in this order: tasks end before the runtime that carries them.
    clock: std::cell::RefCell<PgConnection>,
    logins: Logins,
    hub: Hub,
    ringer: Ringer,
    models: Arc<ScriptedModels>,
    texts: watch::Receiver<RoomTexts>,
    tracker: TaskTracker,
    stop: CancellationToken,
    runtime: Runtime,
}

impl Drop for Base {
    fn drop(&mut self) {
        self.stop.cancel();
        self.tracker.close();
        let ended = async { tokio::time::timeout(Duration::from_secs(5), self.tracker.wait()).await };
        // What has not ended by then is dropped with the runtime.
        let _ = self.runtime.block_on(ended);
    }
}

impl Postgres {
    /// Takes a migrated database that nobody else uses.
    pub(super) fn take(url: &SecretString) -> Result<Self, SimError> {
        let lost = |e: &dyn std::fmt::Display| SimError::Lost(e.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| lost(&e))?;
        let clock = runtime.block_on(clock(url)).map_err(|e| lost(&LedgerError::from(e)))?;
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let models = Arc::new(ScriptedModels::default());
        let entered = runtime.enter();
        let passwords = Passwords::of(url).map_err(|e| lost(&e))?;
        let logins = Logins::connect(url, &passwords, "parlor-sim").map_err(|e| lost(&e))?;
        let options = HubOptions { poll: NO_POLL };
        let hub = Hub::start(&logins.broker, options, &tracker, stop.clone()).map_err(|e| lost(&e))?;
        let ringer = Ringer::start(&logins.broker, &hub, &tracker, stop.clone()).map_err(|e| lost(&e))?;
        drop(entered);
        runtime.block_on(logins.admin().renew_lease("parlor-sim", i64::MAX)).map_err(|e| lost(&e))?;
        let texts = watch::channel(texts()).1;
        Ok(Self(Rc::new(Base { clock: clock.into(), logins, hub, ringer, models, texts, tracker, stop, runtime })))
    }
}

async fn clock(url: &SecretString) -> Result<PgConnection, sqlx::Error> {
    let mut clock = PgConnection::connect(url.expose_secret()).await?;
    for &sql in CLOCK {
        sqlx::query(sql).execute(&mut clock).await?;
    }
    Ok(clock)
}

fn texts() -> RoomTexts {
    let persona = |name: &str| PersonaText { name: name.into(), context_tokens: 4_000, ..PersonaText::default() };
    let personas: BTreeMap<String, PersonaText> = words::members(3).into_iter().map(|m| (m.id, persona(&m.name))).collect();
    RoomTexts { rules: String::new(), personas }
}

impl World for Postgres {
    type Site = PostgresSite;

    fn site(&mut self, _: usize, policy: &Policy) -> Result<PostgresSite, WorldError> {
        let name = format!("sim-{}", uuid::Uuid::new_v4().simple());
        let admin = self.0.logins.admin();
        let made = async {
            let stream = admin.ensure_stream(&name, &Label::Room(name.clone())).await?.id;
            admin.set_policy(stream, &policy_row(policy)).await?;
            Ok((stream, admin.mint(stream, &[]).await?))
        };
        let (stream, login) = self.0.runtime.block_on(made).map_err(failed)?;
        Ok(PostgresSite::new(self.clone(), name, stream, login))
    }

    fn set_now(&mut self, now: Millis) -> Result<(), WorldError> {
        NOW.set(now);
        let mut clock = self.0.clock.borrow_mut();
        let set = sqlx::query("select setval('sim.clock', $1)").bind(now).execute(&mut *clock);
        self.0.runtime.block_on(set).map(drop).map_err(|e| failed(e.into()))
    }
}

fn policy_row(policy: &Policy) -> PolicyRow {
    let value = serde_json::to_value(policy).unwrap_or_default();
    PolicyRow { muted: policy.muted, mode: policy.mode, stopped: policy.stopped, value }
}

/// What the ledger refuses is wrong here, since nothing is asked of it that a process would not ask; what it cannot do now is
/// the end of the run.
#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by it, and arrive by value")]
fn failed(error: LedgerError) -> WorldError {
    if error.is_transient() { WorldError::Lost(error.to_string()) } else { WorldError::Wrong(error.to_string()) }
}
