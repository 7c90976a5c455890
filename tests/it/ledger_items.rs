//! Items: stored once, numbered densely in the order of the commits, read from one snapshot, never changed.

use std::{collections::BTreeSet, time::Duration};

use parlor::ledger::{Cursor, Label, LedgerError, NewItem, Page, Snapshot, StepRecord};
use parlor_core::ItemKind;

use crate::support::{
    postgres::TestDb,
    steps::{line, room, step},
};

#[tokio::test]
async fn a_stream_is_made_once_and_keeps_its_label() {
    let db = TestDb::new().await;
    let admin = db.ledger().admin();
    let label = Label::Room("kiln".into());
    let made = futures::future::join_all((0..6).map(|_| admin.ensure_stream("kiln", &label))).await;
    let ids: BTreeSet<i64> = made.into_iter().map(|m| m.unwrap().id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(admin.streams().await.unwrap()[0].label, label);
    let wrong = admin.ensure_stream("kiln", &Label::Public).await.unwrap_err();
    assert!(matches!(wrong, LedgerError::Refused(_)), "{wrong}");
}

#[tokio::test]
async fn an_event_is_stored_once_and_keeps_its_seq() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = room(&ledger.admin(), "kiln").await;
    let ear = ledger.ear();
    let batch = [line(kiln, "a", "ada", "one"), line(kiln, "b", "bo", "two"), line(kiln, "a", "ada", "one")];
    let first = ear.ingest(&batch).await.unwrap();
    assert_eq!(first.iter().map(|s| (s.seq, s.fresh)).collect::<Vec<_>>(), [(1, true), (2, true), (1, false)]);
    let again = ear.ingest(&[line(kiln, "c", "ada", "three"), line(kiln, "b", "bo", "two")]).await.unwrap();
    assert_eq!(again.iter().map(|s| (s.seq, s.fresh)).collect::<Vec<_>>(), [(3, true), (2, false)]);
    let digest = "select count(*) from parlor.item i join parlor.item_body b using (stream, seq)
                  where i.digest = sha256(b.salt || convert_to(b.body, 'UTF8'))";
    assert_eq!(db.number(digest).await, 3);
    let none = ear.ingest(&[line(kiln + 99, "x", "ada", "nowhere")]).await.unwrap_err();
    assert!(matches!(none, LedgerError::Refused(_)), "{none}");
    let nul = ear.ingest(&[line(kiln, "n\0ul", "ada", "a\0b")]).await.unwrap();
    assert_eq!(nul[0].seq, 4);
    let items = ledger.reader().items(kiln, Page::Last, 1).await.unwrap();
    assert_eq!(items[0].text, "a\u{fffd}b");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_writers_leave_no_gap_and_a_reader_misses_nothing() {
    const WRITERS: usize = 8;
    const EACH: usize = 40;
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let mut streams = Vec::new();
    for name in ["a", "b", "c"] {
        streams.push(room(&ledger.admin(), name).await);
    }
    let session = ledger.begin(streams[0]).await;
    let writers = (0..WRITERS).map(|w| {
        let (ear, streams, url) = (ledger.ear(), streams.clone(), db.url.clone());
        async move {
            for k in 0..EACH {
                // Batches over all rooms in different orders, events that two writers share, and a foreign transaction that
                // is rolled back after it has taken numbers.
                let mut batch = Vec::new();
                for s in 0..3 {
                    let stream = streams[(s + w + k) % 3];
                    batch.push(line(stream, &format!("{}-{k}-{stream}", w / 2), "ada", "shared"));
                    batch.push(line(stream, &format!("own-{w}-{k}-{s}"), "bo", "own"));
                }
                let stored = ear.ingest(&batch).await.unwrap();
                assert_eq!(stored.len(), batch.len());
                if k % 5 == 0 {
                    roll_back(&url, streams[k % 3], w, k).await;
                }
            }
        }
    });
    let reader = async {
        let (mut cursor, mut seen) = (Cursor { epoch: 1, seq: 0 }, BTreeSet::new());
        let all = (WRITERS * EACH + WRITERS / 2 * EACH) as i64;
        let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
        while cursor.seq < all {
            assert!(tokio::time::Instant::now() < deadline, "only {} of {all} items came", cursor.seq);
            let reading = session.read_after(cursor, 0, 0).await.unwrap();
            for item in reading.items {
                assert_eq!(item.seq, cursor.seq + 1, "an item was skipped");
                assert!(seen.insert(item.event_key), "an item came twice");
                cursor.seq = item.seq;
            }
        }
    };
    tokio::join!(futures::future::join_all(writers), reader);
    let gaps = "select count(*) from (select stream from parlor.item group by stream having max(seq) <> count(*)) x";
    assert_eq!(db.number(gaps).await, 0);
    assert_eq!(db.number("select count(*) from parlor.item").await, (3 * (WRITERS * EACH + WRITERS / 2 * EACH)) as i64);
    assert_eq!(
        db.number("select count(*) from parlor.stream_head h where seq <> (select max(seq) from parlor.item i where i.stream = h.stream)")
            .await,
        0
    );
}

async fn roll_back(url: &secrecy::SecretString, stream: i64, w: usize, k: usize) {
    use secrecy::ExposeSecret;
    use sqlx::Connection;
    let mut conn = sqlx::PgConnection::connect(url.expose_secret()).await.unwrap();
    let mut tx = conn.begin().await.unwrap();
    sqlx::query(
        "select api.ingest(array[$1], array[1], array['x'], array['human'], array['X'], array['message'], array[$2], array['p'], array[null],
         array['gone'], array['[]'], array['[]'], array[null::bigint])",
    )
    .bind(stream)
    .bind(format!("m:gone-{w}-{k}"))
    .execute(&mut *tx)
    .await
    .unwrap();
    tx.rollback().await.unwrap();
    conn.close().await.unwrap();
}

#[tokio::test]
async fn a_reply_an_edit_and_a_reaction_name_the_line_they_are_about() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = room(&ledger.admin(), "kiln").await;
    let reply = NewItem { reply_to: Some("a".into()), ..line(kiln, "b", "bo", "to you") };
    let edit = NewItem { kind: ItemKind::Edit, event_key: "e:a:2".into(), ..line(kiln, "a", "ada", "better") };
    let put = NewItem { kind: ItemKind::Reaction, event_key: "r:b:ada:+:1".into(), ..line(kiln, "b", "ada", "+") };
    let orphan = NewItem { reply_to: Some("nowhere".into()), ..line(kiln, "c", "bo", "hm") };
    let ear = ledger.ear();
    ear.ingest(&[line(kiln, "a", "ada", "hello"), reply, edit, put, orphan]).await.unwrap();
    let items = ledger.reader().items(kiln, Page::After(0), 100).await.unwrap();
    let of: Vec<_> = items.iter().map(|i| (i.of_seq, i.of_author.clone())).collect();
    let (ada, bo) = (Some("ada".to_owned()), Some("bo".to_owned()));
    assert_eq!(of, [(None, None), (Some(1), ada.clone()), (Some(1), ada), (Some(2), bo), (None, None)]);
    assert_eq!(ledger.reader().items(kiln, Page::Before(4), 2).await.unwrap().iter().map(|i| i.seq).collect::<Vec<_>>(), [2, 3]);
    let state = ear.message(kiln, "b", "ada", "+").await.unwrap().unwrap();
    assert!(state.reacted && !state.deleted && state.reaction_seq == Some(4));
    let off = NewItem { kind: ItemKind::Unreaction, event_key: "r:b:ada:+:2".into(), ..line(kiln, "b", "ada", "+") };
    let gone = NewItem { kind: ItemKind::Delete, event_key: "d:b".into(), ..line(kiln, "b", "bo", "") };
    ear.ingest(&[off, gone]).await.unwrap();
    let state = ear.message(kiln, "b", "ada", "+").await.unwrap().unwrap();
    assert!(!state.reacted && state.deleted && state.reaction_seq == Some(6));
    assert_eq!(ear.message(kiln, "zz", "ada", "+").await.unwrap(), None);
}

#[tokio::test]
async fn what_was_said_is_found_by_words_and_what_was_deleted_is_not() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = room(&ledger.admin(), "kiln").await;
    let other = room(&ledger.admin(), "other").await;
    let delete = NewItem { kind: ItemKind::Delete, event_key: "d:b".into(), ..line(kiln, "b", "ada", "") };
    let lines = [
        line(kiln, "a", "ada", "the celadon glaze crawled"),
        line(kiln, "b", "ada", "my glaze is secret"),
        line(other, "c", "ada", "glaze of another room"),
        delete,
        line(kiln, "d", "bo", "Glaze, and Ünïcode"),
    ];
    ledger.ear().ingest(&lines).await.unwrap();
    let session = ledger.begin(kiln).await;
    let found = |words: &'static str| {
        let session = session.clone();
        async move { session.search(words, 10).await.unwrap().iter().map(|i| i.seq).collect::<Vec<_>>() }
    };
    assert_eq!(found("glaze").await, [4, 1]);
    // The same by the index, which a snapshot takes with it, and partly by it.
    let snapshot = Some(Snapshot { n: 1, format: 1, state: vec![1] });
    session.step(&StepRecord { snapshot, ..step(1) }).await.unwrap();
    assert_eq!(db.number(&format!("select words_seq from parlor.stream_head where stream = {kiln}")).await, 4);
    assert_eq!(found("glaze").await, [4, 1]);
    ledger.ear().ingest(&[line(kiln, "e", "bo", "one more glaze")]).await.unwrap();
    assert_eq!(found("glaze").await, [5, 4, 1]);
    assert_eq!(found("\"celadon glaze\"").await, [1]);
    assert_eq!(found("ünïcode").await, [4]);
    assert_eq!(found("'; drop table").await, Vec::<i64>::new());
    assert_eq!(session.history(4, 2).await.unwrap().iter().map(|i| i.seq).collect::<Vec<_>>(), [2, 3]);
}

#[tokio::test]
async fn the_log_refuses_changes_on_every_partition() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = room(&ledger.admin(), "kiln").await;
    ledger.ear().ingest(&[line(kiln, "a", "ada", "one")]).await.unwrap();
    for table in ["parlor.item".to_owned(), format!("parlor.item_{kiln}"), "parlor.audit".into()] {
        let column = if table.contains("item") { "author" } else { "persona" };
        for sql in [
            format!("update {table} set {column} = 'mallory'"),
            format!("delete from {table}"),
            format!("delete from {table} where false"),
            format!("truncate {table} cascade"),
        ] {
            let e = db.sql(&sql).await.map(|_| sql).unwrap_err();
            assert_eq!(e.as_database_error().unwrap().code().unwrap(), "PLR00", "{e}");
        }
    }
    let replica = format!("do $$ begin set local session_replication_role = replica; delete from parlor.item_{kiln}; end $$");
    assert!(db.sql(&replica).await.is_err());
    assert_eq!(db.number("select count(*) from parlor.item").await, 1);
    // An erasure may blank a body, and the digest stays.
    db.sql("update parlor.item_body set body = '', salt = '', name = ''").await.unwrap();
    assert_eq!(ledger.reader().items(kiln, Page::Last, 9).await.unwrap()[0].text, "");
}

#[tokio::test]
async fn too_much_is_refused_with_the_bound() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = room(&ledger.admin(), "kiln").await;
    let long = ledger.ear().ingest(&[line(kiln, "a", "ada", &"x".repeat(65_537))]).await.unwrap_err();
    assert!(matches!(long, LedgerError::Refused(_)), "{long}");
    let many: Vec<_> = (0..501).map(|k| line(kiln, &k.to_string(), "ada", "x")).collect();
    let many = ledger.ear().ingest(&many).await.unwrap_err();
    assert!(matches!(many, LedgerError::Refused(_)), "{many}");
    assert_eq!(db.number("select count(*) from parlor.item").await, 0);
    let words = (0..4_096).fold(String::new(), |words, k| words + &format!("w{k:03x} "));
    ledger.ear().ingest(&[line(kiln, "b", "ada", &words)]).await.unwrap();
}
