//! Postgres goes away in the middle of a talk and comes back: nothing is lost, nothing is said twice.

use parlor::{
    actor::RoomState,
    dev::postgres::{PrivateOptions, PrivateServer},
    ports::{HeardKind, IntakeError},
};

use super::support::{
    postgres::{TestDb, folder, migrated},
    room::Rig,
};

const OPTIONS: PrivateOptions = PrivateOptions { fast: true, max_connections: 0 };

#[tokio::test]
async fn postgres_gone_in_the_middle_of_a_talk_loses_and_doubles_nothing() {
    let state = folder();
    let server = PrivateServer::start(&state, OPTIONS).await.unwrap();
    migrated(&server.url()).await;
    let mut rig = Rig::silent(TestDb { url: server.url(), name: "parlor".into() }, |_| {}).await;
    rig.start_actor();
    rig.start_sender();
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;

    server.stop().await.unwrap();
    // The answer comes while nothing can be stored.
    draft.reply("Cone six.");
    rig.ring();
    let mut states = rig.actor_states();
    states.wait_for(|s| *s == RoomState::Waiting).await.unwrap();
    let line = HeardKind::Message { text: "wren, which glaze on porcelain?".into(), reply_to: None };
    let refused = rig.hear("bob", "b1", line.clone()).await;
    assert!(matches!(refused, Err(IntakeError::Unavailable)), "{refused:?}");

    let server = PrivateServer::start(&state, OPTIONS).await.unwrap();
    // A client sends the same again until it is told where it ended up, and once more in case that was lost.
    rig.until("bob's line is taken", async |r| r.hear("bob", "b1", line.clone()).await.is_ok()).await;
    let posted = rig.hear("bob", "b1", line).await.unwrap();
    rig.read_up_to(posted.seq).await;
    states.wait_for(|s| *s == RoomState::Running).await.unwrap();
    rig.advance(10_000).await;
    rig.until("the answer is posted", async |r| r.posts().await == ["Cone six."]).await;
    rig.advance(3_000).await;
    let second = rig.models.next().await;
    assert_eq!((second.call.owed.len(), second.call.owed[0].asker.as_str()), (1, "Bob"));
    second.reply("Celadon.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(2).await, ["Cone six.", "Celadon."]);
    assert_eq!(rig.rows().await.len(), 2);
    let said = rig.items().await.iter().filter(|i| i.author == "bob").count();
    assert_eq!(said, 1, "what was sent again is one line");
    rig.stop_actor().await;
    server.stop().await.unwrap();

    // An actor that starts while there is no database listens once there is one.
    rig.start_actor();
    rig.actor_states().wait_for(|s| *s == RoomState::Waiting).await.unwrap();
    let server = PrivateServer::start(&state, OPTIONS).await.unwrap();
    rig.actor_states().wait_for(|s| *s == RoomState::Running).await.unwrap();
    rig.stop_actor().await;
    server.stop().await.unwrap();
}
