//! Training and live use are one machine: what it is trained on is, bit for bit, what it computes in a room that lives, restarts
//! included, and what it decides there follows from those numbers and the weights of the repository.

use parlor_core::{
    Act, Author, AuthorKind, Decision, DraftAct, Echo, Effect, EffectId, EffectKind, Input, Item, ItemKind, Judge, Likelihood, Link,
    Millis, ObligationId, Observation, OutboxResult, Outcome, Room, Row, RowKind, What, Why,
};
use tempfile::TempDir;

use super::{
    super::{
        drive::{Log, Posted},
        generate::{self, PERSONA, Plan},
    },
    *,
};

const PLAN: Plan = Plan { seed: 4_711, rooms: 3, lines: 500 };
/// Any round after the first is like it.
const ROUND: usize = 1;
/// Steps from restart to restart.
const RESTART_AFTER: u64 = 61;

/// A room machine as its shell runs it: inputs pass through JSON as they do into the ledger, and it is stored and read again now
/// and then.
struct Live {
    room: Room,
    /// Whether it writes down what its models are asked; a room that really lives does not.
    watched: bool,
    now: Millis,
    seq: u64,
    steps: u64,
    posts: u64,
    draft: Option<(Millis, EffectId, Vec<ObligationId>)>,
    draft_ms: Millis,
    observed: Vec<Observation>,
    decided: Vec<(Millis, Decision)>,
    log: Log,
}

impl Live {
    fn new(policy: Policy, draft_ms: Millis, watched: bool) -> Self {
        let mut room = Room::new(policy);
        if watched {
            room.start_observing();
        }
        Self {
            room,
            watched,
            now: 0,
            seq: 0,
            steps: 0,
            posts: 0,
            draft: None,
            draft_ms,
            observed: Vec::new(),
            decided: Vec::new(),
            log: Log::default(),
        }
    }

    fn line(&mut self, mut item: Item, policy: Policy) {
        while self.wake().is_some_and(|w| w < item.at) {
            self.pass();
        }
        self.step(&Input::Policy(Box::new(policy)));
        while self.wake().is_some_and(|w| w < item.at) {
            self.pass();
        }
        self.now = self.now.max(item.at);
        self.seq += 1;
        item.seq = self.seq;
        self.step(&Input::Item(item));
    }

    fn wake(&self) -> Option<Millis> {
        self.draft.as_ref().map(|d| d.0).into_iter().chain(self.room.next_wake()).min().map(|w| w.max(self.now))
    }

    fn pass(&mut self) {
        self.now = self.wake().unwrap();
        let text = String::new();
        match self.draft.take_if(|d| d.0 <= self.now) {
            Some((_, draft, settles)) => self.step(&Input::Act(Act { draft, settles, act: DraftAct::Reply { text } })),
            None => self.step(&Input::Tick),
        }
    }

    fn step(&mut self, input: &Input) {
        let input: Input = serde_json::from_str(&serde_json::to_string(input).unwrap()).unwrap();
        let effects = self.room.step(self.now, input);
        self.observed.append(&mut self.room.take_observed());
        self.steps += 1;
        if self.steps.is_multiple_of(RESTART_AFTER) {
            self.room = serde_json::from_str(&serde_json::to_string(&self.room).unwrap()).unwrap();
            if self.watched {
                self.room.start_observing();
            }
        }
        for Effect { id, kind } in effects {
            match kind {
                EffectKind::Draft(draft) => {
                    self.draft = Some((self.now + self.draft_ms, id, draft.owed.iter().map(|o| o.id).collect()));
                }
                EffectKind::CancelDraft { draft } => drop(self.draft.take_if(|d| d.1 == draft)),
                EffectKind::Submit(row) => self.post(row),
                EffectKind::Record(decision) => self.decided.push((self.now, decision)),
                EffectKind::Gate(_) | EffectKind::Withdraw { .. } | EffectKind::Typing { .. } => {}
            }
        }
    }

    fn post(&mut self, row: Row) {
        let target = row.address.as_ref().map(|a| a.platform_id.clone());
        let (platform_id, kind, text) = match row.kind {
            RowKind::Post { text } => {
                self.posts += 1;
                self.log.posts.push(Posted { ts: self.now, settles: row.settles_lines, kind: row.owed, prompted: !row.unprompted });
                (Some(format!("own:{}", self.posts)), ItemKind::Message, text)
            }
            RowKind::React { emoji } => (None, ItemKind::Reaction, emoji),
        };
        let shown = row.address.filter(|a| a.reply && kind == ItemKind::Message);
        self.seq += 1;
        let item = Item {
            seq: self.seq,
            at: self.now,
            platform_id: platform_id.clone().or(target).unwrap_or_default(),
            author: Author { id: PERSONA.0.into(), name: PERSONA.1.into(), kind: AuthorKind::Own },
            text,
            mentions: Vec::new(),
            find_names: false,
            links: shown.map(|a| Link { id: a.platform_id, author: None }).into_iter().collect(),
            kind,
        };
        self.step(&Input::Outbox(OutboxResult { row: row.dedupe.clone(), outcome: Outcome::Settled { platform_id } }));
        self.step(&Input::Echo(Echo { row: row.dedupe, item }));
    }
}

/// The rooms of a generated archive whose lines do not list whom they name, as those of a live surface do not.
fn rooms(dir: &TempDir) -> (Vec<Script>, Seat) {
    let rows = (0..PLAN.rooms).flat_map(|n| generate::room(PLAN, n)).map(|mut row| {
        row.as_object_mut().unwrap().remove("mentions");
        format!("{row}\n")
    });
    let path = dir.path().join("rooms.jsonl");
    fs::write(&path, rows.collect::<String>()).unwrap();
    let args = Args::of(vec![path]);
    let seat = Seat::of(&args, None).unwrap();
    (scripts(intake::read::<Tape>(&args, &seat).unwrap()), seat)
}

/// The same room as training plays it, and as it would have been lived.
fn both(script: &Script, seat: &Seat, watched: bool) -> (Drive, Live) {
    let trained = observed(script, seat, ROUND, PLAN.seed).unwrap();
    let policy = seat.with_policy(training_policy(seat.plain_policy(), ROUND)).policy(script.run.listener.persona());
    let mut random = waits(&script.run, PLAN.seed, ROUND);
    let mut live = Live::new(policy.clone(), seat.draft_ms, watched);
    for item in &script.run.listener.items {
        live.line(item.clone(), waiting(&policy, &mut random));
    }
    while live.wake().is_some() {
        live.pass();
    }
    (trained, live)
}

fn bits(o: &Observation) -> (Judge, Millis, Vec<u64>, &[String], Option<&str>) {
    (o.judge, o.at, o.numbers.iter().map(|x| x.to_bits()).collect(), &o.lines, o.line.as_deref())
}

/// A model by the page of the docs: one over one plus e to the minus of the weighted sum.
fn probability(judge: Judge, numbers: &[f64]) -> f64 {
    let model = Judges::embedded().get(judge);
    assert_eq!(model.weights.len(), numbers.len(), "{judge:?}");
    let mut odds = model.bias;
    for (weight, number) in model.weights.iter().zip(numbers) {
        odds += weight * number;
    }
    1.0 / (1.0 + (-odds).exp())
}

fn permille(p: f64) -> u16 {
    (p * 1_000.0).round() as u16
}

#[test]
fn what_is_trained_on_is_what_a_live_room_computes_bit_for_bit() {
    let dir = TempDir::new().unwrap();
    let (scripts, seat) = rooms(&dir);
    let (mut all, mut of_live) = (Vec::new(), Lessons::default());
    for script in &scripts {
        let (mut trained, mut live) = both(script, &seat, true);
        let trained = trained.take_observed();
        let observed = std::mem::take(&mut live.observed);
        assert!(live.steps > 5 * RESTART_AFTER, "it restarts now and then");
        for (n, (a, b)) in trained.iter().zip(&observed).enumerate() {
            assert_eq!(bits(a), bits(b), "observation {n} of {}, seed {}", script.run.name, PLAN.seed);
        }
        assert_eq!(trained.len(), observed.len(), "{}", script.run.name);
        of_live.learn(&script.run.facts, &script.truth, &live.log, &observed);
        all.extend(trained);
    }
    // `Statement` sees the numbers of `Me`.
    for judge in [Judge::Me, Judge::Answer, Judge::Answered] {
        assert!(all.iter().filter(|o| o.judge == judge).count() >= 20, "{judge:?} is asked now and then");
    }
    // The rows that `train-gate` fits to.
    let rows = lessons(&scripts.iter().collect::<Vec<_>>(), &seat, ROUND, PLAN.seed).unwrap();
    assert_eq!(format!("{rows:?}"), format!("{of_live:?}"));
}

#[test]
fn what_is_decided_follows_from_the_numbers_of_training_and_the_weights() {
    const GATED: [Why; 4] = [Why::GateSilent, Why::Continues, Why::AsksRoom, Why::MayRemark];
    let dir = TempDir::new().unwrap();
    let (scripts, seat) = rooms(&dir);
    let (mut gated, mut answered) = (0, 0);
    for script in &scripts {
        let (mut trained, live) = both(script, &seat, false);
        let trained = trained.take_observed();
        let asked = trained.iter().filter(|o| o.judge == Judge::Me);
        let decided = live.decided.iter().filter(|(_, d)| matches!(d.what, What::Silent | What::Opened) && GATED.contains(&d.why));
        assert_eq!(asked.clone().count(), decided.clone().count(), "each burst is judged once");
        for (asked, (at, decision)) in asked.zip(decided) {
            let odds = decision.odds.unwrap();
            let (me, room) = (probability(Judge::Me, &asked.numbers), probability(Judge::Room, &asked.numbers));
            assert_eq!((asked.at, odds.me_permille, odds.room_permille), (*at, permille(me), permille(room)), "{decision:?}");
            let measured = odds.measured.unwrap();
            let want = match measured.likelihood {
                Likelihood::ForPersona => me,
                Likelihood::ForUs => me + room,
                other => panic!("{other:?} at the gate"),
            };
            assert_eq!(measured.permille, permille(want), "{decision:?}");
            gated += 1;
        }
        // What people answered: the last time that it was weighed.
        for (at, decision) in live.decided.iter().filter(|(_, d)| d.what == What::Answered) {
            let Some(measured) = decision.odds.and_then(|o| o.measured).filter(|m| m.likelihood == Likelihood::Answered) else { continue };
            let weighed = trained.iter().filter(|o| o.judge == Judge::Answered && o.at == *at);
            let found: Vec<u16> = weighed.map(|o| permille(probability(Judge::Answered, &o.numbers))).collect();
            assert!(found.contains(&measured.permille), "{found:?} {decision:?}");
            answered += 1;
        }
    }
    assert!(gated >= 200 && answered >= 20, "{gated} {answered}");
}
