//! `parlor replay`, with the drafts of the configured model where they are asked for: the prompt of a live room, the broker and
//! its checks, and books that hold no more than the replay may cost.
//!
//! It must not decide when anything is said, and it writes no ledger: what is drafted here is nowhere but in the replay.

use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use parlor_core::{Draft, Failure, Item, ItemKind, Member};
use tokio::runtime::Runtime;

use super::rooms::texts;
use crate::{
    actor::{PersonaText, prompt, window::Window},
    api::Studio,
    broker::{Accounts, Broker, BrokerConfig, CallRecord, Denied, Endpoint, Reservation, Ticket},
    ports::{ModelAct, ModelCall, ModelRef, Models, ReadItem},
    replay::{Args, Desk, Drafter, Drafting, ReplayError, Spent, run},
    telemetry::Metrics,
};

/// A call that takes longer has failed, as in a live room (`draftTimeout`).
const CALL: Duration = Duration::from_secs(90);
/// How much of a room is shown where no document says it, in tokens.
const CONTEXT_TOKENS: usize = 16_000;

/// Runs a replay as the command line asks for it.
pub fn replay(args: &Args) -> Result<(), ReplayError> {
    match args.drafter {
        Drafting::Stub => run(args, None),
        Drafting::Model => run(args, Some(Rc::new(Rehearsal::new(args)?))),
    }
}

/// The model and what it is told of its persona.
struct Rehearsal {
    runtime: Runtime,
    broker: Broker,
    purse: Arc<Purse>,
    rules: String,
    persona: PersonaText,
}

impl Rehearsal {
    fn new(args: &Args) -> Result<Self, ReplayError> {
        let (rules, mut persona) = instructions(args)?;
        let none = |why: &str| ReplayError::Model(why.to_owned());
        match &args.model {
            Some(named) => {
                let (provider, name) = named.split_once('/').unwrap_or((named, ""));
                // Parameters were chosen for the model that the document names.
                persona.model = ModelRef { provider: provider.to_owned(), name: name.to_owned(), ..ModelRef::default() };
            }
            None if persona.model.provider.is_empty() => {
                return Err(none("no model is named; give --model PROVIDER/NAME, or a --policy with a Persona document beside it"));
            }
            None => {}
        }
        let config = BrokerConfig::from_env().map_err(|e| none(&format!("the environment: {e}")))?;
        let without_key = |endpoint: &Endpoint| endpoint.needs_key && endpoint.key.is_none();
        match persona.model.provider.as_str() {
            "anthropic" if without_key(&config.anthropic) => return Err(none("ANTHROPIC_API_KEY is not set in the environment")),
            "openai" if without_key(&config.openai) => return Err(none("OPENAI_API_KEY is not set in the environment")),
            "anthropic" | "openai" if persona.model.name.is_empty() => return Err(none("--model names a provider and no model")),
            "anthropic" | "openai" | "stub" => {}
            other => return Err(none(&format!("there is no provider {other:?}; there are anthropic, openai and stub"))),
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| none(&format!("the async runtime could not be started: {e}")))?;
        let purse = Arc::new(Purse { most: args.max_cost, spent: Mutex::default() });
        let metrics = Metrics::new().map_err(|e| none(&e.to_string()))?;
        let broker = Broker::new(config, Some(Arc::clone(&purse) as Arc<dyn Accounts>), metrics);
        Ok(Self { runtime, broker, purse, rules, persona })
    }
}

/// What the documents say about the room and its first persona; empty without documents.
fn instructions(args: &Args) -> Result<(String, PersonaText), ReplayError> {
    let nobody = PersonaText { context_tokens: CONTEXT_TOKENS, ..PersonaText::default() };
    let Some(file) = &args.policy else { return Ok((String::new(), nobody)) };
    let config = Studio::room_of(file).map_err(ReplayError::Policy)?;
    let mut texts = texts(&config);
    let first = config.personas.first().and_then(|p| texts.personas.remove(&p.id));
    Ok((texts.rules, first.unwrap_or(nobody)))
}

impl Drafter for Rehearsal {
    fn desk(&self, room: &str, persona: &Member) -> Box<dyn Desk> {
        let text = PersonaText { name: persona.name.clone(), ..self.persona.clone() };
        Box::new(Seen {
            room: room.to_owned(),
            persona: persona.id.clone(),
            system: prompt::system_text(room, &self.rules, &text),
            window: Window::new(text.context_tokens),
            text,
            items: VecDeque::new(),
            tokens: 0,
            seq_of: BTreeMap::new(),
        })
    }

    fn ask(&self, call: ModelCall) -> Result<ModelAct, Failure> {
        self.runtime.block_on(async {
            let answer = tokio::time::timeout(CALL, self.broker.draft(call)).await.unwrap_or(Err(Failure::Timeout));
            // The next call asks how much is left.
            self.broker.drained().await;
            answer
        })
    }

    fn spent(&self) -> Spent {
        *self.purse.spent()
    }
}

/// What a model may be shown of one room: its newest items.
struct Seen {
    room: String,
    persona: String,
    text: PersonaText,
    system: String,
    window: Window,
    /// Oldest first; at most twice what fits into a window, so that the window decides what is cut.
    items: VecDeque<ReadItem>,
    /// What they count.
    tokens: usize,
    /// Place in the stream by platform id, of the items that are kept.
    seq_of: BTreeMap<String, u64>,
}

impl Desk for Seen {
    fn heard(&mut self, item: &Item) {
        let at = jiff::Timestamp::from_second(item.at.div_euclid(1_000)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let said = item.kind == ItemKind::Message;
        let of = if said { item.links.first().map(|l| l.id.as_str()) } else { Some(item.platform_id.as_str()) };
        let read = ReadItem {
            seq: item.seq,
            at: at.to_string(),
            author: item.author.id.clone(),
            name: item.author.name.clone(),
            kind: if said { "message" } else { "reaction" }.to_owned(),
            text: item.text.clone(),
            of: of.and_then(|id| self.seq_of.get(id).copied()),
        };
        self.tokens += Window::tokens(std::slice::from_ref(&read));
        self.items.push_back(read);
        if said {
            self.seq_of.insert(item.platform_id.clone(), item.seq);
        }
        let full = 2 * self.text.context_tokens;
        if self.tokens > full {
            // A good part at once: each cut begins the provider's prompt cache anew.
            while self.tokens > full / 2 && self.items.len() > 1 {
                let gone = self.items.pop_front();
                self.tokens -= gone.as_ref().map_or(0, |i| Window::tokens(std::slice::from_ref(i)));
            }
            let oldest = self.items.front().map_or(0, |i| i.seq);
            self.seq_of.retain(|_, seq| *seq >= oldest);
        }
    }

    fn call(&mut self, draft: &Draft) -> ModelCall {
        let base = self.window.base().unwrap_or(0);
        let items = self.items.iter().filter(|i| i.seq > base).cloned().collect();
        let reads = self.window.cut(items);
        ModelCall {
            room: self.room.clone(),
            persona: self.persona.clone(),
            persona_name: self.text.name.clone(),
            model: self.text.model.clone(),
            system: self.system.clone(),
            owed: prompt::owed_lines(draft, &reads),
            granted: Vec::new(),
            reads,
            start: draft.start.clone(),
        }
    }
}

/// Books of one replay: a sum that may not be passed.
struct Purse {
    /// Millionths of a dollar.
    most: u64,
    spent: Mutex<Spent>,
}

impl Purse {
    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts for Purse {
    /// Calls come one after the other, so what is reserved is what this one may cost at worst.
    fn reserve(&self, wanted: Reservation) -> BoxFuture<'_, Result<Ticket, Denied>> {
        let fits = self.spent().cost_microusd.saturating_add(wanted.cost_microusd) <= self.most;
        async move { if fits { Ok(Ticket { stream: 0, n: 0 }) } else { Err(Denied::OverBudget) } }.boxed()
    }

    fn charge(&self, _: Ticket, call: CallRecord) -> BoxFuture<'_, Result<(), String>> {
        let mut spent = self.spent();
        spent.tokens = spent.tokens.saturating_add(call.tokens);
        spent.cost_microusd = spent.cost_microusd.saturating_add(call.cost_microusd);
        async { Ok(()) }.boxed()
    }
}
