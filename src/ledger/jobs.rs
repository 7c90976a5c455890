//! What a room keeps besides its log: notes about people and topics, and things to be said later.

use serde::Deserialize;

use super::{
    LedgerError, Session,
    pool::{bounded, decode, storable},
};

/// At most this many jobs are handed out at once; one post comes of each.
const JOBS_AT_ONCE: i64 = 16;
/// At most this many notes are given for a prompt.
const NOTES_AT_ONCE: i64 = 200;

/// What a note is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A person, by platform id.
    Person(String),
    /// A topic.
    Topic(String),
}

/// A note to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    /// What it is about.
    pub about: About,
    /// The note, at most 4 KiB.
    pub body: String,
    /// The note that it takes the place of; that one stays stored and is not given any more.
    pub supersedes: Option<i64>,
}

/// A note that stands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Note {
    /// Number in the stream.
    pub n: i64,
    /// Platform id, for a note about a person.
    pub person_id: Option<String>,
    /// Topic, for a note about one.
    pub topic: Option<String>,
    /// The note.
    pub body: String,
    /// When it was written, ms.
    pub at_ms: i64,
}

/// Something to be said later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// The same key twice is one job; the outbox row will carry it.
    pub dedupe: String,
    /// When it is due, ms.
    pub due_ms: i64,
    /// After this it is not said any more, ms.
    pub expires_ms: i64,
    /// The persona that is to say it.
    pub persona: String,
    /// What is to be said, at most 64 KiB.
    pub text: String,
}

/// A job that is due.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Job {
    /// Number in the stream; the step that takes it up names it.
    pub n: i64,
    /// Its key.
    pub dedupe: String,
    /// When it was due, ms.
    pub due_ms: i64,
    /// After this it is not said any more, ms.
    pub expires_ms: i64,
    /// The persona that is to say it.
    pub persona: String,
    /// What is to be said.
    pub text: String,
}

impl Session {
    /// Keeps a note; its number.
    pub async fn note(&self, note: &NewNote) -> Result<i64, LedgerError> {
        let (person, topic) = match &note.about {
            About::Person(id) => (Some(storable(id)), None),
            About::Topic(topic) => (None, Some(storable(topic))),
        };
        let query = sqlx::query_scalar("select api.note($1, $2, $3, $4, $5, $6)")
            .bind(self.stream)
            .bind(self.boot)
            .bind(person)
            .bind(topic)
            .bind(storable(&note.body))
            .bind(note.supersedes);
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// The notes that stand about these people, newest first, at most 200.
    pub async fn notes(&self, people: &[String]) -> Result<Vec<Note>, LedgerError> {
        let query = sqlx::query_scalar("select api.notes($1, $2, $3, $4)::text")
            .bind(self.stream)
            .bind(self.boot)
            .bind(people.to_vec())
            .bind(NOTES_AT_ONCE);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the notes", &json)
    }

    /// Something to be said later in this room; the number of the job. A known key gives the job there is.
    pub async fn remind(&self, job: &NewJob) -> Result<i64, LedgerError> {
        let query = sqlx::query_scalar("select api.remind($1, $2, $3, $4, $5, $6, $7)")
            .bind(self.stream)
            .bind(self.boot)
            .bind(storable(&job.dedupe))
            .bind(job.due_ms)
            .bind(job.expires_ms)
            .bind(storable(&job.persona))
            .bind(storable(&job.text));
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// Hands out due jobs, at most 16, each for a minute: a job that no step took up by then, or whose boot ended, is handed
    /// out again. An expired one is closed in place of being handed out.
    pub async fn job_claim(&self) -> Result<Vec<Job>, LedgerError> {
        let query = sqlx::query_scalar("select api.job_claim($1, $2, $3)::text").bind(self.stream).bind(self.boot).bind(JOBS_AT_ONCE);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the due jobs", &json)
    }
}
