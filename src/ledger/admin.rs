//! What the controller may do: make streams, write policies, lift chat mutes, announce.

use std::fmt;

use parlor_core::Mode;
use secrecy::SecretString;
use serde::Deserialize;

use super::{
    Ledger, LedgerError, NewJob, RoomLogin,
    logins::random_hex,
    pool::{bounded, decode, storable},
    scram,
};

/// The controller.
#[derive(Clone, Debug)]
pub struct Admin {
    pub(crate) ledger: Ledger,
}

/// Who may know what a stream holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// Anybody.
    Public,
    /// The people of a room.
    Room(String),
    /// One person and the operators.
    Direct(String),
    /// The operators.
    Operator,
}

impl Label {
    fn parts(&self) -> (i16, &str) {
        match self {
            Self::Public => (0, ""),
            Self::Room(id) => (1, id),
            Self::Direct(person) => (2, person),
            Self::Operator => (3, ""),
        }
    }

    fn from_parts(kind: i16, id: String) -> Option<Self> {
        match kind {
            0 => Some(Self::Public),
            1 => Some(Self::Room(id)),
            2 => Some(Self::Direct(id)),
            3 => Some(Self::Operator),
            _ => None,
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public => f.write_str("public"),
            Self::Room(id) => write!(f, "room:{id}"),
            Self::Direct(person) => write!(f, "dm:{person}"),
            Self::Operator => f.write_str("operator"),
        }
    }
}

/// A room's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// Its number.
    pub id: i64,
    /// Grows with each promotion or restore of the database.
    pub epoch: i64,
    /// Room name.
    pub room: String,
    /// Who may know what it holds.
    pub label: Label,
}

/// What a room is allowed to do, as the controller writes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PolicyRow {
    /// Whether the room is muted by its resource.
    pub muted: bool,
    /// Whether rows may leave.
    pub mode: Mode,
    /// Whether the room is stopped (replicas 0).
    pub stopped: bool,
    /// Everything else, such as members, timings and `budget.unprompted_per_hour` (which the database reads too; none counts
    /// as 0).
    pub value: serde_json::Value,
}

#[derive(Deserialize)]
struct StreamJson {
    id: i64,
    epoch: i64,
    room: String,
    label_kind: i16,
    label_id: String,
}

impl StreamJson {
    fn info(self) -> Result<StreamInfo, LedgerError> {
        let label = Label::from_parts(self.label_kind, self.label_id)
            .ok_or_else(|| LedgerError::Other(format!("stream {} has a label of a kind this binary does not know", self.id)))?;
        Ok(StreamInfo { id: self.id, epoch: self.epoch, room: self.room, label })
    }
}

/// Streams in the form of `api.streams`.
pub(crate) fn streams_from(json: &str) -> Result<Vec<StreamInfo>, LedgerError> {
    decode::<Vec<StreamJson>>("the list of streams", json)?.into_iter().map(StreamJson::info).collect()
}

impl Admin {
    /// The room's stream with its partitions, made if there is none. A label never changes: another one is refused.
    pub async fn ensure_stream(&self, room: &str, label: &Label) -> Result<StreamInfo, LedgerError> {
        let (kind, id) = label.parts();
        let query = sqlx::query_scalar("select api.ensure_stream($1, $2, $3)::text").bind(room).bind(kind).bind(id);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode::<StreamJson>("a stream", &json)?.info()
    }

    /// Makes the login of a room's next incarnation, which may load its own stream and these public ones; those before it are
    /// ended, their connections too.
    pub async fn mint(&self, stream: i64, public: &[i64]) -> Result<RoomLogin, LedgerError> {
        let (role, password) = (format!("r_{}", random_hex(16)?), SecretString::from(random_hex(32)?));
        let query = sqlx::query_scalar("select api.mint($1, $2, $3, $4)")
            .bind(stream)
            .bind(&role)
            .bind(scram::verifier(&password, random_hex(8)?.as_bytes()))
            .bind(public.to_vec());
        let incarnation = bounded(query.fetch_one(self.ledger.pool())).await?;
        Ok(RoomLogin { role, password, incarnation })
    }

    /// Ends a room's login: from the return on it does and reads nothing. One that is gone already is no error.
    pub async fn retire(&self, role: &str) -> Result<(), LedgerError> {
        bounded(sqlx::query("select api.retire($1)").bind(role).execute(self.ledger.pool())).await.map(drop)
    }

    /// Says that a controller is there until `until_ms`: rooms without one are silent.
    pub async fn renew_lease(&self, holder: &str, until_ms: i64) -> Result<(), LedgerError> {
        let query = sqlx::query("select api.renew_lease($1, $2)").bind(storable(holder)).bind(until_ms);
        bounded(query.execute(self.ledger.pool())).await.map(drop)
    }

    /// Every room's stream, by room name.
    pub async fn streams(&self) -> Result<Vec<StreamInfo>, LedgerError> {
        let query = sqlx::query_scalar("select api.streams()::text");
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        streams_from(&json)
    }

    /// Writes the policy and gives its revision; the same policy again writes nothing. Muting, stopping or a change to Shadow
    /// refuses every row that was not claimed yet, in the same transaction: after it returns nothing is claimed.
    pub async fn set_policy(&self, stream: i64, policy: &PolicyRow) -> Result<i64, LedgerError> {
        let query = sqlx::query_scalar("select api.set_policy($1, $2, $3, $4, $5::jsonb)")
            .bind(stream)
            .bind(policy.muted)
            .bind(mode_code(policy.mode))
            .bind(policy.stopped)
            .bind(storable(&policy.value.to_string()));
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// Ends every chat mute of a room; a mute of its policy stays. The number ended.
    pub async fn lift_chat_mutes(&self, stream: i64) -> Result<i64, LedgerError> {
        let query = sqlx::query_scalar("select api.lift_chat_mutes($1)").bind(stream);
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// Something an operator wants said; the room decides when. A known dedupe key gives the job there is.
    pub async fn announce(&self, stream: i64, job: &NewJob) -> Result<i64, LedgerError> {
        let query = sqlx::query_scalar("select api.announce($1, $2, $3, $4, $5, $6)")
            .bind(stream)
            .bind(storable(&job.dedupe))
            .bind(job.due_ms)
            .bind(job.expires_ms)
            .bind(storable(&job.persona))
            .bind(storable(&job.text));
        bounded(query.fetch_one(self.ledger.pool())).await
    }
}

/// As the table holds it: the core's serialised name.
pub(crate) fn mode_code(mode: Mode) -> &'static str {
    match mode {
        Mode::Shadow => "Shadow",
        Mode::Active => "Active",
    }
}
