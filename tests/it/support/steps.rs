//! Steps, rows and policies for tests of the ledger.

use parlor::ledger::{Admin, Cursor, PolicyRow, StepRecord};
use parlor_core::{Address, Mode, ObligationId, ObligationKind, Row, RowKind};
use serde_json::{json, value::RawValue};

/// A time after which no test runs any more, ms.
pub(crate) const LATE: i64 = 4_000_000_000_000;

pub(crate) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.into()).unwrap()
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
    Row {
        kind: RowKind::React { emoji: emoji.into() },
        address: Some(Address { platform_id: on.into(), reply: true }),
        ..post(dedupe, "")
    }
}

pub(crate) fn policy() -> PolicyRow {
    PolicyRow { muted: false, mode: Mode::Active, stopped: false, value: json!({"budget": {"unprompted_per_hour": 2}}) }
}

/// A room that may speak.
pub(crate) async fn open_room(admin: &Admin, name: &str) -> i64 {
    let label = parlor::ledger::Label::Room(name.into());
    let stream = admin.ensure_stream(name, &label).await.unwrap().id;
    admin.set_policy(stream, &policy()).await.unwrap();
    stream
}
