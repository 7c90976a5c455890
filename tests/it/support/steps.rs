//! Lines, steps, rows and policies for tests of the ledger.

use parlor::ledger::{Admin, Cursor, Label, NewItem, PolicyRow, StepRecord};
use parlor_core::{Address, AuthorKind, ItemKind, Mode, ObligationId, ObligationKind, Row, RowKind};
use serde_json::{json, value::RawValue};

/// A time after which no test runs any more, ms.
pub(crate) const LATE: i64 = 4_000_000_000_000;

pub(crate) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.into()).unwrap()
}

/// A line of a person.
pub(crate) fn line(stream: i64, id: &str, author: &str, text: &str) -> NewItem {
    NewItem {
        stream,
        at_ms: 1_700_000_000_000,
        author: author.into(),
        author_kind: AuthorKind::Human,
        name: author.to_uppercase(),
        kind: ItemKind::Message,
        event_key: format!("m:{id}"),
        platform_id: id.into(),
        reply_to: None,
        text: text.into(),
        mentions: json!([]),
        attachments: json!([]),
        outbox_n: None,
    }
}

/// A step that only has an input.
pub(crate) fn step(n: i64) -> StepRecord {
    StepRecord {
        n,
        now_ms: 1_700_000_000_000 + n,
        input: raw(&format!(r#"{{"type": "tick",  "n":{n}}}"#)),
        decisions: Vec::new(),
        rows: Vec::new(),
        withdrawals: Vec::new(),
        jobs: Vec::new(),
        cursor: Cursor { epoch: 1, seq: n },
        outcome_n: 0,
        policy_revision: 1,
        view: raw(&format!(r#"{{"step":{n}}}"#)),
        snapshot: None,
    }
}

/// A step that submits rows.
pub(crate) fn submit(n: i64, rows: Vec<Row>) -> StepRecord {
    StepRecord { rows, ..step(n) }
}

pub(crate) fn post(dedupe: &str, text: &str) -> Row {
    Row {
        dedupe: dedupe.into(),
        persona: "wren".into(),
        kind: RowKind::Post { text: text.into() },
        address: None,
        settles: vec![ObligationId { input: 1, index: 0 }],
        owed: ObligationKind::Direct,
        settles_lines: vec!["a".into()],
        unprompted: false,
        shadow: false,
        expires_at: LATE,
    }
}

pub(crate) fn react(dedupe: &str, on: &str, emoji: &str) -> Row {
    Row { kind: RowKind::React { emoji: emoji.into() }, address: Some(Address { platform_id: on.into(), reply: true }), ..post(dedupe, "") }
}

pub(crate) fn policy() -> PolicyRow {
    PolicyRow { muted: false, mode: Mode::Active, stopped: false, value: json!({"budget": {"unprompted_per_hour": 2}}) }
}

/// A room without a policy.
pub(crate) async fn room(admin: &Admin, name: &str) -> i64 {
    admin.ensure_stream(name, &Label::Room(name.into())).await.unwrap().id
}

/// A room that may speak.
pub(crate) async fn open_room(admin: &Admin, name: &str) -> i64 {
    let stream = room(admin, name).await;
    admin.set_policy(stream, &policy()).await.unwrap();
    stream
}
