//! Grants at the ledger: what a session may load, what it stamps on its work, what a release copies and what a revocation leaves.

use std::time::Duration;

use futures::future::join_all;
use parlor::ledger::{About, GrantItems, GrantMode, LedgerError, NewGrant, NewNote, Page, RowState, Session};
use parlor_core::ItemKind;

use crate::support::{
    attack::Probes,
    postgres::{TestDb, TestLogins},
    steps::{line, open_room, post, step, submit},
};

const FOR_EVER: i64 = 9_000_000_000_000;
/// Of g03: ten thousand races in all.
const GRANTS: usize = 500;
const TRIES: usize = 20;

/// A source with two lines, and a target that may say something.
async fn rooms(ledger: &TestLogins) -> (i64, i64) {
    let (source, target) = (open_room(&ledger.admin(), "bench").await, open_room(&ledger.admin(), "kiln").await);
    ledger.ear().ingest(&[line(source, "a", "ada", "three parts of bone ash"), line(source, "b", "ada", "and no iron")]).await.unwrap();
    (source, target)
}

fn grant(id: &str, source: i64, target: i64, mode: GrantMode) -> NewGrant {
    let items = GrantItems::PlatformIds { platform_ids: vec!["a".into()] };
    let (purpose, granted_by) = ("tonight's firing".into(), "owner".into());
    NewGrant { id: id.into(), source, target, mode, items, purpose, granted_by, expires_ms: FOR_EVER }
}

/// A boot of the stream's next incarnation.
async fn next_incarnation(ledger: &TestLogins, stream: i64) -> Session {
    let login = ledger.admin().mint(stream, &[]).await.unwrap();
    Session::begin(&ledger.logins().room(&login), stream).await.unwrap()
}

#[tokio::test]
async fn a_session_loads_what_was_granted_before_its_login_was_made_and_nothing_of_anybody_else() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (source, target) = rooms(&ledger).await;
    let before = next_incarnation(&ledger, target).await;
    let made = ledger.admin().apply_grant(&grant("g", source, target, GrantMode::Read)).await.unwrap();
    assert!(made.fresh && made.count == 1);
    assert!(!ledger.admin().apply_grant(&grant("g", source, target, GrantMode::Read)).await.unwrap().fresh, "the same again");
    assert_eq!(before.read_granted().await.unwrap(), [], "a session's rights never grow");
    let other = next_incarnation(&ledger, source).await;
    assert_eq!(other.read_granted().await.unwrap(), []);
    let session = next_incarnation(&ledger, target).await;
    let texts: Vec<String> = session.read_granted().await.unwrap().into_iter().map(|i| i.text).collect();
    assert_eq!(texts, ["three parts of bone ash"]);
    assert!(matches!(before.read_granted().await, Err(LedgerError::Fenced | LedgerError::Other(_) | LedgerError::Unavailable(_))));

    // What is not the granted bytes any more is not loaded.
    db.sql(&format!("update parlor.item_body set body = 'other' where stream = {source} and seq = 1")).await.unwrap();
    assert_eq!(session.read_granted().await.unwrap(), []);
    let changed = NewGrant { purpose: "another purpose".into(), ..grant("g", source, target, GrantMode::Read) };
    assert!(matches!(ledger.admin().apply_grant(&changed).await, Err(LedgerError::Refused(_))), "a grant never changes");
}

#[tokio::test]
async fn what_a_session_writes_carries_what_it_loaded_and_goes_with_it() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (source, target) = rooms(&ledger).await;
    ledger.admin().apply_grant(&grant("g", source, target, GrantMode::Read)).await.unwrap();
    let session = next_incarnation(&ledger, target).await;
    let note = |body: &str| NewNote { about: About::Person("ada".into()), body: body.into(), supersedes: None };
    session.note(&note("she likes blue")).await.unwrap();
    session.read_granted().await.unwrap();
    session.note(&note("bone ash")).await.unwrap();
    session.step(&submit(1, vec![post("1.0", "it has bone ash")])).await.unwrap();
    let notes = async |s: &Session| s.notes(&["ada".into()]).await.unwrap().into_iter().map(|n| n.body).collect::<Vec<_>>();
    assert_eq!(notes(&session).await, ["bone ash", "she likes blue"]);

    assert!(ledger.admin().close_grant("g", "revoked", 1).await.unwrap(), "the login has to be replaced");
    assert!(!ledger.admin().close_grant("g", "revoked", 1).await.unwrap(), "ending it again changes nothing");
    assert!(session.step(&step(2)).await.is_err(), "a session that knew writes nothing more");
    let rows = ledger.reader().rows(target, Page::Last, 9).await.unwrap();
    assert_eq!((rows[0].state, rows[0].reason.as_deref()), (RowState::Refused, Some("revoked")));
    assert!(ledger.mouth().claim(&[target], Duration::from_secs(9)).await.unwrap().is_none());
    let session = next_incarnation(&ledger, target).await;
    assert_eq!(session.read_granted().await.unwrap(), []);
    assert_eq!(notes(&session).await, ["she likes blue"]);
    assert_eq!(db.number(&format!("select count(*) from parlor.room_input where stream = {target}")).await, 0, "its machine forgets");
}

#[tokio::test]
async fn a_row_of_a_grant_that_has_run_out_does_not_leave() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (source, target) = rooms(&ledger).await;
    ledger.admin().apply_grant(&grant("g", source, target, GrantMode::Read)).await.unwrap();
    let session = next_incarnation(&ledger, target).await;
    session.read_granted().await.unwrap();
    session.step(&submit(1, vec![post("1.0", "it has bone ash")])).await.unwrap();
    // Nobody has swept yet.
    db.sql("alter table parlor.grant disable trigger append_only").await.unwrap();
    db.sql("update parlor.grant set made_ms = 1, expires_ms = 2").await.unwrap();
    assert!(ledger.mouth().claim(&[target], Duration::from_secs(9)).await.unwrap().is_none());
    assert_eq!(ledger.reader().rows(target, Page::Last, 9).await.unwrap()[0].reason.as_deref(), Some("revoked"));
    assert_eq!(session.read_granted().await.unwrap(), []);
    let open = ledger.admin().grants_to_close(&["g".into()]).await.unwrap();
    assert_eq!((open[0].id.as_str(), open[0].why.as_str()), ("g", "expired"));
}

#[tokio::test]
async fn g03_a_release_copies_exactly_the_bytes_once_however_many_try() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let (source, target) = rooms(&ledger).await;
    let (ours, theirs) = (next_incarnation(&ledger, target).await, next_incarnation(&ledger, source).await);
    let mut once = 0;
    for n in 0..GRANTS {
        let id = format!("g{n}");
        ledger.admin().apply_grant(&grant(&id, source, target, GrantMode::Release)).await.unwrap();
        assert!(theirs.release(&id).await.is_err(), "a session of another room");
        let copied: i64 = join_all((0..TRIES).map(|_| ours.release(&id))).await.into_iter().map(Result::unwrap).sum();
        once += usize::from(copied == 1);
    }
    Probes { promise: "g03", tried: GRANTS, held: once, naive: None }.settle();
    assert_eq!(db.number(&format!("select count(*) from parlor.item where stream = {target}")).await, GRANTS as i64);
    let items = ledger.reader().items(target, Page::Last, 99).await.unwrap();
    assert!(items.iter().all(|i| i.kind == ItemKind::System && i.text == "three parts of bone ash" && i.author == "ada"));
    assert_eq!(db.number(&format!("select min(trust)::bigint from parlor.item where stream = {target}")).await, 2, "no person's trust");
    // Read is no Release, changed bytes are none, and after its end there is nothing to release.
    ledger.admin().apply_grant(&grant("read", source, target, GrantMode::Read)).await.unwrap();
    assert!(matches!(ours.release("read").await, Err(LedgerError::Refused(_))));
    ledger.admin().apply_grant(&grant("changed", source, target, GrantMode::Release)).await.unwrap();
    db.sql(&format!("update parlor.item_body set body = 'other' where stream = {source} and seq = 1")).await.unwrap();
    assert_eq!(ours.release("changed").await.unwrap(), 0);
    ledger.admin().close_grant(&format!("g{}", GRANTS - 1), "revoked", 1).await.unwrap();
    let items = ledger.reader().items(target, Page::Last, 99).await.unwrap();
    assert_eq!(items.iter().filter(|i| i.text.is_empty() && i.kind == ItemKind::System).count(), 1, "its copy is gone");
    assert_eq!(items.iter().filter(|i| i.kind == ItemKind::Delete).count(), 1);
}

#[tokio::test]
async fn what_operators_said_never_goes_to_a_public_room() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let source = ledger.admin().ensure_stream("ops", &parlor::ledger::Label::Operator).await.unwrap().id;
    let target = ledger.admin().ensure_stream("window", &parlor::ledger::Label::Public).await.unwrap().id;
    ledger.ear().ingest(&[line(source, "a", "ada", "the safe is open")]).await.unwrap();
    let refused = ledger.admin().apply_grant(&grant("g", source, target, GrantMode::Release)).await.unwrap_err();
    assert!(refused.to_string().contains("LabelForbidden"), "{refused}");
}
