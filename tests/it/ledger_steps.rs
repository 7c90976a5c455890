//! What a room machine persists: whole steps, once each, by the newest boot only; and the way back.

use parlor::ledger::{About, Born, Cursor, LedgerError, NewJob, NewNote, Page, RowState, Snapshot, StepRecord};
use parlor_core::{Decision, EffectId, Likelihood, Measured, ObligationId, Odds, Outcome, Seen, What, Why};

use crate::support::{
    postgres::TestDb,
    steps::{LATE, line, open_room, post, raw, react, step, submit},
};

const START: Cursor = Cursor { epoch: 1, seq: 0 };

fn decision(what: What, why: Why, lines: &[u64]) -> Decision {
    Decision {
        what,
        why,
        persona: Some("wren".into()),
        obligations: vec![ObligationId { input: 3, index: 1 }],
        effect: Some(EffectId { input: 4, index: 0 }),
        seen: Seen { cursor: 7, lines: lines.to_vec() },
        odds: None,
    }
}

#[tokio::test]
async fn a_step_is_stored_once_and_whole() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    let one = StepRecord {
        decisions: vec![decision(What::Opened, Why::TypedMention, &[7]), decision(What::Submitted, Why::Due, &[])],
        ..submit(1, vec![post("1.0", "hello"), react("1.1", "a", "+")])
    };
    let done = session.step(&one).await.unwrap();
    let born = |dedupe: &str, n| Born { dedupe: dedupe.into(), n, state: RowState::Queued, found: false };
    assert_eq!((done.repeated, done.rows), (false, vec![born("1.0", 1), born("1.1", 2)]));
    let again = session.step(&one).await.unwrap();
    assert!(again.repeated && again.rows.is_empty());
    assert_eq!(db.number("select count(*) from parlor.outbox").await, 2);
    assert_eq!(db.number("select count(*) from parlor.decision").await, 2);
    assert_eq!(db.text("select input::text from parlor.room_input").await, one.input.get(), "the input is not kept byte for byte");

    let other = StepRecord { input: raw("{}"), ..one.clone() };
    assert!(matches!(session.step(&other).await.unwrap_err(), LedgerError::Conflict(_)));
    assert!(matches!(session.step(&step(3)).await.unwrap_err(), LedgerError::Conflict(_)));
    // A row that cannot be stored takes the whole step with it.
    let bad =
        StepRecord { decisions: vec![decision(What::Notice, Why::Gap, &[])], ..submit(2, vec![post("2.0", "fine"), post("2.1", "")]) };
    assert!(matches!(session.step(&bad).await.unwrap_err(), LedgerError::Refused(_)));
    assert_eq!(db.number("select count(*) from parlor.outbox").await, 2);
    assert_eq!(db.number("select input_n from parlor.stream_head").await, 1);
    // A batch of which the first part is stored already.
    let batch: Vec<StepRecord> = vec![one, step(2), submit(3, vec![post("3.0", "more")])];
    let done = session.steps(&batch).await.unwrap();
    assert_eq!(done.iter().map(|d| (d.n, d.repeated, d.rows.len())).collect::<Vec<_>>(), [(1, true, 0), (2, false, 0), (3, false, 1)]);
    let floor = ledger.reader().floor(kiln).await.unwrap().unwrap();
    assert_eq!((floor.view.get(), floor.at_ms), (r#"{"step": 3}"#, 1_700_000_000_003));
}

#[tokio::test]
async fn what_the_models_thought_is_kept_with_the_decision() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    let measured = Measured { likelihood: Likelihood::Answered, permille: 812, bar_permille: 140 };
    let all = [
        None,
        Some(Odds { me_permille: 52, room_permille: 618, measured: Some(measured) }),
        Some(Odds { me_permille: 0, room_permille: 1_000, measured: None }),
    ];
    let decisions = all.map(|odds| Decision { odds, ..decision(What::Answered, Why::PersonAnswered, &[7]) }).to_vec();
    session.step(&StepRecord { decisions, ..step(1) }).await.unwrap();
    let read = ledger.reader().decisions(kiln, Page::Last, 9).await.unwrap();
    assert_eq!(read.iter().map(|d| d.odds).collect::<Vec<_>>(), all);
    assert_eq!(ledger.reader().decisions_about(kiln, 7).await.unwrap()[1].odds, all[1]);
    assert_eq!(db.number("select count(*) from parlor.decision where odds is null").await, 1);
}

#[tokio::test]
async fn an_older_boot_is_fenced_from_everything() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let old = ledger.begin(kiln).await;
    let job = NewJob { dedupe: "tea".into(), due_ms: 0, expires_ms: LATE, persona: "wren".into(), text: "tea?".into() };
    old.remind(&job).await.unwrap();
    old.step(&step(1)).await.unwrap();
    assert_eq!(old.job_claim().await.unwrap().len(), 1);
    let new = ledger.begin(kiln).await;
    let note = NewNote { about: About::Topic("glaze".into()), body: "b".into(), supersedes: None };
    let answers = [
        old.step(&step(2)).await.map(drop),
        old.step(&step(1)).await.map(drop),
        old.read_after(START, 0, 0).await.map(drop),
        old.restore().await.map(drop),
        old.job_claim().await.map(drop),
        old.remind(&job).await.map(drop),
        old.note(&note).await.map(drop),
        old.notes(&[]).await.map(drop),
        old.search("tea", 1).await.map(drop),
        old.history(9, 1).await.map(drop),
        old.typing("wren", LATE).await,
    ];
    for (k, answer) in answers.into_iter().enumerate() {
        assert!(matches!(answer, Err(LedgerError::Fenced)), "call {k}: {answer:?}");
    }
    // What the old one had been handed and did not take up is handed out again.
    assert_eq!(new.job_claim().await.unwrap()[0].dedupe, "tea");
    new.step(&step(2)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_of_an_older_boot_commits_after_a_newer_one_began() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let mut next = 1;
    for _ in 0..20 {
        let old = ledger.begin(kiln).await;
        let writer = async {
            let mut stored = 0;
            for k in 0..200 {
                match old.step(&step(next + k)).await {
                    Ok(_) => stored += 1,
                    Err(LedgerError::Fenced) => return stored,
                    Err(e) => panic!("{e}"),
                }
            }
            stored
        };
        let (stored, seen) = tokio::join!(writer, async {
            let new = ledger.begin(kiln).await;
            new.restore().await.unwrap().last_n
        });
        assert_eq!(next - 1 + stored, seen, "a step was stored after the newer boot had begun");
        next = seen + 1;
    }
}

#[tokio::test]
async fn a_restart_resumes_from_the_snapshot_and_the_inputs_since() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    assert_eq!(session.restore().await.unwrap().last_n, 0);
    for n in 1..=10 {
        let snapshot = (n % 3 == 0).then(|| Snapshot { n, format: 1, state: vec![u8::try_from(n).unwrap(), 0, 255] });
        session.step(&StepRecord { snapshot, outcome_n: n * 2, policy_revision: n * 3, ..step(n) }).await.unwrap();
    }
    let session = ledger.begin(kiln).await;
    let back = session.restore().await.unwrap();
    let snapshot = |n: i64| Snapshot { n, format: 1, state: vec![u8::try_from(n).unwrap(), 0, 255] };
    assert_eq!(back.snapshots, [snapshot(9), snapshot(6)]);
    assert_eq!(back.inputs.iter().map(|i| i.n).collect::<Vec<_>>(), [7, 8, 9, 10], "inputs before the last two snapshots are gone");
    assert_eq!((back.inputs[3].now_ms, back.inputs[3].input.get()), (step(10).now_ms, step(10).input.get()));
    assert_eq!((back.cursor, back.outcome_n, back.policy_revision, back.last_n), (Cursor { epoch: 1, seq: 10 }, 20, 30, 10));
    assert_eq!(db.number("select min(n) from parlor.room_input").await, 7);
}

#[tokio::test]
async fn a_row_that_is_submitted_again_is_found_and_its_outcome_told_again() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    session.step(&submit(1, vec![post("tea#1", "tea?")])).await.unwrap();
    let row = ledger.mouth().claim(&[kiln], std::time::Duration::from_secs(9)).await.unwrap().unwrap();
    ledger.mouth().settle(kiln, row.n, row.fence, Some("p1")).await.unwrap();
    let session = ledger.begin(kiln).await;
    assert_eq!(session.read_after(START, 1, 1).await.unwrap().outcomes, []);
    let done = session.step(&submit(2, vec![post("tea#1", "tea again?")])).await.unwrap();
    assert_eq!(done.rows, [Born { dedupe: "tea#1".into(), n: 1, state: RowState::Sent, found: true }]);
    let told = session.read_after(START, 1, 1).await.unwrap().outcomes;
    assert_eq!(
        told.iter().map(|o| (o.outcome_n, o.outcome.clone())).collect::<Vec<_>>(),
        [(2, Outcome::Settled { platform_id: Some("p1".into()) })]
    );
    assert_eq!(db.number("select count(*) from parlor.outbox").await, 1);
    assert!(ledger.mouth().claim(&[kiln], std::time::Duration::from_secs(9)).await.unwrap().is_none());
}

#[tokio::test]
async fn one_reading_holds_everything_after_the_cursor() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    let lines: Vec<_> = (0..620).map(|k| line(kiln, &format!("i{k}"), "ada", "x")).collect();
    for part in lines.chunks(500) {
        ledger.ear().ingest(part).await.unwrap();
    }
    ledger.ear().presence(kiln, "ada", LATE).await.unwrap();
    ledger.ear().presence(kiln, "bo", 1).await.unwrap();
    session.typing("wren", LATE).await.unwrap();
    let due = NewJob { dedupe: "now".into(), due_ms: 5, expires_ms: LATE, persona: "wren".into(), text: "tea?".into() };
    ledger.admin().announce(kiln, &due).await.unwrap();
    assert_eq!(ledger.admin().announce(kiln, &due).await.unwrap(), 1, "the same key is one job");
    session.remind(&NewJob { dedupe: "later".into(), due_ms: LATE - 9, ..due }).await.unwrap();
    let reading = session.read_after(START, 0, 0).await.unwrap();
    assert_eq!((reading.items.len(), reading.items[0].seq, reading.head, reading.epoch), (500, 1, 620, 1));
    assert_eq!(reading.policy.as_ref().map(|p| (p.revision, p.muted)), Some((1, false)));
    assert_eq!(reading.typing.iter().map(|t| (t.who.as_str(), t.own)).collect::<Vec<_>>(), [("ada", false), ("wren", true)]);
    assert_eq!((reading.due_jobs, reading.next_job_ms, reading.muted), (1, Some(LATE - 9), false));
    let rest = session.read_after(Cursor { epoch: 1, seq: 500 }, 0, 1).await.unwrap();
    assert_eq!((rest.items.len(), rest.policy.is_none()), (120, true));
    // Another epoch: the reader has to find its place again, and gets no items meanwhile.
    let lost = session.read_after(Cursor { epoch: 2, seq: 0 }, 0, 1).await.unwrap();
    assert_eq!((lost.items.len(), lost.epoch), (0, 1));
}

#[tokio::test]
async fn a_job_is_done_by_the_step_that_took_it_up() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    let job =
        |dedupe: &str, expires_ms| NewJob { dedupe: dedupe.into(), due_ms: 5, expires_ms, persona: "wren".into(), text: "tea?".into() };
    session.remind(&job("stale", 6)).await.unwrap();
    let n = session.remind(&job("good", LATE)).await.unwrap();
    let handed = session.job_claim().await.unwrap();
    assert_eq!(handed.iter().map(|j| j.dedupe.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(session.job_claim().await.unwrap(), [], "a job is handed to two at once");
    // Handed out and not taken up: again after a minute.
    db.sql("update parlor.job set lease_until_ms = lease_until_ms - 60001").await.unwrap();
    assert_eq!(session.job_claim().await.unwrap().len(), 1);
    session.step(&StepRecord { jobs: vec![n], ..step(1) }).await.unwrap();
    db.sql("update parlor.job set lease_until_ms = 0").await.unwrap();
    assert_eq!(session.job_claim().await.unwrap(), []);
}

#[tokio::test]
async fn a_newer_note_takes_the_place_of_an_older_one() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    let about = |who: &str| About::Person(who.into());
    let first = session.note(&NewNote { about: about("ada"), body: "likes celadon".into(), supersedes: None }).await.unwrap();
    session.note(&NewNote { about: about("bo"), body: "left-handed".into(), supersedes: None }).await.unwrap();
    session.note(&NewNote { about: about("ada"), body: "likes tenmoku now".into(), supersedes: Some(first) }).await.unwrap();
    let notes = session.notes(&["ada".into(), "bo".into()]).await.unwrap();
    assert_eq!(notes.iter().map(|n| n.body.as_str()).collect::<Vec<_>>(), ["likes tenmoku now", "left-handed"]);
    let lost = session.note(&NewNote { about: about("ada"), body: "x".into(), supersedes: Some(99) }).await.unwrap_err();
    assert!(matches!(lost, LedgerError::Refused(_)), "{lost}");
    assert_eq!(db.number("select count(*) from parlor.note").await, 3, "a superseded note is kept");
}

#[tokio::test]
async fn why_is_answered_for_a_line_and_for_the_post_that_came_of_it() {
    let db = TestDb::new().await;
    let ledger = db.ledger();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    ledger.ear().ingest(&[line(kiln, "a", "ada", "wren?"), line(kiln, "b", "bo", "hm")]).await.unwrap();
    let owed = ObligationId { input: 1, index: 0 };
    let about = |what, lines: &[u64], effect: Option<EffectId>| Decision {
        obligations: if lines == [2] { vec![] } else { vec![owed] },
        effect,
        seen: Seen { cursor: 2, lines: lines.to_vec() },
        ..decision(what, Why::Due, &[])
    };
    let sent = EffectId { input: 2, index: 0 };
    let decisions = vec![about(What::Opened, &[1], None), about(What::Silent, &[2], None), about(What::Submitted, &[], Some(sent))];
    session.step(&step(1)).await.unwrap();
    session.step(&StepRecord { decisions, ..submit(2, vec![post("2.0", "yes?")]) }).await.unwrap();
    session.step(&StepRecord { decisions: vec![about(What::Notice, &[2], None)], ..step(3) }).await.unwrap();
    let row = ledger.mouth().claim(&[kiln], std::time::Duration::from_secs(9)).await.unwrap().unwrap();
    let echo =
        parlor::ledger::NewItem { author_kind: parlor_core::AuthorKind::Own, outbox_n: Some(row.n), ..line(kiln, "p", "wren", "yes?") };
    ledger.ear().ingest(&[echo]).await.unwrap();
    let reader = ledger.reader();
    let whats = |list: Vec<parlor::ledger::DecisionRow>| list.into_iter().map(|d| d.what).collect::<Vec<_>>();
    assert_eq!(whats(reader.decisions_about(kiln, 1).await.unwrap()), ["opened", "submitted"]);
    assert_eq!(whats(reader.decisions_about(kiln, 2).await.unwrap()), ["silent", "notice"]);
    assert_eq!(whats(reader.decisions_about(kiln, 3).await.unwrap()), ["opened", "submitted"]);
    assert_eq!(whats(reader.decisions(kiln, Page::After(1), 2).await.unwrap()), ["silent", "submitted"]);
    assert_eq!(whats(reader.decisions(kiln, Page::Last, 2).await.unwrap()), ["submitted", "notice"]);
    assert_eq!(whats(reader.notices(kiln, Page::Last, 9).await.unwrap()), ["notice"]);
    assert_eq!(reader.rows_settling(kiln, &[owed]).await.unwrap().len(), 1);
    assert_eq!(reader.rows_settling(kiln, &[ObligationId { input: 9, index: 0 }]).await.unwrap(), []);
    assert_eq!(reader.row_of_item(kiln, 3).await.unwrap().map(|r| (r.dedupe, r.state)), Some(("2.0".into(), RowState::Done)));
    assert_eq!(reader.row_of_item(kiln, 1).await.unwrap(), None);
    assert_eq!(reader.rows(kiln, Page::Last, 9).await.unwrap()[0].settles_lines, ["a"]);
}
