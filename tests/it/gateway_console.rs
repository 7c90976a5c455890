//! What people may do on the console surface, and that each of it is one event however often a client says it.

use parlor::ports::{HeardKind, Intake, IntakeError, Posted};
use parlor_core::{AuthorKind, ItemKind};

use super::support::{postgres::TestDb, room::Rig};

fn message(text: &str) -> HeardKind {
    HeardKind::Message { text: text.into(), reply_to: None }
}

fn edit(of: &Posted, text: &str) -> HeardKind {
    HeardKind::Edit { of: of.platform_id.clone(), text: text.into() }
}

fn delete(of: &Posted) -> HeardKind {
    HeardKind::Delete { of: of.platform_id.clone() }
}

fn reaction(of: &Posted, on: bool) -> HeardKind {
    HeardKind::Reaction { of: of.platform_id.clone(), emoji: "🔥".into(), on }
}

async fn quiet() -> Rig {
    Rig::silent(TestDb::new().await, |_| {}).await
}

fn refused(result: Result<Posted, IntakeError>) -> String {
    match result {
        Err(IntakeError::Refused(why)) => why,
        other => panic!("should be refused: {other:?}"),
    }
}

async fn kinds(rig: &Rig) -> Vec<ItemKind> {
    rig.items().await.iter().map(|i| i.kind).collect()
}

#[tokio::test]
async fn the_same_client_id_of_an_author_is_one_event_with_one_answer() {
    let rig = quiet().await;
    let first = rig.hear("ada", "1", message("hi")).await.unwrap();
    assert_eq!(rig.hear("ada", "1", message("hi")).await.unwrap(), first);
    let other = rig.hear("bob", "1", message("hi")).await.unwrap();
    assert_ne!(other, first);
    let edited = rig.hear("ada", "2", edit(&first, "hello")).await.unwrap();
    assert_eq!(rig.hear("ada", "2", edit(&first, "hello")).await.unwrap(), edited);
    let on = rig.hear("bob", "3", reaction(&first, true)).await.unwrap();
    assert_eq!(rig.hear("bob", "3", reaction(&first, true)).await.unwrap(), on);
    let gone = rig.hear("ada", "4", delete(&first)).await.unwrap();
    assert_eq!(rig.hear("ada", "4", delete(&first)).await.unwrap(), gone);
    assert_eq!(kinds(&rig).await, [ItemKind::Message, ItemKind::Message, ItemKind::Edit, ItemKind::Reaction, ItemKind::Delete]);
}

#[tokio::test]
async fn a_reaction_that_changes_nothing_is_not_stored_and_a_late_repeat_undoes_nothing() {
    let rig = quiet().await;
    let line = rig.hear("ada", "1", message("hi")).await.unwrap();
    let off = rig.hear("bob", "a", reaction(&line, false)).await.unwrap();
    assert_eq!(off.seq, line.seq, "there was none to take off");
    let on = rig.hear("bob", "b", reaction(&line, true)).await.unwrap();
    assert_eq!(rig.hear("bob", "c", reaction(&line, true)).await.unwrap(), on, "it is there already");
    rig.hear("bob", "d", reaction(&line, false)).await.unwrap();
    assert_eq!(rig.hear("bob", "b", reaction(&line, true)).await.unwrap(), on, "a late repeat of b is b");
    rig.hear("bob", "e", reaction(&line, true)).await.unwrap();
    rig.hear("cleo", "b", reaction(&line, true)).await.unwrap();
    let on = ItemKind::Reaction;
    assert_eq!(kinds(&rig).await, [ItemKind::Message, on, ItemKind::Unreaction, on, on]);
}

#[tokio::test]
async fn people_change_what_is_theirs_and_the_owner_may_delete_anything() {
    let rig = quiet().await;
    let line = rig.hear("ada", "1", message("hi")).await.unwrap();
    assert!(refused(rig.hear("bob", "1", edit(&line, "ho")).await).contains("only the author"));
    assert!(refused(rig.hear("owner", "1", edit(&line, "ho")).await).contains("only the author"));
    assert!(refused(rig.hear("bob", "2", delete(&line)).await).contains("only the author"));
    let nothing = Posted { seq: 9, platform_id: "c0ffee".into() };
    for what in [edit(&nothing, "ho"), delete(&nothing), reaction(&nothing, true)] {
        assert!(refused(rig.hear("ada", "3", what).await).contains("no such message"));
    }
    rig.hear("owner", "4", delete(&line)).await.unwrap();
    assert!(refused(rig.hear("ada", "5", edit(&line, "ho")).await).contains("was deleted"));
    assert!(refused(rig.hear("ada", "6", reaction(&line, true)).await).contains("was deleted"));
    let items = rig.items().await;
    assert_eq!(items.iter().map(|i| i.author_kind).collect::<Vec<_>>(), [AuthorKind::Human, AuthorKind::Owner]);
}

#[tokio::test]
async fn sizes_and_names_are_checked_and_said() {
    let rig = quiet().await;
    assert!(refused(rig.hear("ada", "1", message(" \n")).await).contains("nothing to say"));
    assert!(refused(rig.hear("ada", "2", message(&"x".repeat(4_001))).await).contains("4001 characters"));
    assert!(rig.hear("ada", "3", message(&"ä".repeat(4_000))).await.is_ok());
    assert!(refused(rig.hear("ada", "", message("hi")).await).contains("client id"));
    assert!(refused(rig.hear("wren", "4", message("I am wren")).await).contains("name of a persona"));
    let line = rig.hear("ada", "5", message("hi")).await.unwrap();
    let long = HeardKind::Reaction { of: line.platform_id.clone(), emoji: "x".repeat(65), on: true };
    assert!(refused(rig.hear("ada", "6", long).await).contains("1 to 64"));
    let reply = HeardKind::Message { text: "yes".into(), reply_to: Some("c1234".into()) };
    assert!(refused(rig.hear("ada", "7", reply).await).contains("no such message"));
    rig.rooms.remove("kiln");
    assert!(matches!(rig.hear("ada", "8", message("hi")).await, Err(IntakeError::NoRoom(room)) if room == "kiln"));
    assert!(matches!(rig.intake.typing("kiln", "ada").await, Err(IntakeError::NoRoom(_))));
}

#[tokio::test]
async fn typing_is_shown_until_the_line_is_there_and_is_no_item() {
    let rig = quiet().await;
    rig.intake.typing("kiln", "ada").await.unwrap();
    rig.intake.typing("kiln", "ada").await.unwrap();
    let typing = rig.reader.typing(rig.stream).await.unwrap();
    assert_eq!(typing.iter().map(|t| (t.who.as_str(), t.own)).collect::<Vec<_>>(), [("ada", false)]);
    rig.hear("ada", "1", message("hi")).await.unwrap();
    assert!(rig.reader.typing(rig.stream).await.unwrap().is_empty());
    assert_eq!(rig.items().await.len(), 1);
}

#[tokio::test]
async fn an_asker_who_types_is_waited_for_and_the_persona_is_shown_typing() {
    let rig = Rig::new().await;
    rig.say("ada", "wren, which cone for stoneware").await;
    rig.intake.typing("kiln", "ada").await.unwrap();
    rig.advance(2_500).await;
    assert!(rig.models.is_idle().await, "ada is typing");
    rig.say("ada", "and how long?").await;
    rig.advance(8_000).await;
    let draft = rig.models.next().await;
    rig.until("wren is shown typing", async |r| r.reader.typing(r.stream).await.unwrap().iter().any(|t| t.who == "wren" && t.own)).await;
    draft.reply("Six, twenty minutes.");
    rig.advance(10_000).await;
    rig.until_posts(1).await;
    rig.until("wren is not shown typing any more", async |r| r.reader.typing(r.stream).await.unwrap().iter().all(|t| t.who != "wren"))
        .await;
}
