//! Random schedules: the invariants of floor.md 8 after every step. A failing schedule is printed by proptest with its seed
//! and kept beside this file.

use proptest::{prelude::*, test_runner::FileFailurePersistence};

use super::stage::{Stage, Talk, member};
use crate::*;

#[derive(Clone, Debug)]
enum Move {
    Say(u8, u8),
    Reply(u8, u8),
    Edit(u8, u8),
    Delete(u8),
    Typing(u8),
    Wait(i64),
    Talk(u8),
    Mute(bool),
    Shadow(bool),
    Members(bool),
    Submit(u8),
    Resume,
    Hold(bool),
    Outcome(u8),
    Restart,
}

const LINES: &[&str] = &[
    "wren, how hot does cone 6 have to be?",
    "lark: who has the tongs?",
    "does anyone know when the kiln is free?",
    "and how long?",
    "never mind",
    "thanks!",
    "bob: at noon",
    "ada: about 1222",
    "it rains",
    "@wren @lark both of you?",
    "@everyone who took the long tongs?",
    "hi wren",
    "\u{1f389}",
    "",
];
const PEOPLE: &[&str] = &["ada", "bob", "cid", "newsbot"];

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        8 => (0..4u8, 0..14u8).prop_map(|(p, l)| Move::Say(p, l)),
        2 => (0..4u8, 0..8u8).prop_map(|(p, n)| Move::Reply(p, n)),
        2 => (0..8u8, 0..14u8).prop_map(|(n, l)| Move::Edit(n, l)),
        1 => (0..8u8).prop_map(Move::Delete),
        1 => (0..4u8).prop_map(Move::Typing),
        8 => prop_oneof![Just(400i64), Just(2_600), Just(11_000), Just(35_000), Just(110_000), Just(700_000)].prop_map(Move::Wait),
        2 => (0..7u8).prop_map(Move::Talk),
        1 => any::<bool>().prop_map(Move::Mute),
        1 => any::<bool>().prop_map(Move::Shadow),
        1 => any::<bool>().prop_map(Move::Members),
        1 => (0..4u8).prop_map(Move::Submit),
        1 => Just(Move::Resume),
        1 => any::<bool>().prop_map(Move::Hold),
        2 => (0..5u8).prop_map(Move::Outcome),
        1 => Just(Move::Restart),
    ];
    proptest::collection::vec(one, 1..120)
}

/// What the invariants need beside the stage.
struct Watch {
    policy: Policy,
    ids: Vec<String>,
    deleted: Vec<String>,
    rows_seen: usize,
}

impl Watch {
    fn apply(&mut self, s: &mut Stage, m: &Move) {
        match m {
            Move::Say(p, l) => self.ids.push(s.says(PEOPLE[usize::from(*p)], LINES[usize::from(*l)])),
            Move::Reply(p, n) => {
                if let Some(to) = self.nth(*n) {
                    self.ids.push(s.replies(PEOPLE[usize::from(*p)], &to, "that is so"));
                }
            }
            Move::Edit(n, l) => {
                if let Some(id) = self.nth(*n) {
                    s.edits("ada", &id, LINES[usize::from(*l)]);
                }
            }
            Move::Delete(n) => {
                if let Some(id) = self.nth(*n) {
                    self.deleted.push(id.clone());
                    s.deletes("ada", &id);
                }
            }
            Move::Typing(p) => s.input(Input::Typing { author: PEOPLE[usize::from(*p)].into() }),
            Move::Wait(ms) => s.run_for(*ms),
            Move::Talk(t) => s.talk = talk(*t),
            Move::Mute(on) => self.policy(s, |p| p.muted = *on),
            Move::Shadow(on) => self.policy(s, |p| p.mode = if *on { Mode::Shadow } else { Mode::Active }),
            Move::Members(two) => self.policy(s, |p| p.members.truncate(if *two { 2 } else { 1 })),
            Move::Submit(k) => {
                let expires_at = s.now + 60_000;
                let text = format!("reminder {k}");
                s.input(Input::Submission(Submission {
                    key: format!("k{k}"),
                    persona: "wren".into(),
                    text,
                    prompted: k % 2 == 0,
                    expires_at,
                }));
            }
            Move::Resume => s.input(Input::Resumed),
            Move::Hold(on) => s.post = !on,
            Move::Outcome(k) => outcome(s, *k),
            Move::Restart => {
                let stored = serde_json::to_string(&s.room).unwrap();
                let restored: Room = serde_json::from_str(&stored).unwrap();
                assert_eq!(serde_json::to_string(&restored).unwrap(), stored);
                s.room = restored;
            }
        }
    }

    fn nth(&self, n: u8) -> Option<String> {
        self.ids.iter().rev().nth(usize::from(n)).cloned()
    }

    fn policy(&mut self, s: &mut Stage, change: impl Fn(&mut Policy)) {
        change(&mut self.policy);
        self.policy.revision += 1;
        s.input(Input::Policy(Box::new(self.policy.clone())));
        // As the ledger does it: what nobody claimed is refused with the mute, and with the change to Shadow.
        let reason = if self.policy.muted { "muted" } else { "shadow" };
        if self.policy.muted || self.policy.mode == Mode::Shadow {
            for row in std::mem::take(&mut s.waiting_rows) {
                s.input(Input::Outbox(OutboxResult { row: row.dedupe, outcome: Outcome::Refused { reason: reason.into() } }));
            }
        }
        s.input(Input::Tick);
    }

    fn check(&mut self, s: &Stage) {
        s.check();
        for row in s.submitted.iter().skip(self.rows_seen) {
            assert!(!row.settles.is_empty(), "a row that settles nothing");
            assert!(!self.policy.muted, "a row while muted");
            assert_eq!(row.shadow, self.policy.mode == Mode::Shadow);
            if let Some(a) = &row.address
                && matches!(row.kind, RowKind::Post { .. })
            {
                assert!(!self.deleted.contains(&a.platform_id), "a reply to a deleted line");
            }
        }
        self.rows_seen = s.submitted.len();
        let unprompted: Vec<Millis> = s.rows.iter().filter(|r| r.row.unprompted).map(|r| r.at).collect();
        assert!(unprompted.windows(3).all(|w| w[2] - w[0] >= 3_600_000), "budget of two an hour: {unprompted:?}");
        let mut keys: Vec<&str> = s.submitted.iter().map(|r| r.dedupe.as_str()).collect();
        keys.sort_unstable();
        assert!(keys.windows(2).all(|w| w[0] != w[1]), "a dedupe key twice: {keys:?}");
    }
}

fn talk(t: u8) -> Talk {
    match t {
        0..=2 => Talk::Reply,
        3 => Talk::FirstOnly,
        4 => Talk::Pass,
        5 => Talk::Fail(Failure::Provider),
        _ => Talk::React,
    }
}

fn outcome(s: &mut Stage, k: u8) {
    let Some(row) = s.waiting_rows.first().cloned() else { return };
    match k {
        0 => {
            s.waiting_rows.remove(0);
            s.posts_row(row);
        }
        1 => s.outcome(&row.dedupe, Outcome::Refused { reason: "gone".into() }),
        2 => s.outcome(&row.dedupe, Outcome::Withdrawn),
        3 => s.outcome(&row.dedupe, Outcome::Expired),
        _ => s.outcome(&row.dedupe, Outcome::Parked { reason: "no_answer".into() }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        max_shrink_iters: 4_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("room/tests/invariants.regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn invariants_hold_on_random_schedules(moves in moves(), gate in 0..3usize) {
        let mut policy = Policy::new(vec![member("wren", "Wren"), member("lark", "Lark")]);
        policy.budget.unprompted_per_hour = 2;
        policy.gate = [GateKind::Rules, GateKind::Embedded, GateKind::Model][gate];
        let mut s = Stage::with(policy.clone());
        s.gate = (0.1, 0.2);
        let mut w = Watch { policy: policy.clone(), ids: Vec::new(), deleted: Vec::new(), rows_seen: 0 };
        for m in &moves {
            w.apply(&mut s, m);
            w.check(&s);
        }
        s.run_for(4_000_000);
        w.check(&s);
        let replayed = Room::restore(Room::new(policy), s.log.clone());
        prop_assert_eq!(serde_json::to_string(&replayed).unwrap(), serde_json::to_string(&s.room).unwrap());
    }

    #[test]
    fn a_tick_before_the_wake_changes_nothing(moves in moves()) {
        let mut s = Stage::with(Policy::new(vec![member("wren", "Wren"), member("lark", "Lark")]));
        let mut w = Watch { policy: s.room.policy().clone(), ids: Vec::new(), deleted: Vec::new(), rows_seen: 0 };
        for m in &moves {
            w.apply(&mut s, m);
            s.input(Input::Tick);
            if let Some(wake) = s.room.next_wake() && wake > s.now + 1 {
                let effects = s.room.clone().step(wake - 1, Input::Tick);
                prop_assert!(effects.is_empty(), "at {} before {wake}: {effects:?}", wake - 1);
            }
        }
    }
}
