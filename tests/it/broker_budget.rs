//! Reserve before each call, charge after it, whatever became of it.

use std::sync::Arc;

use parlor::{
    broker::{BrokerConfig, Denied, Price, PriceTable, Usage},
    ports::Models,
};
use parlor_core::Failure;
use parlor_twin::models::{Answer, ModelTwin};

use crate::broker_kit::{Books, DIALECTS, broker, simple, soon};

#[tokio::test]
async fn a_call_is_charged_what_the_provider_counted() {
    for dialect in DIALECTS {
        let twin = ModelTwin::start().await.unwrap();
        let books = Arc::new(Books::default());
        let broker = broker(&twin, &books);
        twin.then(Answer::text("no act"));
        twin.then(Answer::reply("an act"));
        broker.draft(simple(dialect)).await.unwrap();
        broker.drained().await;
        let (reserved, charged) = (books.reserved.lock().unwrap().clone(), books.charged.lock().unwrap().clone());
        assert_eq!(books.outcomes(), ["asked_again", "act"], "{dialect}: each request is reserved and charged by itself");
        for (want, (ticket, call)) in reserved.iter().zip(&charged) {
            assert_eq!((want.room.as_str(), want.persona.as_str(), call.provider), ("kiln", "wren", dialect));
            assert!(call.tokens > 0 && call.tokens < want.tokens, "{want:?} {call:?}");
            assert!(call.cost_microusd > 0 && call.cost_microusd < want.cost_microusd, "{want:?} {call:?}");
            assert_eq!(ticket.stream, 1);
        }
        assert_ne!(charged[0].0.n, charged[1].0.n);
    }
}

#[tokio::test]
async fn a_call_without_usage_is_charged_in_full() {
    let unknown =
        [(Answer::reply("x").cut(), "provider"), (Answer::midway("api_error"), "provider"), (Answer::status(500, "api_error"), "provider")];
    let nothing = [(Answer::status(429, "rate_limit_error"), "provider"), (Answer::status(400, "invalid_request_error"), "refused")];
    for dialect in DIALECTS {
        let twin = ModelTwin::start().await.unwrap();
        let books = Arc::new(Books::default());
        let broker = broker(&twin, &books);
        for (answer, outcome) in unknown.iter().chain(&nothing) {
            twin.then(answer.clone());
            broker.draft(simple(dialect)).await.unwrap_err();
            broker.drained().await;
            let want = books.reserved.lock().unwrap().pop().unwrap();
            let (_, call) = books.charged.lock().unwrap().pop().unwrap();
            assert_eq!(call.outcome, *outcome, "{dialect} {answer:?}");
            // A provider that turned the request down did no work; of all else nobody knows.
            let full = unknown.iter().any(|(u, _)| format!("{u:?}") == format!("{answer:?}"));
            let expected = if full { (want.tokens, want.cost_microusd) } else { (0, 0) };
            assert_eq!((call.tokens, call.cost_microusd), expected, "{dialect} {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_is_charged_in_full() {
    for dialect in ["stub", "anthropic", "openai"] {
        let twin = ModelTwin::start().await.unwrap();
        twin.otherwise(Answer::never());
        let books = Arc::new(Books::default());
        let broker = broker(&twin, &books);
        let draft = broker.draft(simple(dialect));
        let begun = async {
            if dialect == "stub" {
                while books.reserved.lock().unwrap().is_empty() {
                    tokio::task::yield_now().await;
                }
            } else {
                twin.heard(1).await;
            }
        };
        tokio::select! {
            biased;
            _ = draft => panic!("it cannot end yet"),
            () = soon(begun) => {}
        }
        soon(broker.drained()).await;
        let want = books.reserved.lock().unwrap()[0].clone();
        let charged = books.charged.lock().unwrap().clone();
        assert_eq!(charged.len(), 1, "{dialect}");
        assert_eq!((charged[0].1.outcome, charged[0].1.tokens, charged[0].1.cost_microusd), ("cancelled", want.tokens, want.cost_microusd));
    }
}

#[tokio::test]
async fn nothing_is_called_without_a_reservation() {
    let denials = [
        (Denied::OverBudget, Failure::OverBudget),
        (Denied::Hushed, Failure::Refused),
        (Denied::Unavailable("gone".into()), Failure::NoBooks),
    ];
    for (denied, failure) in denials {
        let twin = ModelTwin::start().await.unwrap();
        let books = Arc::new(Books::default());
        *books.deny.lock().unwrap() = Some(denied);
        let broker = broker(&twin, &books);
        for dialect in ["stub", "anthropic", "openai"] {
            assert_eq!(broker.draft(simple(dialect)).await, Err(failure), "{dialect}");
        }
        broker.drained().await;
        assert!(twin.requests().is_empty() && books.outcomes().is_empty());
    }
}

#[test]
fn prices_are_found_by_name_and_snapshot_and_are_worst_where_unknown() {
    let mut table = PriceTable::default();
    let haiku = table.price("claude-haiku-4-5");
    assert_eq!(haiku.input, 1_000);
    for same in ["claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5", "claude-haiku-4-5-latest"] {
        assert_eq!(table.price(same), haiku, "{same}");
    }
    assert_eq!(table.price("gpt-4o-2024-08-06"), table.price("gpt-4o"));
    for unknown in ["gpt-5-5-pro", "claude-haiku-4-5-turbo", "llama3.2", "", "-", "gpt-4o-2024-audio"] {
        assert_eq!(table.price(unknown), Price::WORST, "{unknown}");
    }
    table.extend("llama3.2=0/0, my/model = 0.5/1.25").unwrap();
    assert_eq!(table.price("llama3.2"), Price::FREE);
    assert_eq!(table.price("my/model"), Price { input: 500, cached: 500, output: 1_250 });
    for wrong in ["llama", "llama=1", "=1/2", "a=-1/2", "a=1/x", "a=1/NaN"] {
        assert!(table.extend(wrong).is_err(), "{wrong}");
    }
    let used = Usage { input: 1_000, cached: 10_000, cache_write: 1_000, output: 100 };
    assert_eq!(haiku.cost_microusd(used), 1_000 + 1_000 + 1_250 + 500);
    assert_eq!(haiku.cost_microusd(Usage { output: 1, ..Usage::default() }), 5);
    assert_eq!(Price::WORST.cost_microusd(Usage { input: u64::MAX, ..Usage::default() }), u64::MAX.div_ceil(1_000));
}

#[test]
fn the_environment_is_read_strictly() {
    let with = |name: &'static str, value: &'static str| BrokerConfig::from_vars(move |n| (n == name).then(|| value.to_owned()));
    for (name, value) in [("OPENAI_BASE_URL", "localhost:11434"), ("ANTHROPIC_BASE_URL", "ftp://x/"), ("PARLOR_MODEL_PRICES", "llama")] {
        let told = with(name, value).unwrap_err().to_string();
        assert!(told.contains(name), "{told}");
    }
    assert!(with("OPENAI_API_KEY", "").unwrap().openai.key.is_none());
    assert!(with("OPENAI_BASE_URL", "https://api.openai.com/v1/").unwrap().openai.needs_key);
    let local = with("OPENAI_BASE_URL", "http://user:hunter2@127.0.0.1:11434/v1").unwrap();
    assert!(!local.openai.needs_key && !format!("{local:?}").contains("hunter2"));
}
