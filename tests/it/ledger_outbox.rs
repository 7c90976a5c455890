//! The outbox: order, fences, mute, Shadow, budgets, echoes.

use std::time::Duration;

use parlor::ledger::{Claimed, Cursor, NewItem, PolicyRow, RowState, Session, StepRecord};
use parlor_core::{AuthorKind, ItemKind, Mode, Outcome, Row};
use serde_json::json;

use crate::support::{
    postgres::{TestDb, TestLogins},
    steps::{line, open_room, policy, post, react, step, submit},
};

const LEASE: Duration = Duration::from_mins(1);

/// A room with these rows in its outbox.
async fn with_rows(ledger: &TestLogins, name: &str, rows: Vec<Row>) -> (i64, Session) {
    let stream = open_room(&ledger.admin(), name).await;
    let session = ledger.begin(stream).await;
    session.step(&submit(1, rows)).await.unwrap();
    (stream, session)
}

async fn claim(ledger: &TestLogins, streams: &[i64]) -> Option<Claimed> {
    ledger.mouth().claim(streams, LEASE).await.unwrap()
}

/// What the machine is told, by row.
async fn told(session: &Session) -> Vec<(String, Outcome)> {
    let told = session.read_after(Cursor { epoch: 1, seq: 0 }, 0, 1).await.unwrap().outcomes;
    let numbers: Vec<i64> = told.iter().map(|o| o.outcome_n).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "outcomes are not in order: {numbers:?}");
    told.into_iter().map(|o| (o.row, o.outcome)).collect()
}

fn refused(row: &str, reason: &str) -> (String, Outcome) {
    (row.into(), Outcome::Refused { reason: reason.into() })
}

fn settled(row: &str, id: Option<&str>) -> (String, Outcome) {
    (row.into(), Outcome::Settled { platform_id: id.map(Into::into) })
}

fn echo(stream: i64, id: &str, outbox_n: Option<i64>) -> NewItem {
    NewItem { author_kind: AuthorKind::Own, outbox_n, ..line(stream, id, "the bot", "said") }
}

#[tokio::test]
async fn rows_leave_one_at_a_time_in_their_order() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (kiln, session) = with_rows(&ledger, "kiln", vec![post("1.0", "one"), react("1.1", "a", "+"), post("1.2", "three")]).await;
    let mouth = ledger.mouth();
    let one = claim(&ledger, &[kiln]).await.unwrap();
    assert_eq!((one.dedupe.as_str(), one.body.as_deref(), one.fence, one.nonce.clone()), ("1.0", Some("one"), 1, format!("p{kiln}.1")));
    assert!(claim(&ledger, &[kiln]).await.is_none(), "a later row left while an earlier one is with a gateway");
    assert!(mouth.settle(kiln, one.n, one.fence, Some("x1")).await.unwrap());
    assert!(mouth.settle(kiln, one.n, one.fence, Some("x1")).await.unwrap(), "settling twice is no error");
    let two = claim(&ledger, &[kiln]).await.unwrap();
    assert_eq!((two.emoji.as_deref(), two.reply_to.as_deref(), two.reply_shows), (Some("+"), Some("a"), true));
    assert!(mouth.refuse(kiln, two.n, two.fence, "target_gone").await.unwrap());
    assert!(!mouth.refuse(kiln, two.n, two.fence, "again").await.unwrap());
    let three = claim(&ledger, &[kiln]).await.unwrap();
    assert!(mouth.park(kiln, three.n, three.fence, "no_answer").await.unwrap());
    assert!(claim(&ledger, &[kiln]).await.is_none());
    let parked = ("1.2".to_owned(), Outcome::Parked { reason: "no_answer".into() });
    assert_eq!(told(&session).await, [settled("1.0", Some("x1")), refused("1.1", "target_gone"), parked]);
    // The echo of a parked row was there after all.
    ledger.ear().ingest(&[echo(kiln, "x3", Some(three.n))]).await.unwrap();
    assert_eq!(told(&session).await[2], settled("1.2", Some("x3")));
}

#[tokio::test]
async fn a_lapsed_claim_is_handed_out_again_and_its_old_fence_is_dead() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (kiln, session) = with_rows(&ledger, "kiln", vec![post("1.0", "one")]).await;
    let mouth = ledger.mouth();
    let old = mouth.claim(&[kiln], Duration::from_millis(1)).await.unwrap().unwrap();
    db.sql("update parlor.outbox set lease_until_ms = 0").await.unwrap();
    let new = claim(&ledger, &[kiln]).await.unwrap();
    assert_eq!((new.n, new.fence, new.first_claimed_ms), (old.n, old.fence + 1, old.first_claimed_ms));
    assert!(!mouth.settle(kiln, old.n, old.fence, Some("late")).await.unwrap());
    assert!(!mouth.park(kiln, old.n, old.fence, "late").await.unwrap());
    assert!(!mouth.refuse(kiln, old.n, old.fence, "late").await.unwrap());
    assert!(!mouth.settle(kiln, old.n, 0, Some("forged")).await.unwrap());
    assert_eq!(told(&session).await, []);
    assert!(mouth.settle(kiln, new.n, new.fence, Some("x1")).await.unwrap());
    assert_eq!(told(&session).await, [settled("1.0", Some("x1"))]);
}

#[tokio::test]
async fn a_row_whose_time_is_over_expires_and_one_that_may_be_out_is_parked() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let past = |dedupe: &str| Row { expires_at: 5, ..post(dedupe, "late") };
    let (kiln, session) = with_rows(&ledger, "kiln", vec![past("1.0"), past("1.1"), post("1.2", "in time")]).await;
    assert_eq!(claim(&ledger, &[kiln]).await.unwrap().dedupe, "1.2");
    assert_eq!(told(&session).await, [("1.0".into(), Outcome::Expired), ("1.1".into(), Outcome::Expired)]);
    db.sql("update parlor.outbox set lease_until_ms = 0, expires_ms = 5 where dedupe = '1.2'").await.unwrap();
    assert!(claim(&ledger, &[kiln]).await.is_none());
    assert_eq!(told(&session).await[2], ("1.2".into(), Outcome::Parked { reason: "lease_lost".into() }));
}

#[tokio::test]
async fn a_withdrawal_is_in_time_or_too_late() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (kiln, session) = with_rows(&ledger, "kiln", vec![post("1.0", "one"), post("1.1", "two")]).await;
    claim(&ledger, &[kiln]).await.unwrap();
    let withdrawals = vec!["1.0".into(), "1.1".into(), "9.9".into()];
    session.step(&StepRecord { withdrawals, ..step(2) }).await.unwrap();
    assert_eq!(told(&session).await, [("1.1".into(), Outcome::Withdrawn)]);
}

#[tokio::test]
async fn an_echo_settles_its_row_by_nonce_or_by_the_id_that_the_mouth_was_told() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let rows = vec![post("1.0", "nonce"), post("1.1", "by id"), post("1.2", "echo before answer"), react("1.3", "x1", "+")];
    let (kiln, session) = with_rows(&ledger, "kiln", rows).await;
    let (ear, mouth) = (ledger.ear(), ledger.mouth());
    let state = |n: i64| {
        let reader = ledger.reader();
        async move { reader.rows(kiln, parlor::ledger::Page::After(n - 1), 1).await.unwrap()[0].state }
    };
    let one = claim(&ledger, &[kiln]).await.unwrap();
    let stored = ear.ingest(&[echo(kiln, "x1", Some(one.n))]).await.unwrap();
    assert_eq!((stored[0].row.as_deref(), stored[0].fresh), (Some("1.0"), true));
    assert!(mouth.settle(kiln, one.n, one.fence, Some("x1")).await.unwrap());
    assert_eq!(state(1).await, RowState::Done);
    let two = claim(&ledger, &[kiln]).await.unwrap();
    assert!(mouth.settle(kiln, two.n, two.fence, Some("x2")).await.unwrap());
    assert_eq!(state(2).await, RowState::Sent);
    let batch = [echo(kiln, "x2", None), echo(kiln, "x2", None), echo(kiln, "stray", None)];
    let stored = ear.ingest(&batch).await.unwrap();
    let rows: Vec<_> = stored.iter().map(|s| (s.row.as_deref(), s.fresh)).collect();
    assert_eq!(rows, [(Some("1.1"), true), (Some("1.1"), false), (None, true)], "an own post without a row has to be seen as one");
    assert_eq!(state(2).await, RowState::Done);
    let three = claim(&ledger, &[kiln]).await.unwrap();
    ear.ingest(&[echo(kiln, "x3", None)]).await.unwrap();
    assert!(mouth.settle(kiln, three.n, three.fence, Some("x3")).await.unwrap());
    assert_eq!(state(3).await, RowState::Done);
    let four = claim(&ledger, &[kiln]).await.unwrap();
    let put = NewItem { kind: ItemKind::Reaction, event_key: "r:x1:wren:+:1".into(), ..echo(kiln, "x1", Some(four.n)) };
    ear.ingest(&[put]).await.unwrap();
    let ids = [("1.0", Some("x1")), ("1.1", Some("x2")), ("1.2", Some("x3")), ("1.3", None)];
    assert_eq!(told(&session).await, ids.map(|(row, id)| settled(row, id)), "each is told once");
    // A change of an own post is its persona's too, and no echo; nor is a second post with the nonce of a done row.
    let edit = NewItem { kind: ItemKind::Edit, event_key: "e:x1:2".into(), ..echo(kiln, "x1", None) };
    let twice = ear.ingest(&[edit, echo(kiln, "x9", Some(one.n))]).await.unwrap();
    assert_eq!(twice.iter().map(|s| s.row.clone()).collect::<Vec<_>>(), [None, None]);
    let items = session.read_after(Cursor { epoch: 1, seq: 0 }, 0, 1).await.unwrap().items;
    let rows: Vec<_> = items.iter().map(|i| (i.author.as_str(), i.row.as_deref())).collect();
    let wren = |row| ("wren", row);
    let before = [wren(Some("1.0")), wren(Some("1.1")), ("the bot", None)];
    assert_eq!(rows[..3], before);
    assert_eq!(rows[4..], [wren(Some("1.3")), wren(None), wren(None)]);
}

#[tokio::test]
async fn mute_stop_and_shadow_refuse_what_waits_and_let_nothing_out() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let admin = ledger.admin();
    let hushes = [
        ("muted", PolicyRow { muted: true, ..policy() }),
        ("stopped", PolicyRow { stopped: true, ..policy() }),
        ("shadow", PolicyRow { mode: Mode::Shadow, ..policy() }),
    ];
    for (reason, hush) in hushes {
        let (room, session) = with_rows(&ledger, reason, vec![post("1.0", "one"), post("1.1", "two")]).await;
        let flying = claim(&ledger, &[room]).await.unwrap();
        assert_eq!(admin.set_policy(room, &hush).await.unwrap(), 2);
        assert_eq!(admin.set_policy(room, &hush).await.unwrap(), 2, "the same policy again is no new revision");
        assert!(claim(&ledger, &[room]).await.is_none());
        // What the machine submits before it has read of the hush.
        let born = session.step(&submit(2, vec![post("2.0", "three")])).await.unwrap().rows[0].state;
        assert!(claim(&ledger, &[room]).await.is_none());
        let later = if reason == "shadow" { settled("2.0", None) } else { refused("2.0", reason) };
        assert_eq!(born, if reason == "shadow" { RowState::Shadow } else { RowState::Refused });
        assert_eq!(told(&session).await, [refused("1.1", reason), later]);
        let reading = session.read_after(Cursor { epoch: 1, seq: 0 }, 0, 1).await.unwrap();
        assert_eq!((reading.muted, reading.policy.unwrap().revision), (reason == "muted", 2));
        // After the hush nothing of what waited leaves; the claim that was under way ends as it did.
        admin.set_policy(room, &policy()).await.unwrap();
        assert!(claim(&ledger, &[room]).await.is_none());
        assert!(ledger.mouth().settle(room, flying.n, flying.fence, None).await.unwrap());
    }
    let unruled = admin.ensure_stream("unruled", &parlor::ledger::Label::Public).await.unwrap().id;
    let session = ledger.begin(unruled).await;
    assert_eq!(session.step(&submit(1, vec![post("1.0", "x")])).await.unwrap().rows[0].state, RowState::Refused);
    assert!(session.read_after(Cursor::default(), 0, 0).await.unwrap().muted, "a room without a policy is silent");
}

#[tokio::test]
async fn a_chat_mute_hushes_at_once_and_only_the_controller_lifts_it() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (kiln, session) = with_rows(&ledger, "kiln", vec![post("1.0", "one")]).await;
    assert_eq!(ledger.mouth().chat_mute(kiln, "owner", "too loud", None).await.unwrap(), 1);
    assert_eq!(told(&session).await, [refused("1.0", "muted")]);
    let reading = session.read_after(Cursor { epoch: 1, seq: 0 }, 0, 1).await.unwrap();
    assert_eq!((reading.muted, reading.mute_ends_ms, reading.policy.is_none()), (true, None, true));
    ledger.admin().set_policy(kiln, &PolicyRow { value: json!({"new": true}), ..policy() }).await.unwrap();
    assert!(session.read_after(Cursor { epoch: 1, seq: 0 }, 0, 1).await.unwrap().muted, "a new policy does not lift it");
    assert_eq!(ledger.admin().lift_chat_mutes(kiln).await.unwrap(), 1);
    assert!(!session.read_after(Cursor { epoch: 1, seq: 0 }, 0, 1).await.unwrap().muted);
    // One with an end ends by itself.
    ledger.mouth().chat_mute(kiln, "owner", "", Some(9_000_000_000_000)).await.unwrap();
    assert_eq!(session.read_after(Cursor { epoch: 1, seq: 0 }, 0, 1).await.unwrap().mute_ends_ms, Some(9_000_000_000_000));
    db.sql("update parlor.chat_mute set until_ms = 1").await.unwrap();
    assert!(!session.read_after(Cursor { epoch: 1, seq: 0 }, 0, 1).await.unwrap().muted);
    session.step(&submit(2, vec![post("2.0", "two")])).await.unwrap();
    assert_eq!(claim(&ledger, &[kiln]).await.unwrap().dedupe, "2.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_row_is_claimed_after_the_commit_of_a_mute() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    for round in 0..12 {
        let rows = (0..40).map(|k| post(&format!("1.{k}"), "x")).collect();
        let (room, session) = with_rows(&ledger, &format!("r{round}"), rows).await;
        let stop = std::sync::atomic::AtomicBool::new(false);
        let gateway = || async {
            let mut claimed = Vec::new();
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                if let Some(row) = ledger.mouth().claim(&[room], LEASE).await.unwrap() {
                    ledger.mouth().settle(room, row.n, row.fence, None).await.unwrap();
                    claimed.push(row.n);
                }
            }
            claimed
        };
        let mute = async {
            // A different number of rows is out each time.
            while ledger.reader().rows(room, parlor::ledger::Page::After(round), 1).await.unwrap()[0].state == RowState::Queued {}
            if round % 2 == 0 {
                ledger.admin().set_policy(room, &PolicyRow { muted: true, ..policy() }).await.unwrap();
            } else {
                ledger.mouth().chat_mute(room, "owner", "", None).await.unwrap();
            }
            let taken = db.number(&format!("select count(*) from parlor.outbox where stream = {room} and fence > 0")).await;
            // Those that wait now were refused by the mute, and what comes now is refused at birth.
            session.step(&submit(2, vec![post("2.0", "late")])).await.unwrap();
            for _ in 0..20 {
                assert!(ledger.mouth().claim(&[room], LEASE).await.unwrap().is_none());
            }
            stop.store(true, std::sync::atomic::Ordering::SeqCst);
            taken
        };
        let (a, b, taken) = tokio::join!(gateway(), gateway(), mute);
        assert_eq!((a.len() + b.len()) as i64, taken, "round {round}: a row was claimed after the mute");
        assert!(a.is_sorted() && b.is_sorted() && a.iter().all(|n| !b.contains(n)));
        let all = told(&session).await;
        let muted = all.iter().filter(|(_, o)| matches!(o, Outcome::Refused { reason } if reason == "muted")).count() as i64;
        assert_eq!((muted, all.len()), (41 - taken, 41), "round {round}");
    }
}

#[tokio::test]
async fn in_shadow_rows_are_born_settled_and_never_leave() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    ledger.admin().set_policy(kiln, &PolicyRow { mode: Mode::Shadow, ..policy() }).await.unwrap();
    let session = ledger.begin(kiln).await;
    session.step(&submit(1, vec![post("1.0", "one")])).await.unwrap();
    assert_eq!(told(&session).await, [settled("1.0", None)]);
    assert!(claim(&ledger, &[kiln]).await.is_none());
    ledger.admin().set_policy(kiln, &policy()).await.unwrap();
    assert!(claim(&ledger, &[kiln]).await.is_none(), "a shadow row left after the room became Active");
    // A row that the machine itself marks, in a room that is Active by now.
    session.step(&submit(2, vec![Row { shadow: true, ..post("2.0", "two") }])).await.unwrap();
    assert!(claim(&ledger, &[kiln]).await.is_none());
}

#[tokio::test]
async fn unprompted_posts_are_counted_at_submit_and_at_claim() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let free = |dedupe: &str| Row { unprompted: true, ..post(dedupe, "by the way") };
    let other = Row { persona: "rook".into(), ..free("1.3") };
    let (kiln, session) = with_rows(&ledger, "kiln", vec![free("1.0"), free("1.1"), free("1.2"), other, post("1.4", "asked for")]).await;
    assert_eq!(told(&session).await, [refused("1.2", "no_budget")], "two an hour and persona");
    // An hour later the next is free again; then the budget goes down while they wait.
    db.sql("update parlor.outbox set created_ms = created_ms - 3600001").await.unwrap();
    assert_eq!(session.step(&submit(2, vec![free("2.0")])).await.unwrap().rows[0].state, RowState::Queued);
    let one = PolicyRow { value: json!({"budget": {"unprompted_per_hour": 1}}), ..policy() };
    ledger.admin().set_policy(kiln, &one).await.unwrap();
    let mut claimed = Vec::new();
    while let Some(row) = claim(&ledger, &[kiln]).await {
        ledger.mouth().settle(kiln, row.n, row.fence, None).await.unwrap();
        claimed.push(row.dedupe);
    }
    assert_eq!(claimed, ["1.0", "1.3", "1.4"]);
    let refusals: Vec<_> = told(&session).await.into_iter().filter(|(_, o)| matches!(o, Outcome::Refused { .. })).collect();
    assert_eq!(refusals, [refused("1.2", "no_budget"), refused("1.1", "no_budget"), refused("2.0", "no_budget")]);
    // A policy that says nothing of it allows none.
    ledger.admin().set_policy(kiln, &PolicyRow { value: json!({}), ..policy() }).await.unwrap();
    db.sql("update parlor.outbox set created_ms = 0, claimed_ms = 0").await.unwrap();
    assert_eq!(session.step(&submit(3, vec![free("3.0")])).await.unwrap().rows[0].state, RowState::Refused);
}

#[tokio::test]
async fn the_oldest_room_is_served_first_and_a_busy_one_does_not_hold_up_the_others() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (a, _) = with_rows(&ledger, "a", vec![post("1.0", "a1"), post("1.1", "a2")]).await;
    let (b, _) = with_rows(&ledger, "b", vec![post("1.0", "b1")]).await;
    let (c, _) = with_rows(&ledger, "c", vec![post("1.0", "c1")]).await;
    ledger.admin().set_policy(b, &PolicyRow { muted: true, ..policy() }).await.unwrap();
    let mut bodies = Vec::new();
    while let Some(row) = claim(&ledger, &[c, b, a]).await {
        bodies.push(row.body.unwrap());
    }
    assert_eq!(bodies, ["a1", "c1"]);
    assert!(claim(&ledger, &[]).await.is_none());
}
