//! What becomes of a row, and the room's memory of its own posts.

use serde::{Deserialize, Serialize};

use super::{About, Out, Overtaken, Room, floor::Floor};
use crate::{
    Echo, EffectKind, Item, Millis, Mode, ObligationId, ObligationKind, ObligationState, OutboxResult, Outcome, Row, RowKind, What, Why,
    burst::Burst,
    judge::{
        signs::Words,
        talk::{By, Told},
    },
    newest::keep,
    people::{PersonaNo, Who},
    shingle::Shingles,
};

/// Own posts remembered, to find a draft that says the same again and replies to them (floor.md 5).
const MAX_POSTS: usize = 50;
/// Rows of unknown fate that are remembered; a person decides about each.
const MAX_HELD: usize = 64;
/// Every row ends by its expiry; this much later its outcome is overdue.
pub(super) const OUTCOME_GRACE_MS: Millis = 120_000;
/// A row that comes back refused this often is not tried again.
const MAX_REFUSALS: u8 = 3;
/// Room questions watched for a later answer, to learn the room's wait.
const MAX_WATCHED: usize = 16;

/// A row that is out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sending {
    pub(super) row: String,
    pub(super) persona: PersonaNo,
    pub(super) owed: Vec<ObligationId>,
    /// The last item seen when it went out: later lines are not covered by it.
    pub(super) cursor: u64,
    /// For a post: its words.
    pub(super) words: Option<Shingles>,
    pub(super) text: Option<String>,
    pub(super) unprompted: bool,
    pub(super) withdrawing: bool,
    pub(super) since: Millis,
    /// Without an outcome by then the row's fate counts as unknown.
    pub(super) given_up: Millis,
}

/// An own post.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Post {
    pub(super) row: String,
    pub(super) persona: PersonaNo,
    pub(super) platform_id: Option<String>,
    pub(super) words: Shingles,
}

impl Room {
    pub(super) fn on_outbox(&mut self, result: OutboxResult, out: &mut Out) {
        let Some(sending) = self.take_row(&result.row) else {
            if let Some(i) = self.loose.iter().position(|r| *r == result.row) {
                self.loose.remove(i);
            } else if !self.posts.iter().any(|p| p.row == result.row) {
                self.record(out, What::Ignored, Why::UnknownEffect, About::default());
            }
            return;
        };
        match result.outcome {
            Outcome::Settled { platform_id } => {
                let why = if self.policy.mode == Mode::Shadow { Why::ShadowSettled } else { Why::RowPosted };
                self.posted(sending, platform_id, self.now, why, out);
            }
            Outcome::Refused { reason } => self.refused(&sending, &reason, out),
            Outcome::Withdrawn => {
                self.row_came_back(&sending.owed);
                self.wait_again(&sending.owed);
                self.record_row(What::Reopened, Why::RowWithdrawn, &sending, out);
                if let Some(text) = sending.text {
                    self.overtaken = Some(Overtaken { owed: sending.owed, text });
                }
            }
            Outcome::Expired => {
                self.reopen(&sending.owed);
                for id in sending.owed {
                    self.end(id, What::Expired, Why::RowExpired, out);
                }
            }
            Outcome::Parked { .. } => self.hold(sending, out),
        }
    }

    /// The row under way or held, taken out; the floor is free then.
    fn take_row(&mut self, row: &str) -> Option<Sending> {
        if let Some(i) = self.held.iter().position(|s| s.row == row) {
            return Some(self.held.remove(i));
        }
        match std::mem::replace(&mut self.floor, Floor::Idle) {
            Floor::Sending(s) if s.row == row => Some(*s),
            other => {
                self.floor = other;
                None
            }
        }
    }

    /// The obligations of a row that came back unposted are open again; the next row has another key.
    fn row_came_back(&mut self, ids: &[ObligationId]) {
        self.reopen(ids);
        for o in self.owed.iter_mut().filter(|o| ids.contains(&o.id)) {
            o.tries += 1;
        }
    }

    fn record_row(&self, what: What, why: Why, s: &Sending, out: &mut Out) {
        let about = About { persona: Some(s.persona), obligations: s.owed.clone(), effect: s.row.parse().ok(), ..About::default() };
        self.record(out, what, why, about);
    }

    /// No outcome came, though every row ends in one: the floor is freed, and a person decides about the row.
    pub(super) fn give_up_row(&mut self, out: &mut Out) {
        match std::mem::replace(&mut self.floor, Floor::Idle) {
            Floor::Sending(s) => self.hold(*s, out),
            other => self.floor = other,
        }
    }

    fn refused(&mut self, s: &Sending, reason: &str, out: &mut Out) {
        self.row_came_back(&s.owed);
        let why = match reason {
            "muted" => Why::Muted,
            "stopped" => Why::Stopped,
            "shadow" => Why::ModeChanged,
            "no_budget" => Why::NoBudget,
            _ => Why::RowRefused,
        };
        self.record_row(What::Reopened, why, s, out);
        for id in &s.owed {
            let now = self.now;
            let Some(o) = self.owed.iter_mut().find(|o| o.id == *id) else { continue };
            o.ripe = now;
            // A hushed row says nothing about the next try.
            if !matches!(why, Why::Muted | Why::Stopped | Why::ModeChanged) {
                o.refusals += 1;
            }
            if o.refusals >= MAX_REFUSALS || why == Why::NoBudget && o.kind == ObligationKind::Opening {
                self.decline(*id, Why::RowRefused, out);
            }
        }
    }

    fn hold(&mut self, s: Sending, out: &mut Out) {
        for o in self.owed.iter_mut().filter(|o| s.owed.contains(&o.id)) {
            o.state = ObligationState::Held;
        }
        self.record_row(What::Held, Why::RowParked, &s, out);
        self.record_row(What::Notice, Why::RowParked, &s, out);
        if self.held.len() < MAX_HELD {
            self.held.push(s);
        }
    }

    /// A row was posted: what it settles is met, and what the asker said since is a new turn.
    fn posted(&mut self, s: Sending, platform_id: Option<String>, at: Millis, why: Why, out: &mut Out) {
        let bursts: Vec<(u64, Who, ObligationKind)> =
            s.owed.iter().filter_map(|id| self.obligation(*id)).filter_map(|o| Some((o.burst?, o.who?, o.kind))).collect();
        let told = |(id, who, kind): &(u64, Who, ObligationKind)| Told {
            who: *who,
            direct: *kind == ObligationKind::Direct,
            words: self.burst(*id).map(|b| b.weighed.words.clone()).unwrap_or_default(),
        };
        let askers: Vec<Told> = bursts.iter().map(told).collect();
        let backlog = s.owed.iter().any(|id| self.obligation(*id).is_some_and(|o| o.backlog));
        let mut later = Vec::new();
        for (id, who, kind) in &bursts {
            later.extend(self.split_later_lines(*id, s.cursor, out));
            if *kind == ObligationKind::RoomQuestion {
                self.watch(*id, *who);
            }
            if let Some(b) = self.burst_mut(*id) {
                b.settled = true;
            }
        }
        for id in &s.owed {
            self.end(*id, What::Settled, why, out);
        }
        if let Some(words) = s.words {
            if backlog {
                self.close_backlog(out);
            }
            self.own_post(s.row, s.persona, platform_id, words, &askers, at);
            if s.unprompted {
                let base = self.unprompted_interval();
                self.restraint.note_unprompted(s.persona, self.now, base);
            }
            // A held row may be decided while something else is under way.
            if let Floor::Idle = self.floor {
                self.floor = Floor::Cooldown { until: self.now + self.policy.timings.cooldown_ms };
            }
        }
        for burst in later {
            self.follow_up_later_lines(burst, s.persona, out);
        }
    }

    /// One post is made for a backlog: what it did not cover is closed (floor.md 3).
    fn close_backlog(&mut self, out: &mut Out) {
        let left: Vec<(ObligationId, ObligationKind)> =
            self.owed.iter().filter(|o| o.backlog && o.is_open()).map(|o| (o.id, o.kind)).collect();
        for (id, kind) in left {
            match kind {
                ObligationKind::Direct => self.decline(id, Why::BacklogCovered, out),
                ObligationKind::Task => {}
                _ => self.end(id, What::Passed, Why::BacklogCovered, out),
            }
        }
    }

    /// Lines that the asker added after the row went out are a burst of their own.
    fn split_later_lines(&mut self, id: u64, cursor: u64, out: &mut Out) -> Option<Box<Burst>> {
        let b = self.burst_mut(id)?;
        let at = b.lines.iter().position(|l| l.line.seq > cursor)?;
        let mut later = Box::new(Burst::new(out.next_burst(), b.who, Some(0)));
        later.lines = b.lines.split_off(at);
        (later.began_at, later.last_at, later.heard) = (b.last_at, b.last_at, b.heard);
        Some(later)
    }

    fn follow_up_later_lines(&mut self, burst: Box<Burst>, persona: PersonaNo, out: &mut Out) {
        let (id, thanks) = (burst.id, burst.only_thanks());
        let addressed = burst.why(1 << persona.0);
        let direct = burst.personas() & 1 << persona.0 != 0;
        self.active.push(burst);
        if direct {
            self.open_obligation(ObligationKind::Direct, Some(persona), id, addressed, out);
        } else if !thanks {
            self.open_obligation(ObligationKind::FollowUp, Some(persona), id, Why::Continues, out);
        }
        self.rest_if_done(id);
    }

    fn watch(&mut self, burst: u64, who: Who) {
        let Some(b) = self.burst(burst) else { return };
        let watched = super::Watched { who, at: b.last_at, lines: b.platform_ids().collect() };
        keep(&mut self.watched, MAX_WATCHED, watched);
    }

    fn own_post(&mut self, row: String, persona: PersonaNo, platform_id: Option<String>, words: Shingles, askers: &[Told], at: Millis) {
        if let Some(id) = &platform_id {
            self.remember(id, By::Own(persona));
        }
        self.note_own_talk(persona, at, askers);
        self.restraint.note_own_post(self.now);
        keep(&mut self.posts, MAX_POSTS, Post { row, persona, platform_id, words });
    }

    /// The platform shows our post: the settling, if the answer to the send did not come first, and the id to reply to.
    pub(super) fn on_echo(&mut self, echo: &Echo, out: &mut Out) {
        self.cursor = self.cursor.max(echo.item.seq);
        self.match_echo(echo, out);
        self.on_member_line(&echo.item, out);
    }

    fn match_echo(&mut self, echo: &Echo, out: &mut Out) {
        let id = Some(echo.item.platform_id.clone());
        if let Some(sending) = self.take_row(&echo.row) {
            return self.posted(sending, id, echo.item.at, Why::RowPosted, out);
        }
        let Some(persona) = self.persona_no(&echo.item.author.id) else { return };
        if let Some(post) = self.posts.iter_mut().find(|p| p.row == echo.row) {
            if post.platform_id.is_none() {
                post.platform_id.clone_from(&id);
                self.remember(&echo.item.platform_id, By::Own(persona));
            }
        } else if !self.loose.contains(&echo.row) && echo.item.kind == crate::ItemKind::Message {
            self.own_post(echo.row.clone(), persona, id, Shingles::of(&echo.item.text), &[], echo.item.at);
        }
    }

    /// An own line without a row of ours: from before the room was rebuilt.
    pub(super) fn on_own_item(&mut self, item: &Item) {
        let Some(persona) = self.persona_no(&item.author.id) else { return };
        let askers: Vec<Told> = item
            .links
            .iter()
            .filter_map(|l| match self.author_of(&l.id) {
                Some(By::Person(who)) => Some(Told { who, direct: false, words: Words::default() }),
                Some(By::Own(_)) | None => None,
            })
            .collect();
        self.own_post(String::new(), persona, Some(item.platform_id.clone()), Shingles::of(&item.text), &askers, item.at);
    }

    /// Asks a row back; if it was claimed already, it is posted and the new line starts a new turn.
    pub(super) fn withdraw_row(&mut self, why: Why, out: &mut Out) {
        let Floor::Sending(s) = &mut self.floor else { return };
        if s.withdrawing {
            return;
        }
        s.withdrawing = true;
        let s = s.clone();
        self.record_row(What::Withdrawing, why, &s, out);
        out.push(EffectKind::Withdraw { row: s.row });
    }

    /// A submission goes out as it is: somebody else wrote it.
    pub(super) fn submit_task(&mut self, id: ObligationId, out: &mut Out) {
        let Some(o) = self.obligation(id) else { return };
        let (Some(s), Some(persona)) = (o.submission.clone(), o.persona) else { return };
        let dedupe = if o.tries == 0 { s.key.clone() } else { format!("{}#{}", s.key, o.tries + 1) };
        let words = Shingles::of(&s.text);
        self.record(out, What::Submitted, Why::Due, About::obligation(o));
        let row = Row {
            dedupe,
            persona: s.persona,
            kind: RowKind::Post { text: s.text },
            address: None,
            settles: vec![id],
            owed: ObligationKind::Task,
            settles_lines: Vec::new(),
            unprompted: !s.prompted,
            shadow: self.policy.mode == Mode::Shadow,
            expires_at: s.expires_at,
        };
        self.put_out(row, persona, words, out);
    }
}
