//! The broker on the real ledger: caps by day, mute, charges and the audit as rows.

use std::sync::Arc;

use parlor::{
    broker::{Accounts, Broker, RoomBooks},
    ledger::{Caps, Label, PolicyRow},
    ports::Models,
    telemetry::Metrics,
};
use parlor_core::{Failure, Mode};
use parlor_twin::models::{Answer, ModelTwin};

use crate::{
    broker_kit::{config, simple, soon},
    support::postgres::TestDb,
};

/// 2026-01-02T03:04:05Z, and the next day.
const FIRST_DAY: i64 = 1_767_323_045_000;
const NEXT_DAY: i64 = FIRST_DAY + 86_400_000;

struct Studio {
    db: TestDb,
    stream: i64,
    books: Arc<RoomBooks>,
    broker: Broker,
    twin: ModelTwin,
}

impl Studio {
    async fn new(now: fn() -> i64, caps: Caps) -> Self {
        Self::on(TestDb::new().await, now, caps).await
    }

    async fn on(db: TestDb, now: fn() -> i64, caps: Caps) -> Self {
        let stream = db.ledger().admin().ensure_stream("kiln", &Label::Room("kiln".into())).await.unwrap().id;
        let books = Arc::new(RoomBooks::new(db.ledger().books(), now));
        books.set("kiln", stream, caps);
        let twin = ModelTwin::start().await.unwrap();
        twin.otherwise(Answer::reply("cone 6"));
        let broker = Broker::new(config(&twin), Some(Arc::clone(&books) as Arc<dyn Accounts>), Metrics::new().unwrap());
        let studio = Self { db, stream, books, broker, twin };
        studio.muted(false).await;
        studio
    }

    async fn muted(&self, muted: bool) {
        let policy = PolicyRow { muted, mode: Mode::Active, stopped: false, value: serde_json::json!({}) };
        self.db.ledger().admin().set_policy(self.stream, &policy).await.unwrap();
    }

    async fn tokens(&self, day: &str) -> i64 {
        self.db.number(&format!("select coalesce(sum(tokens), 0)::bigint from parlor.budget where day = '{day}'")).await
    }
}

#[tokio::test]
async fn a_call_is_charged_to_its_day_and_audited_without_text() {
    let studio = Studio::new(|| FIRST_DAY, Caps::default()).await;
    soon(studio.broker.draft(simple("anthropic"))).await.unwrap();
    studio.broker.drained().await;
    let spent = studio.tokens("2026-01-02").await;
    assert!(spent > 0);
    let row = studio.db.text("select to_jsonb(a)::text from parlor.audit a").await;
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    assert_eq!((&row["persona"], &row["purpose"], &row["outcome"]), (&"wren".into(), &"draft".into(), &"act".into()));
    assert_eq!((&row["model"], &row["tokens"]), (&"anthropic/claude-haiku-4-5".into(), &spent.into()));
    assert!(row["cost_micro"].as_i64().unwrap() > 0);
    assert!(!row.to_string().contains("cone"), "{row}");
}

#[tokio::test]
async fn at_the_cap_no_provider_is_called_until_the_next_day() {
    // The first call is reserved at some 4,096 tokens for its answer and a few hundred for its prompt.
    let caps = Caps { tokens: Some(6_000), cost_micro: None };
    let studio = Studio::new(|| FIRST_DAY, caps).await;
    studio.twin.otherwise(Answer::reply("cone 6").cut());
    assert_eq!(studio.broker.draft(simple("anthropic")).await, Err(Failure::Provider), "charged in full");
    studio.broker.drained().await;
    assert_eq!(studio.broker.draft(simple("anthropic")).await, Err(Failure::OverBudget));
    assert_eq!(studio.twin.requests().len(), 1);
    let next = Studio::on(studio.db, || NEXT_DAY, caps).await;
    soon(next.broker.draft(simple("anthropic"))).await.unwrap();
    next.broker.drained().await;
    assert!(next.tokens("2026-01-03").await > 0);
}

#[tokio::test]
async fn a_muted_or_unknown_room_calls_no_model() {
    let studio = Studio::new(|| FIRST_DAY, Caps::default()).await;
    studio.muted(true).await;
    for provider in ["stub", "anthropic"] {
        assert_eq!(studio.broker.draft(simple(provider)).await, Err(Failure::Refused));
    }
    studio.muted(false).await;
    studio.books.forget("kiln");
    assert_eq!(studio.broker.draft(simple("stub")).await, Err(Failure::NoBooks));
    assert_eq!((studio.twin.requests().len(), studio.tokens("2026-01-02").await), (0, 0));
}

#[tokio::test]
async fn a_dropped_call_stays_charged_in_full_in_the_ledger() {
    let studio = Studio::new(|| FIRST_DAY, Caps::default()).await;
    studio.twin.otherwise(Answer::never());
    let draft = studio.broker.draft(simple("openai"));
    tokio::select! {
        _ = draft => panic!("it cannot end"),
        () = soon(studio.twin.heard(1)) => {}
    }
    soon(studio.broker.drained()).await;
    assert!(studio.tokens("2026-01-02").await > 4_096);
    assert_eq!(studio.db.text("select outcome from parlor.audit").await, "cancelled");
}
