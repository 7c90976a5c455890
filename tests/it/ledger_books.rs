//! The broker's books: what was set aside counts in full until less is charged.

use parlor::ledger::{AuditRow, Books, Caps, PolicyRow, Reservation, Reserved, Spent};

use crate::support::{
    postgres::TestDb,
    steps::{open_room, policy},
};

const DAY: &str = "2026-01-31";

fn spent(tokens: i64, cost_micro: i64) -> Spent {
    Spent { tokens, cost_micro }
}

async fn set_aside(books: &Books, room: i64, day: &str, worst: Spent, caps: Caps) -> Option<Reservation> {
    match books.reserve(room, day, worst, caps).await.unwrap() {
        Reserved::Ok(r) => Some(r),
        Reserved::OverBudget => None,
        Reserved::Hushed => panic!("the room is hushed"),
    }
}

#[tokio::test]
async fn a_cap_holds_with_what_is_set_aside_and_what_was_spent() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let (books, caps) = (ledger.books(), Caps { tokens: Some(100), cost_micro: Some(1_000) });
    let first = set_aside(&books, kiln, DAY, spent(60, 10), caps).await.unwrap();
    assert!(set_aside(&books, kiln, DAY, spent(41, 10), caps).await.is_none(), "what is not charged yet counts in full");
    assert!(books.charge(first, spent(20, 10)).await.unwrap());
    assert!(!books.charge(first, spent(0, 0)).await.unwrap(), "a second charge changes nothing");
    let second = set_aside(&books, kiln, DAY, spent(80, 10), caps).await.unwrap();
    assert!(set_aside(&books, kiln, DAY, spent(1, 0), caps).await.is_none());
    assert!(books.charge(second, spent(95, 2_000)).await.unwrap(), "more than was thought is charged too");
    assert!(set_aside(&books, kiln, DAY, spent(0, 0), caps).await.is_none());
    assert!(set_aside(&books, kiln, "2026-02-01", spent(100, 0), caps).await.is_some(), "the next day begins at nothing");
    assert!(set_aside(&books, kiln, DAY, spent(5_000, 5_000), Caps::default()).await.is_some(), "no cap");
    assert!(books.reserve(kiln, DAY, spent(-1, 0), caps).await.is_err());
    assert!(!books.charge(Reservation { stream: kiln, n: 99 }, spent(1, 1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_at_once_do_not_pass_a_cap_together() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let (books, caps) = (ledger.books(), Caps { tokens: Some(100), cost_micro: None });
    let calls = (0..30).map(|_| set_aside(&books, kiln, DAY, spent(10, 0), caps));
    let given = futures::future::join_all(calls).await.into_iter().flatten().count();
    assert_eq!(given, 10);
}

#[tokio::test]
async fn nothing_is_set_aside_while_the_room_is_hushed() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let books = ledger.books();
    for hush in [PolicyRow { muted: true, ..policy() }, PolicyRow { stopped: true, ..policy() }] {
        ledger.admin().set_policy(kiln, &hush).await.unwrap();
        assert_eq!(books.reserve(kiln, DAY, spent(1, 1), Caps::default()).await.unwrap(), Reserved::Hushed);
    }
    ledger.admin().set_policy(kiln, &policy()).await.unwrap();
    ledger.mouth().chat_mute(kiln, "owner", "", None).await.unwrap();
    assert_eq!(books.reserve(kiln, DAY, spent(1, 1), Caps::default()).await.unwrap(), Reserved::Hushed);
    ledger.admin().lift_chat_mutes(kiln).await.unwrap();
    assert!(set_aside(&books, kiln, DAY, spent(1, 1), Caps::default()).await.is_some());
}

#[tokio::test]
async fn each_call_is_audited_in_order() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    for outcome in ["ok", "timeout"] {
        let row = AuditRow {
            persona: "wren".into(),
            purpose: "draft".into(),
            model: "stub/stub".into(),
            spent: spent(12, 34),
            duration_ms: 56,
            outcome: outcome.into(),
        };
        ledger.books().audit(kiln, &row).await.unwrap();
    }
    let all = "select string_agg(concat_ws(' ', n, persona, purpose, model, tokens, cost_micro, duration_ms, outcome), '; ' order by n)
               from parlor.audit";
    assert_eq!(db.text(all).await, "1 wren draft stub/stub 12 34 56 ok; 2 wren draft stub/stub 12 34 56 timeout");
}
