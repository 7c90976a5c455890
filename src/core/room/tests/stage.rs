//! A room on a virtual clock with scripted people and a drafter under the test's control.

use crate::*;

/// What the drafter double does with each draft.
#[derive(Clone, Debug)]
pub(super) enum Talk {
    /// Replies with a text of its own for each draft, settling all.
    Reply,
    /// Replies with this text, `{n}` being the number of the draft, settling all.
    Say(String),
    /// Replies to the first obligation only.
    FirstOnly,
    Pass,
    React,
    Fail(Failure),
    /// Never answers.
    Never,
}

#[derive(Clone, Debug)]
pub(super) struct Posted {
    pub(super) at: Millis,
    pub(super) row: Row,
}

/// The stage.
pub(super) struct Stage {
    pub(super) room: Room,
    pub(super) now: Millis,
    pub(super) talk: Talk,
    pub(super) draft_ms: Millis,
    /// Answer of the gate double: me, room.
    pub(super) gate: (f64, f64),
    /// Whether rows are posted at once; else the test decides.
    pub(super) post: bool,
    seq: u64,
    drafts: Vec<(Millis, EffectId, Draft)>,
    pub(super) asked: Vec<(Millis, Draft)>,
    pub(super) rows: Vec<Posted>,
    pub(super) submitted: Vec<Row>,
    pub(super) waiting_rows: Vec<Row>,
    pub(super) withdrawn: Vec<String>,
    pub(super) records: Vec<(Millis, Decision)>,
    pub(super) gates: usize,
    /// Every input, for replaying.
    pub(super) log: Vec<(Millis, Input)>,
}

pub(super) fn member(id: &str, name: &str) -> Member {
    Member { id: id.into(), name: name.into(), aliases: Vec::new() }
}

/// The floor's tables are told with the plain rules as the gate; the trained models have tables of their own.
pub(super) fn plain(members: Vec<Member>) -> Policy {
    Policy { gate: GateKind::Rules, ..Policy::new(members) }
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with(plain(vec![member("wren", "Wren")]))
    }

    pub(super) fn with(policy: Policy) -> Self {
        Self {
            room: Room::new(policy),
            now: 0,
            talk: Talk::Reply,
            draft_ms: 500,
            gate: (0.0, 0.0),
            post: true,
            seq: 0,
            drafts: Vec::new(),
            asked: Vec::new(),
            rows: Vec::new(),
            submitted: Vec::new(),
            waiting_rows: Vec::new(),
            withdrawn: Vec::new(),
            records: Vec::new(),
            gates: 0,
            log: Vec::new(),
        }
    }

    pub(super) fn item(&mut self, author: &str, kind: ItemKind, id: &str, text: &str) -> Item {
        self.seq += 1;
        let bot = author.ends_with("bot");
        Item {
            seq: self.seq,
            at: self.now,
            platform_id: id.to_owned(),
            author: Author { id: author.into(), name: author.into(), kind: if bot { AuthorKind::Bot } else { AuthorKind::Human } },
            text: text.into(),
            mentions: Vec::new(),
            find_names: true,
            links: Vec::new(),
            kind,
        }
    }

    /// Somebody says something now; gives the message's id.
    pub(super) fn says(&mut self, author: &str, text: &str) -> String {
        let id = format!("m{}", self.seq + 1);
        let item = self.item(author, ItemKind::Message, &id, text);
        self.tell(item);
        id
    }

    pub(super) fn replies(&mut self, author: &str, to: &str, text: &str) -> String {
        let id = format!("m{}", self.seq + 1);
        let mut item = self.item(author, ItemKind::Message, &id, text);
        item.links.push(Link { id: to.into(), author: None });
        self.tell(item);
        id
    }

    pub(super) fn edits(&mut self, author: &str, id: &str, text: &str) {
        let item = self.item(author, ItemKind::Edit, id, text);
        self.tell(item);
    }

    pub(super) fn deletes(&mut self, author: &str, id: &str) {
        let item = self.item(author, ItemKind::Delete, id, "");
        self.tell(item);
    }

    pub(super) fn tell(&mut self, item: Item) {
        self.input(Input::Item(item));
        self.input(Input::Tick);
    }

    /// One input now.
    pub(super) fn input(&mut self, input: Input) {
        self.log.push((self.now, input.clone()));
        let effects = self.room.step(self.now, input);
        for e in effects {
            self.perform(e);
        }
    }

    fn perform(&mut self, e: Effect) {
        match e.kind {
            EffectKind::Gate(_) => {
                self.gates += 1;
                let (me, room) = self.gate;
                self.input(Input::Verdict(Verdict { gate: e.id, me, room }));
            }
            EffectKind::Draft(d) => {
                self.asked.push((self.now, d.clone()));
                self.drafts.push((self.now + self.draft_ms, e.id, d));
            }
            EffectKind::CancelDraft { draft } => self.drafts.retain(|(_, id, _)| *id != draft),
            EffectKind::Typing { .. } => {}
            EffectKind::Submit(row) => {
                self.submitted.push(row.clone());
                // In Shadow the ledger settles a row as it is born.
                if self.post || row.shadow {
                    self.posts_row(row);
                } else {
                    self.waiting_rows.push(row);
                }
            }
            EffectKind::Withdraw { row } => self.withdrawn.push(row),
            EffectKind::Record(d) => self.records.push((self.now, d)),
        }
    }

    /// The platform takes a row.
    pub(super) fn posts_row(&mut self, row: Row) {
        self.rows.push(Posted { at: self.now, row: row.clone() });
        let id = format!("own:{}", self.rows.len());
        self.input(Input::Outbox(OutboxResult { row: row.dedupe.clone(), outcome: Outcome::Settled { platform_id: Some(id.clone()) } }));
        if let RowKind::Post { text } = &row.kind {
            let mut item = self.item(&row.persona, ItemKind::Message, &id, text);
            item.author.kind = AuthorKind::Own;
            self.input(Input::Echo(Echo { row: row.dedupe, item }));
        }
    }

    pub(super) fn outcome(&mut self, row: &str, outcome: Outcome) {
        self.waiting_rows.retain(|r| r.dedupe != row);
        self.input(Input::Outbox(OutboxResult { row: row.into(), outcome }));
        self.input(Input::Tick);
    }

    /// Lets time pass, with every wake and every draft in order.
    pub(super) fn run_for(&mut self, ms: Millis) {
        let end = self.now + ms;
        for _ in 0..100_000 {
            let draft = self.drafts.iter().map(|(t, ..)| *t).min().filter(|_| !matches!(self.talk, Talk::Never));
            let wake = self.room.next_wake().map(|w| w.max(self.now));
            let next = [draft, wake].into_iter().flatten().min();
            let Some(t) = next.filter(|t| *t <= end) else { break };
            self.now = t;
            if draft.is_some_and(|d| d <= t) {
                self.finish_draft();
            }
            self.input(Input::Tick);
        }
        self.now = end;
    }

    fn finish_draft(&mut self) {
        let i = self.drafts.iter().enumerate().min_by_key(|(_, d)| d.0).map(|(i, _)| i).unwrap();
        let (_, id, d) = self.drafts.remove(i);
        let all: Vec<ObligationId> = d.owed.iter().map(|o| o.id).collect();
        let act = |settles, act| Input::Act(Act { draft: id, settles, act });
        let answer = match self.talk.clone() {
            Talk::Reply => act(
                all,
                DraftAct::Reply {
                    text: format!(
                        "Reply {id} to {} about {} of {} lines at {}",
                        d.owed[0].asker,
                        d.owed.len(),
                        d.owed[0].lines.len(),
                        self.now
                    ),
                },
            ),
            Talk::Say(text) => act(all, DraftAct::Reply { text: text.replace("{n}", &self.asked.len().to_string()) }),
            Talk::FirstOnly => act(all[..1].to_vec(), DraftAct::Reply { text: format!("Only the first one {id}, {}", d.owed[0].asker) }),
            Talk::Pass => act(all, DraftAct::Pass { reason: "nothing to add".into() }),
            Talk::React => act(all, DraftAct::React { emoji: "\u{1f44c}".into() }),
            Talk::Fail(kind) => Input::DraftFailed(DraftFailed { draft: id, kind }),
            Talk::Never => return,
        };
        self.input(answer);
    }

    pub(super) fn posts(&self) -> Vec<&Posted> {
        self.rows.iter().filter(|r| matches!(r.row.kind, RowKind::Post { .. })).collect()
    }

    pub(super) fn reactions(&self) -> Vec<&Posted> {
        self.rows.iter().filter(|r| matches!(r.row.kind, RowKind::React { .. })).collect()
    }

    pub(super) fn recorded(&self, what: What, why: Why) -> usize {
        self.records.iter().filter(|(_, d)| d.what == what && d.why == why).count()
    }

    /// The invariants of floor.md 8 that hold after every step.
    pub(super) fn check(&self) {
        let t = self.room.tally();
        assert_eq!(t.opened, t.ended_in_all() + self.room.open() as u64, "an obligation was lost: {t:?}");
        assert!(self.drafts.len() <= 1, "more than one draft in flight");
    }
}
