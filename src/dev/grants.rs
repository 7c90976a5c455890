//! Grants between the rooms of this process: a document that is there grants, one that is gone or cannot be read revokes.
//!
//! Revoking comes first, whatever else is to be done: the grant's end is committed, the room's login and connections are ended, and
//! the room goes on as another incarnation that remembers nothing of before. While the database does not answer, the room's actor
//! does not run.

use std::collections::{BTreeMap, BTreeSet};

use parlor_core::Millis;
use sha2::{Digest, Sha256};

use super::{rooms::Rooms, say};
use crate::{
    actor::wall_ms,
    api::{self, GrantConfig, Studio},
    ledger::{Admin, GrantItems, GrantMode, GrantRow, Label, LedgerError, NewGrant, OpenGrant, Reader, StreamInfo},
};

/// See the module.
pub(super) struct Grants {
    admin: Admin,
    reader: Reader,
    wanted: BTreeMap<String, GrantConfig>,
    /// What was last said of a grant that cannot be made, so that it is said once.
    said: BTreeMap<String, String>,
    /// When the next one ends by itself, ms.
    ends: Option<Millis>,
    behind: bool,
    /// Rooms that know by a grant which is not wanted any more.
    to_forget: BTreeSet<String>,
}

impl Grants {
    pub(super) fn new(admin: Admin, reader: Reader) -> Self {
        Self { admin, reader, wanted: BTreeMap::new(), said: BTreeMap::new(), ends: None, behind: true, to_forget: BTreeSet::new() }
    }

    /// Notes what the folder grants.
    pub(super) fn want(&mut self, studio: &Studio) {
        if self.wanted != studio.grants {
            let gone = self.wanted.iter().filter(|(name, config)| studio.grants.get(*name) != Some(config));
            self.to_forget.extend(gone.map(|(_, config)| config.spec.to.room_ref.name.clone()));
            self.wanted.clone_from(&studio.grants);
            self.said.clear();
            self.behind = true;
        }
    }

    /// Whether something could not be done yet.
    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    /// When a grant next ends by itself, ms.
    pub(super) fn next_change(&self) -> Option<Millis> {
        self.ends
    }

    /// Ends what is not granted any more or is over. Before rooms are started: what was revoked while nobody ran is never loaded.
    pub(super) async fn revoke(&mut self, rooms: &mut Rooms) -> Result<(), LedgerError> {
        let done = self.try_revoke(rooms).await;
        if done.is_err() {
            // What cannot be taken back in the ledger now is not used either.
            for room in &self.to_forget {
                rooms.halt(room).await;
            }
        } else {
            self.to_forget.clear();
            rooms.wake().await?;
        }
        done
    }

    async fn try_revoke(&mut self, rooms: &mut Rooms) -> Result<(), LedgerError> {
        if !self.behind && self.ends.is_none_or(|at| at > wall_ms()) {
            return Ok(());
        }
        self.behind = true;
        let granted = self.reader.grants(None).await?;
        let keep: Vec<String> = granted.iter().filter(|g| self.is_wanted(g)).map(|g| g.id.clone()).collect();
        for over in self.admin.grants_to_close(&keep).await? {
            self.end(&over, rooms).await?;
        }
        Ok(())
    }

    async fn end(&mut self, over: &OpenGrant, rooms: &mut Rooms) -> Result<(), LedgerError> {
        let requested = wall_ms();
        if self.admin.close_grant(&over.id, &over.why, requested).await? {
            rooms.replace(over.target).await?;
        }
        rooms.ring(over.target);
        self.admin.grant_ended(&over.id, Some(wall_ms()), Some(wall_ms())).await?;
        say(&format!("grant {}: {}", name_of(&over.id), over.why));
        Ok(())
    }

    /// Makes what is granted and not made yet. Once the rooms run.
    pub(super) async fn apply(&mut self, rooms: &mut Rooms) -> Result<(), LedgerError> {
        if !self.behind {
            return Ok(());
        }
        let (granted, streams) = (self.reader.grants(None).await?, self.admin.streams().await?);
        for row in &granted {
            // Of an earlier run, which ended in the middle: every room has another login by now.
            if row.revocation.as_ref().is_some_and(|r| r.incarnation_replaced_ms.is_none()) {
                self.admin.grant_ended(&row.id, Some(wall_ms()), Some(wall_ms())).await?;
            }
        }
        for config in self.wanted.clone().into_values() {
            let Some(id) = id_for(&config, &granted) else { continue };
            match self.make(&config, id, &streams, rooms).await {
                Ok(()) => {
                    self.said.remove(&config.name);
                }
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    let text = error.to_string();
                    if self.said.insert(config.name.clone(), text.clone()) != Some(text.clone()) {
                        say(&format!("grant {}: not made: {text}", config.name));
                    }
                }
            }
        }
        self.ends = self.reader.grants(None).await?.iter().filter(|g| g.live).map(|g| g.expires_ms).min();
        self.behind = false;
        Ok(())
    }

    async fn make(&self, config: &GrantConfig, id: String, streams: &[StreamInfo], rooms: &mut Rooms) -> Result<(), LedgerError> {
        let target = stream_of(streams, &config.spec.to.room_ref.name)?;
        let grant = NewGrant {
            id,
            source: source_of(streams, &config.spec.from)?,
            target,
            mode: mode(config.spec.mode),
            items: items(&config.spec.items),
            purpose: config.spec.purpose.clone(),
            granted_by: config.spec.granted_by.clone(),
            expires_ms: wall_ms().saturating_add(config.lasts()),
        };
        let made = self.admin.apply_grant(&grant).await?;
        if grant.mode == GrantMode::Read {
            // A session's rights are fixed when its login is made.
            rooms.replace(target).await?;
        }
        rooms.ring(target);
        say(&format!("grant {}: {} messages for room {}", config.name, made.count, config.spec.to.room_ref.name));
        Ok(())
    }

    fn is_wanted(&self, row: &GrantRow) -> bool {
        self.wanted.get(name_of(&row.id)).is_some_and(|config| row.id.starts_with(&prefix(config)))
    }
}

/// A grant's id is its name, what it says in short, and a number: a document that went and came back is another grant.
fn prefix(config: &GrantConfig) -> String {
    let said = serde_json::to_vec(&config.spec).unwrap_or_default();
    let short: String = hex::encode(Sha256::digest(said)).chars().take(12).collect();
    format!("{}/{short}/", config.name)
}

/// The id under which a grant has to be made; none where it stands, or has run out.
fn id_for(config: &GrantConfig, granted: &[GrantRow]) -> Option<String> {
    let prefix = prefix(config);
    let before: Vec<&GrantRow> = granted.iter().filter(|g| g.id.starts_with(&prefix)).collect();
    let stands = before.iter().any(|g| g.revocation.as_ref().is_none_or(|r| r.why == "expired"));
    (!stands).then(|| format!("{prefix}{}", before.len() + 1))
}

fn name_of(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

fn stream_of(streams: &[StreamInfo], room: &str) -> Result<i64, LedgerError> {
    let found = streams.iter().find(|s| s.room == room).map(|s| s.id);
    found.ok_or_else(|| LedgerError::Refused(format!("room {room} has no log yet; mend its document first")))
}

fn source_of(streams: &[StreamInfo], from: &api::From) -> Result<i64, LedgerError> {
    let Some(person) = &from.person else {
        return stream_of(streams, from.room_ref.as_ref().map_or("", |r| r.name.as_str()));
    };
    let label = Label::Direct(person.clone());
    let mut theirs = streams.iter().filter(|s| s.label == label);
    match (theirs.next(), theirs.next()) {
        (Some(one), None) => Ok(one.id),
        (None, _) => Err(LedgerError::Refused(format!("{person:?} has no room of their own"))),
        (Some(_), Some(_)) => Err(LedgerError::Refused(format!("{person:?} has several rooms of their own; name one by roomRef"))),
    }
}

fn mode(mode: api::GrantMode) -> GrantMode {
    match mode {
        api::GrantMode::Read => GrantMode::Read,
        api::GrantMode::Release => GrantMode::Release,
    }
}

fn items(items: &api::Items) -> GrantItems {
    match (&items.author, items.window) {
        (Some(author), Some(window)) => {
            GrantItems::Window { author: author.clone(), from_ms: window.from.0.as_millisecond(), to_ms: window.to.0.as_millisecond() }
        }
        _ if items.seqs.is_empty() => GrantItems::PlatformIds { platform_ids: items.platform_ids.clone() },
        _ => GrantItems::Seqs { seqs: items.seqs.clone() },
    }
}
