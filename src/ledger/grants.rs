//! Grants: what a room may know of another stream. The controller makes and ends them, a session loads by them, an operator sees them.

use serde::{Deserialize, Serialize};

use super::{
    Admin, LedgerError, Reader, Session,
    pool::{bounded, decode, storable},
};

/// What a grant lets its target do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantMode {
    /// Its sessions may load the items, from their next incarnation on.
    Read,
    /// The items are copied into the room, once.
    Release,
}

impl GrantMode {
    fn code(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Release => "Release",
        }
    }
}

/// Which messages of the source. What they are is decided when the grant is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum GrantItems {
    /// The newest version of each of these messages.
    PlatformIds {
        /// The platform's ids.
        platform_ids: Vec<String>,
    },
    /// Exactly these items.
    Seqs {
        /// Places in the source.
        seqs: Vec<i64>,
    },
    /// The newest version of what somebody said in a time.
    Window {
        /// Authenticated id.
        author: String,
        /// From then on, ms.
        from_ms: i64,
        /// Before then, ms.
        to_ms: i64,
    },
}

/// A grant to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGrant {
    /// Names the resource and its content: another content is another grant.
    pub id: String,
    /// Stream that is read from.
    pub source: i64,
    /// Stream that may know it.
    pub target: i64,
    /// What the target may do.
    pub mode: GrantMode,
    /// Which messages, at most 256.
    pub items: GrantItems,
    /// Why, 10 to 500 characters.
    pub purpose: String,
    /// Who says so.
    pub granted_by: String,
    /// When it ends by itself, ms.
    pub expires_ms: i64,
}

/// What a grant came to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Granted {
    /// Messages.
    pub count: i64,
    /// SHA-256 over the digests of their bodies in order, in hexadecimal.
    pub digest: String,
    /// Whether it was made by this call; the same grant again changes nothing.
    pub fresh: bool,
}

/// A grant that has to be ended.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct OpenGrant {
    /// Its id.
    pub id: String,
    /// The stream that knows by it.
    pub target: i64,
    /// `revoked` or `expired`.
    pub why: String,
}

/// A message that a session may load from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GrantedItem {
    /// By which grant.
    pub grant: String,
    /// What for.
    pub purpose: String,
    /// Label of where it was said.
    pub from: String,
    /// Place in its own stream.
    pub seq: i64,
    /// When it was said, ms.
    pub at_ms: i64,
    /// Who said it.
    pub author: String,
    /// Their display name.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A grant as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRow {
    /// Its id.
    pub id: String,
    /// Room that is read from.
    pub source: String,
    /// Label of that room.
    pub from: String,
    /// Room that may know it.
    pub target: String,
    /// What the target may do.
    pub mode: GrantMode,
    /// Why.
    pub purpose: String,
    /// Who said so.
    pub granted_by: String,
    /// When it was made, ms.
    pub made_ms: i64,
    /// When it ends by itself, ms.
    pub expires_ms: i64,
    /// Whether it holds now.
    pub live: bool,
    /// Messages.
    pub count: i64,
    /// The last 100 uses, oldest first.
    pub uses: Vec<GrantUse>,
    /// How it ended, if it did.
    pub revocation: Option<Revocation>,
    /// The exact text, where one grant was asked for; without what was deleted or erased since.
    pub items: Option<Vec<ShownItem>>,
}

/// A use of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantUse {
    /// When, ms.
    pub at_ms: i64,
    /// `read` or `release`.
    pub kind: String,
    /// By which incarnation of the target.
    pub incarnation: i32,
    /// Messages.
    pub items: i32,
}

/// The end of a grant, ms each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    /// `revoked` or `expired`.
    pub why: String,
    /// When the resource went.
    pub requested_ms: i64,
    /// From when on nothing could be loaded by it.
    pub rows_invisible_ms: i64,
    /// Rows of the outbox that were refused for it.
    pub rows_refused: i64,
    /// Notes and copies that were hidden for it.
    pub derived_hidden: i64,
    /// When the last connection of the room's login was ended.
    pub sessions_ended_ms: Option<i64>,
    /// When the room's next incarnation stood.
    pub incarnation_replaced_ms: Option<i64>,
}

/// A granted message as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownItem {
    /// Place in the source.
    pub seq: i64,
    /// When it was said, ms.
    pub at_ms: i64,
    /// Who said it.
    pub author: String,
    /// Their display name.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Admin {
    /// Makes a grant, or finds that it is there. A Read grant is used by the target's next incarnation.
    pub async fn apply_grant(&self, grant: &NewGrant) -> Result<Granted, LedgerError> {
        let items = serde_json::to_string(&grant.items).map_err(|e| LedgerError::unreadable("the items of a grant", &e))?;
        let query = sqlx::query_scalar("select api.apply_grant($1, $2, $3, $4, $5::text::json, $6, $7, $8)::text")
            .bind(storable(&grant.id))
            .bind(grant.source)
            .bind(grant.target)
            .bind(grant.mode.code())
            .bind(items)
            .bind(storable(&grant.purpose))
            .bind(storable(&grant.granted_by))
            .bind(grant.expires_ms);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("a grant", &json)
    }

    /// Open grants that are not among the live resources, and those whose time is over.
    pub async fn grants_to_close(&self, live: &[String]) -> Result<Vec<OpenGrant>, LedgerError> {
        let query = sqlx::query_as("select id, target, why from api.grants_to_close($1)").bind(live.to_vec());
        bounded(query.fetch_all(self.ledger.pool())).await
    }

    /// Ends a grant: when this returns nothing can be loaded by it, and none of its rows leaves. Whether the target's login has to be
    /// replaced, since its session could load by it or has.
    pub async fn close_grant(&self, id: &str, why: &str, requested_ms: i64) -> Result<bool, LedgerError> {
        let query = sqlx::query_scalar("select api.close_grant($1, $2, $3)").bind(id).bind(why).bind(requested_ms);
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// Keeps when the connections of the target were ended and when its next incarnation stood, ms.
    pub async fn grant_ended(&self, id: &str, sessions: Option<i64>, incarnation: Option<i64>) -> Result<(), LedgerError> {
        let query = sqlx::query("select api.grant_ended($1, $2, $3)").bind(id).bind(sessions).bind(incarnation);
        bounded(query.execute(self.ledger.pool())).await.map(drop)
    }
}

impl Session {
    /// What this session may load of other streams now. It is written down, and from now on everything that this session writes
    /// carries the grants.
    pub async fn read_granted(&self) -> Result<Vec<GrantedItem>, LedgerError> {
        let query = sqlx::query_scalar("select api.read_granted($1, $2)::text").bind(self.stream).bind(self.boot);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("what was granted", &json)
    }

    /// Copies what a grant releases into this room, once. The number of messages copied by this call.
    pub async fn release(&self, grant: &str) -> Result<i64, LedgerError> {
        let query = sqlx::query_scalar("select api.release($1, $2, $3)").bind(self.stream).bind(self.boot).bind(grant);
        bounded(query.fetch_one(self.ledger.pool())).await
    }
}

impl Reader {
    /// All grants without their text, or one with it.
    pub async fn grants(&self, id: Option<&str>) -> Result<Vec<GrantRow>, LedgerError> {
        let query = sqlx::query_scalar("select api.read_grants($1)::text").bind(id);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("grants", &json)
    }
}
