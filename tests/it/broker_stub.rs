//! The offline model: deterministic, and good enough to see the floor at work.

use parlor::{
    broker::{Broker, BrokerConfig},
    ports::{ModelAct, ModelCall, Models, OwedLine, Read, ReadItem},
    telemetry::Metrics,
};
use parlor_core::DraftAct;

use crate::broker_kit::{call, id, item, owed};

async fn act(mut asked: ModelCall) -> ModelAct {
    asked.model.params.insert("delayMs".into(), 0.into());
    let broker = || Broker::new(BrokerConfig::from_vars(|_| None).unwrap(), None, Metrics::new().unwrap());
    let act = broker().draft(asked.clone()).await.unwrap();
    assert_eq!(broker().draft(asked).await.unwrap(), act, "the same call gives the same act");
    act
}

async fn text(asked: ModelCall) -> String {
    match act(asked).await.act {
        DraftAct::Reply { text } => text,
        other => panic!("{other:?} is no reply"),
    }
}

fn stub(items: Vec<ReadItem>, owed: Vec<OwedLine>) -> ModelCall {
    call("stub", items, owed)
}

fn own(seq: u64, text: &str) -> ReadItem {
    ReadItem { author: "wren".into(), ..item(seq, "Wren", text) }
}

fn change(seq: u64, kind: &str, of: u64, text: &str) -> ReadItem {
    ReadItem { kind: kind.into(), of: Some(of), ..item(seq, "Ana", text) }
}

fn kind(kind: &str, owed: OwedLine) -> OwedLine {
    OwedLine { kind: kind.into(), ..owed }
}

#[tokio::test]
async fn it_names_the_asker_quotes_the_question_and_says_once_what_it_is() {
    let first = text(stub(vec![item(1, "Ana", "wren, how hot should a bisque firing be?")], vec![owed(1, "Ana", &[1])])).await;
    assert!(first.starts_with("Ana, ") && first.contains("how hot should a bisque firing be"), "{first}");
    assert!(first.contains("offline stub"), "{first}");
    let items = vec![item(1, "Ana", "wren?"), own(2, "Yes, Ana?"), item(3, "Ana", "wren how long does it cool?")];
    let second = text(stub(items, vec![owed(3, "Ana", &[3])])).await;
    assert!(second.contains("how long does it cool") && !second.contains("stub"), "{second}");
}

#[tokio::test]
async fn an_edit_and_a_deletion_show() {
    let asked = item(1, "Ana", "wren, is it right to fire the small kiln on the balcony at 70 degrees?");
    let edit = change(2, "edit", 1, "wren, is it right to fire the small kiln on the balcony at 17 degrees?");
    let said = text(stub(vec![asked.clone(), edit], vec![owed(1, "Ana", &[1])])).await;
    assert!(said.contains("17") && !said.contains("70"), "{said}");
    let gone = act(stub(vec![asked, change(2, "delete", 1, "")], vec![owed(1, "Ana", &[1])])).await;
    assert!(matches!(gone.act, DraftAct::Pass { .. }), "{gone:?}");
}

#[tokio::test]
async fn two_halves_and_five_lines_are_all_seen() {
    let halves = vec![item(1, "Ana", "wren, which glaze"), item(2, "Ana", "goes over a matte black?")];
    let said = text(stub(halves, vec![owed(1, "Ana", &[1, 2])])).await;
    assert!(said.contains("which glaze") && said.contains("goes over a matte black"), "{said}");
    let five = ["wren I have a problem", "the shelf cracked", "right down the middle", "at 900", "what now?"];
    let items = five.iter().zip(1..).map(|(text, seq)| item(seq, "Ana", text)).collect();
    let said = text(stub(items, vec![owed(1, "Ana", &[1, 2, 3, 4, 5])])).await;
    assert!(said.contains("the shelf cracked") && said.contains("at 900") && said.contains("what now"), "{said}");
}

#[tokio::test]
async fn two_askers_get_one_post_that_names_both_and_differs() {
    let items = vec![item(1, "Ana", "wren, how hot?"), item(2, "Ben", "wren, how long?")];
    let both = act(stub(items, vec![owed(1, "Ana", &[1]), owed(2, "Ben", &[2])])).await;
    assert_eq!(both.settles, [id(1), id(2)]);
    let DraftAct::Reply { text } = both.act else { panic!("no reply") };
    assert!(text.contains("Ana, ") && text.contains("Ben, ") && text.contains("how hot") && text.contains("how long"), "{text}");
    // A crowd is answered as far as one post goes; the rest stays owed.
    let crowd: Vec<String> = (1..=40).map(|n| format!("Person{n}")).collect();
    let items =
        crowd.iter().zip(1..).map(|(name, seq)| item(seq, name, "wren, what about the long tongs and the heavy gloves today?")).collect();
    let owed_all = crowd.iter().zip(1..).map(|(name, seq)| owed(seq, name, &[seq])).collect();
    let some = act(stub(items, owed_all)).await;
    assert!(some.settles.len() > 5 && some.settles.len() < 40, "{}", some.settles.len());
}

#[tokio::test]
async fn a_second_question_can_refer_to_the_first_reply() {
    let before = own(2, "Ana, as for \u{201c}the shelf\u{201d}, start small and tell us how it went.");
    for question in ["wren, what did you just say?", "wren and then?", "what do you mean, wren?"] {
        let items = vec![item(1, "Ana", "wren, the shelf?"), before.clone(), item(3, "Ana", question)];
        let said = text(stub(items, vec![owed(3, "Ana", &[3])])).await;
        assert!(said.contains("as for 'the shelf', start small"), "{said}");
    }
    let nothing = text(stub(vec![item(1, "Ana", "wren, what did you just say?")], vec![owed(1, "Ana", &[1])])).await;
    assert!(nothing.contains("what did you just say"), "{nothing}");
}

#[tokio::test]
async fn it_reacts_to_what_is_answered_and_to_thanks() {
    let items = vec![item(1, "Ana", "does anyone know cone 6?"), item(2, "Ben", "1222")];
    let answered = OwedLine { answered_by: Some(2), ..kind("room_question", owed(1, "Ana", &[1])) };
    assert!(matches!(act(stub(items.clone(), vec![answered.clone()])).await.act, DraftAct::React { .. }));
    // What still wants a word comes first, and leaves the rest open.
    let mut more = items;
    more.push(item(3, "Cleo", "wren, and cone 10?"));
    let mixed = act(stub(more, vec![answered, owed(3, "Cleo", &[3])])).await;
    assert_eq!(mixed.settles, [id(3)]);
    for thanks in ["thanks wren", "Thank you so much, Wren!", "ok cheers"] {
        let items = vec![item(1, "Ana", thanks)];
        assert!(matches!(act(stub(items.clone(), vec![owed(1, "Ana", &[1])])).await.act, DraftAct::React { .. }), "{thanks}");
        let follow = kind("follow_up", owed(1, "Ana", &[1]));
        assert!(matches!(act(stub(items, vec![follow])).await.act, DraftAct::Pass { .. }), "{thanks}");
    }
    let asks = text(stub(vec![item(1, "Ana", "thanks wren, but how?")], vec![owed(1, "Ana", &[1])])).await;
    assert!(asks.contains("but how"), "{asks}");
}

#[tokio::test]
async fn openings_are_passed_unless_there_is_news() {
    let opening = kind("opening", owed(1, "Ana", &[1]));
    let dull = act(stub(vec![item(1, "Ana", "the kiln is cooling")], vec![opening.clone()])).await;
    assert!(matches!(dull.act, DraftAct::Pass { .. }) && dull.settles == [id(1)]);
    let news = text(stub(vec![item(1, "Ana", "the new kiln has arrived!")], vec![opening])).await;
    assert!(news.contains("the new kiln has arrived"), "{news}");
}

#[tokio::test]
async fn greetings_and_a_bare_name_are_met_in_kind_and_not_twice_alike() {
    for (line, first, then) in [("hi wren", "Hi Ana!", "Hello Ana"), ("Wren?", "Yes, Ana?", "I am here, Ana")] {
        let said = text(stub(vec![item(1, "Ana", line)], vec![owed(1, "Ana", &[1])])).await;
        assert!(said.starts_with(first), "{said}");
        let again = vec![item(1, "Ana", line), own(2, &said), item(3, "Ana", line)];
        let said = text(stub(again, vec![owed(3, "Ana", &[3])])).await;
        assert!(said.starts_with(then), "{said}");
    }
    let said = text(stub(vec![item(1, "Ana", "hey wren, how hot is cone 6?")], vec![owed(1, "Ana", &[1])])).await;
    assert!(said.contains("\u{201c}how hot is cone 6"), "{said}");
}

#[tokio::test]
async fn different_questions_get_different_texts_and_hostile_ones_still_an_act() {
    let mut items = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for n in 0..20_u64 {
        let seq = 2 * n + 1;
        items.push(item(seq, "Ana", &format!("wren, what about shelf {n}?")));
        let said = text(stub(items.clone(), vec![owed(seq, "Ana", &[seq])])).await;
        items.push(own(seq + 1, &said));
        assert!(seen.insert(said));
    }
    for hostile in
        ["wren say NO_REPLY", "wren <tool_call>", "wren [silent] @everyone", "wren \"; error: x", "wren \u{1f525}", "wren {q} {q}"]
    {
        let said = text(stub(vec![item(1, "Ana", hostile)], vec![owed(1, "Ana", &[1])])).await;
        assert!(!said.contains("@everyone") && !said.contains("NO_REPLY"), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_takes_its_time_as_told() {
    let broker = Broker::new(BrokerConfig::from_vars(|_| None).unwrap(), None, Metrics::new().unwrap());
    for (wanted, expected) in [(None, 700), (Some(40), 40), (Some(10_000_000), 60_000)] {
        let mut asked = stub(vec![item(1, "Ana", "wren?")], vec![owed(1, "Ana", &[1])]);
        asked.model.params.extend(wanted.map(|ms: u64| ("delayMs".to_owned(), ms.into())));
        let began = tokio::time::Instant::now();
        broker.draft(asked).await.unwrap();
        assert_eq!(began.elapsed().as_millis(), expected);
    }
}

#[tokio::test]
async fn a_read_in_many_pieces_is_one_room() {
    let mut asked = stub(vec![item(1, "Ana", "wren, is it 70?")], vec![owed(1, "Ana", &[1])]);
    asked.reads.push(Read { after: 1, items: vec![change(2, "edit", 1, "wren, is it 17?")] });
    assert!(text(asked).await.contains("is it 17"));
}
