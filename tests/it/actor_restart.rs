//! A boot may end at any point: nothing is lost, and nothing is said twice.

use std::time::Duration;

use parlor::{
    actor::RoomState,
    ledger::{About, NewNote, RowState, Session, StepRecord},
};
use parlor_core::{Input, ObligationId, ObligationKind, Row, RowKind};
use serde_json::value::{RawValue, to_raw_value};

use super::support::{
    postgres::TestDb,
    room::{Rig, panic_at_the_next_look},
};

#[tokio::test]
async fn a_draft_under_way_is_asked_for_again_under_its_id() {
    let mut rig = Rig::new().await;
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    let before = rig.models.next().await;
    let id = rig.floor().await.unwrap().effect;
    assert!(id.is_some());
    rig.replace_actor().await;
    before.dropped().await;
    let again = rig.models.next().await;
    assert_eq!(rig.floor().await.unwrap().effect, id);
    again.reply("Cone six.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await, ["Cone six."]);
    assert_eq!(rig.decided("drafting", "").await, 1);
}

#[tokio::test]
async fn a_row_that_was_out_when_the_boot_ended_is_posted_once_and_settles() {
    let mut rig = Rig::new().await;
    rig.stop_sender();
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    rig.until("the row waits", async |r| r.rows().await.len() == 1).await;
    rig.replace_actor().await;
    rig.start_sender();
    assert_eq!(rig.until_posts(1).await, ["Cone six."]);
    rig.advance(600_000).await;
    rig.settled().await;
    assert_eq!(rig.rows().await.len(), 1);
    assert!(rig.models.is_idle().await);
}

#[tokio::test]
async fn an_older_boot_ends_when_a_newer_one_has_begun() {
    let mut rig = Rig::new().await;
    let newer = Session::begin(&rig.means.ledger, rig.stream).await.unwrap();
    rig.ring();
    rig.until("the older boot ends", async |r| r.actor_state() == RoomState::Fenced).await;
    assert!(newer.restore().await.is_ok());
    let inputs = newer.restore().await.unwrap().last_n;
    rig.hear("ada", "1", parlor::ports::HeardKind::Message { text: "wren?".into(), reply_to: None }).await.unwrap();
    rig.ring();
    assert_eq!(newer.restore().await.unwrap().last_n, inputs, "it stores nothing any more");
    rig.start_actor();
    rig.until("the newest boot listens", async |r| r.actor_state() == RoomState::Running).await;
}

#[tokio::test]
async fn a_submit_that_is_repeated_under_a_new_incarnation_is_one_row_and_one_post() {
    let mut rig = Rig::silent(TestDb::new().await, |_| {}).await;
    let row = Row {
        dedupe: "1.2".into(),
        persona: "wren".into(),
        kind: RowKind::Post { text: "Cone six.".into() },
        address: None,
        settles: vec![ObligationId { input: 1, index: 0 }],
        owed: ObligationKind::Direct,
        settles_lines: Vec::new(),
        unprompted: false,
        shadow: false,
        expires_at: i64::MAX,
    };
    for (n, found) in [(1, false), (2, true), (3, true)] {
        // A drafter with a bug: each incarnation submits the same again, under an input of its own.
        let session = Session::begin(&rig.means.ledger, rig.stream).await.unwrap();
        let done = session.step(&step(n, &row)).await.unwrap();
        assert_eq!((done.rows.len(), done.rows[0].n, done.rows[0].found), (1, 1, found));
        if n == 2 {
            rig.start_sender();
            rig.until("the post", async |r| r.posts().await.len() == 1).await;
        }
    }
    rig.ring();
    rig.until("the repeat is told what became of it", async |r| {
        let session = Session::begin(&r.means.ledger, r.stream).await.unwrap();
        let reading = session.read_after(parlor::ledger::Cursor { epoch: 1, seq: 0 }, 0, 0).await.unwrap();
        reading.outcomes.last().is_some_and(|o| o.row == "1.2" && o.outcome_n >= 2)
    })
    .await;
    assert_eq!(rig.posts().await, ["Cone six."]);
    let rows = rig.rows().await;
    assert_eq!((rows.len(), rows[0].state), (1, RowState::Done));
}

fn step(n: i64, row: &Row) -> StepRecord {
    StepRecord {
        n,
        now_ms: 1_000 * n,
        input: to_raw_value(&Input::Tick).unwrap(),
        decisions: Vec::new(),
        rows: vec![row.clone()],
        withdrawals: Vec::new(),
        jobs: Vec::new(),
        cursor: parlor::ledger::Cursor::default(),
        outcome_n: 0,
        policy_revision: 0,
        view: RawValue::NULL.to_owned(),
        snapshot: None,
    }
}

#[tokio::test]
async fn a_snapshot_of_an_unknown_format_is_rebuilt_from_the_log() {
    let mut rig = Rig::new().await;
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    rig.until_posts(1).await;
    rig.advance(60_000).await;
    rig.say("bob", "wren, which glaze on porcelain?").await;
    let open = rig.floor().await.unwrap().obligations;
    assert_eq!(open.len(), 1);
    rig.stop_actor().await;
    assert!(rig.db.number("select count(*) from parlor.room_snapshot").await > 0, "a clean stop takes a snapshot");
    rig.db.sql("update parlor.room_snapshot set format = 999").await.unwrap();
    let before = rig.db.number("select input_n from parlor.stream_head").await;
    rig.start_actor();
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    assert_eq!(draft.call.owed.len(), 1, "only what is still open is owed");
    assert_eq!(draft.call.owed[0].lines, open[0].lines.iter().map(|l| l.seq).collect::<Vec<_>>());
    assert!(draft.offered()[0].input > u64::try_from(before).unwrap(), "inputs are numbered on");
    draft.reply("Celadon.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(2).await, ["Cone six.", "Celadon."]);
    rig.stop_actor().await;
    // Rebuilt once more, it does not take for open what the machine before it had opened and never ended.
    rig.db.sql("update parlor.room_snapshot set format = 999").await.unwrap();
    rig.start_actor();
    rig.advance(600_000).await;
    rig.settled().await;
    assert_eq!(rig.posts().await.len(), 2);
    assert!(rig.reactions().await.is_empty() && rig.models.is_idle().await);
}

#[tokio::test]
async fn a_log_of_a_new_epoch_is_read_again_from_where_it_ends() {
    let mut rig = Rig::new().await;
    rig.say("ada", "morning all").await;
    rig.db.sql("update parlor.stream set epoch = epoch + 1").await.unwrap();
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await, ["Cone six."]);
    rig.stop_actor().await;
}

#[tokio::test]
async fn a_restore_that_is_given_up_midway_leaves_no_connection_in_a_transaction() {
    let rig = Rig::silent(TestDb::new().await, |_| {}).await;
    let ledger = parlor::ledger::Ledger::connect(&rig.means.ledger.url(), "parlor-test", 1).unwrap();
    let session = Session::begin(&ledger, rig.stream).await.unwrap();
    for polls in 0..40 {
        {
            let mut restore = std::pin::pin!(session.restore());
            for _ in 0..polls {
                if futures::poll!(&mut restore).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        let note = NewNote { about: About::Topic("kiln".into()), body: "it is hot".into(), supersedes: None };
        session.note(&note).await.unwrap();
        assert_eq!(rig.db.number("select count(*) from parlor.note").await, polls + 1, "the note is stored for others to see");
    }
}

#[tokio::test]
async fn a_panic_ends_one_boot_and_the_next_goes_on() {
    let mut rig = Rig::new().await;
    rig.say("ada", "wren, which cone for stoneware?").await;
    // It looks at the clock too, whenever the bell rings.
    rig.stop_sender();
    let mut states = rig.actor_states();
    panic_at_the_next_look();
    rig.ring();
    let failed = states.wait_for(|s| matches!(s, RoomState::Failed { .. }));
    tokio::time::timeout(Duration::from_secs(10), failed).await.unwrap().unwrap();
    rig.until("it runs again", async |r| r.actor_state() == RoomState::Running).await;
    rig.start_sender();
    rig.advance(2_500).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await, ["Cone six."]);
}

#[tokio::test]
async fn snapshots_are_taken_while_it_runs_and_bound_what_a_restart_reads() {
    let mut rig = Rig::new().await;
    // Each line is an input.
    for i in 0..600 {
        let text = format!("line {i}");
        rig.hear("ada", &i.to_string(), parlor::ports::HeardKind::Message { text, reply_to: None }).await.unwrap();
    }
    rig.read_up_to(600).await;
    assert_eq!(rig.db.number("select count(*) from parlor.room_snapshot").await, 2);
    assert!(rig.db.number("select count(*) from parlor.room_input").await <= 2 * 256);
    rig.replace_actor().await;
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await, ["Cone six."]);
}

#[tokio::test]
async fn texts_of_a_persona_are_taken_up_while_it_runs() {
    let rig = Rig::new().await;
    rig.texts.send_modify(|t| t.personas.get_mut("wren").unwrap().voice = "In rhymes.".into());
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    assert!(draft.call.system.contains("In rhymes.") && draft.call.system.contains("No shop talk after ten."));
    assert_eq!((draft.call.persona.as_str(), draft.call.persona_name.as_str()), ("wren", "Wren"));
    draft.pass("enough");
    rig.settled().await;
}
