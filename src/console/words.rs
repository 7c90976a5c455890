//! The floor in plain words: what the room is doing, how long that still takes, and why it takes that long.

use std::collections::BTreeMap;

use parlor_core::{Audience, Millis, ObligationKind, ObligationState, ObligationView, Phase, View, WaitingFor};

/// What people are called: personas by resource name, people by authenticated id.
#[derive(Clone, Debug, Default)]
pub(super) struct Called(pub(super) BTreeMap<String, String>);

/// The most names that one page or stream knows; whoever comes after is "Somebody".
const CALLED_MAX: usize = 2048;

impl Called {
    /// Notes what a new author is called. Personas and those who are known keep their names.
    pub(super) fn learn(&mut self, id: &str, name: &str) {
        if self.0.len() < CALLED_MAX && !self.0.contains_key(id) {
            self.0.insert(id.to_owned(), name.to_owned());
        }
    }

    pub(super) fn name<'a>(&'a self, id: &'a str) -> &'a str {
        match (self.0.get(id), id) {
            (Some(name), _) => name,
            (None, "owner") => "Owner",
            // A visitor's id is 32 random letters and says nothing to anybody.
            (None, id) if id.len() >= 24 => "Somebody",
            (None, id) => id,
        }
    }
}

/// Who may know what is said in a room, where that is not simply who is in it; said to those who may know of the room.
pub(super) fn circle(audience: Audience) -> &'static str {
    match audience {
        Audience::Public => "public",
        Audience::Room => "",
        Audience::Direct => "only you",
        Audience::Operator => "operators only",
    }
}

/// What the floor strip says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Floor {
    /// What is going on.
    pub(super) now: String,
    /// Why it takes that long, in one sentence.
    pub(super) why: String,
    /// What the time beside it means.
    pub(super) clock: Clock,
}

/// A time that runs beside the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    None,
    /// Counts down to this time, ms.
    Until(Millis),
    /// Counts up from this time, ms: work whose end nobody knows.
    Since(Millis),
}

/// Says what the floor does.
pub(super) fn floor(view: &View, called: &Called) -> Floor {
    let asker = asker(view).map_or("the asker", |id| called.name(id));
    let persona = view.persona.as_deref().map_or("A persona", |id| called.name(id));
    let until = view.until.map_or(Clock::None, Clock::Until);
    if view.muted {
        let now = if view.obligations.is_empty() { "Muted".to_owned() } else { format!("Muted; {} open", view.obligations.len()) };
        return say(
            now,
            "The room keeps listening and recording, and says nothing. After the unmute it decides once about what came meanwhile.",
            Clock::None,
        );
    }
    match view.waiting_for {
        WaitingFor::Nothing => idle(view, persona),
        WaitingFor::AskerQuiet => say(
            format!("Waiting for {asker} to finish"),
            "People often send a second line right after the first. A draft begins after a moment of quiet.",
            until,
        ),
        WaitingFor::TurnEnd => match view.phase {
            Phase::Validating => say(
                format!("Draft ready; posts when {asker}'s turn looks over"),
                "A finished sentence needs a short quiet, an open one a longer. If more comes, the draft is written again.",
                until,
            ),
            Phase::Idle | Phase::Waiting | Phase::Drafting | Phase::Sending | Phase::Cooldown => say(
                format!("Waiting until {asker}'s turn looks over"),
                "What was asked has changed several times, so the next draft begins only when nothing more seems to come.",
                until,
            ),
        },
        WaitingFor::Typing => {
            say(format!("{asker} is typing"), "Whoever is typing has not finished, so nothing is posted over them.", until)
        }
        WaitingFor::People => say(
            "People have their time first".to_owned(),
            "The question was for the room. A persona answers only if no person did in the time that this room usually needs.",
            until,
        ),
        WaitingFor::Lull => say(
            "Waiting for a quiet room".to_owned(),
            "A remark that nobody asked for fits only when nobody is talking, and only a few times in an hour.",
            until,
        ),
        WaitingFor::Burst => say(
            format!("Listening to {asker}"),
            "The line names nobody. It is judged once, when its author's turn looks over, whether it is for a persona.",
            until,
        ),
        WaitingFor::Model => say(
            format!("{persona} is writing a draft"),
            "The model answers in its own time. Lines that come meanwhile are taken into account.",
            Clock::Since(view.since),
        ),
        WaitingFor::Platform => {
            say(format!("Posting what {persona} wrote"), "The line counts as said when it is seen in the room.", Clock::Since(view.since))
        }
        WaitingFor::Cooldown => say(
            "A short pause after a post".to_owned(),
            "A persona does not speak twice in one breath. What is owed meanwhile waits for the end of the pause.",
            until,
        ),
        WaitingFor::Retry => say(
            "The draft failed; the next try".to_owned(),
            "The model could not be used. It is tried again three times, each after a longer wait.",
            until,
        ),
        WaitingFor::Unmute => say(
            "Stopped: listening only".to_owned(),
            "The room is muted or stopped. It keeps listening and recording, and decides once about what came when it may speak again.",
            Clock::None,
        ),
    }
}

fn idle(view: &View, persona: &str) -> Floor {
    match view.phase {
        Phase::Idle | Phase::Waiting => {
            say("Listening; nothing is owed".to_owned(), "Name a persona to ask it something, or ask the room.", Clock::None)
        }
        Phase::Drafting | Phase::Validating => {
            say(format!("{persona} has a draft"), "It is checked against what happened meanwhile.", Clock::Since(view.since))
        }
        Phase::Sending => {
            say(format!("Posting what {persona} wrote"), "The line counts as said when it is seen in the room.", Clock::Since(view.since))
        }
        Phase::Cooldown => say(
            "A short pause after a post".to_owned(),
            "A persona does not speak twice in one breath.",
            view.until.map_or(Clock::None, Clock::Until),
        ),
    }
}

fn say(now: String, why: &str, clock: Clock) -> Floor {
    Floor { now, why: why.to_owned(), clock }
}

/// Who asked what the floor is busy with: what is under way first, else what is due first.
fn asker(view: &View) -> Option<&str> {
    let busy = |o: &&ObligationView| matches!(o.state, ObligationState::Drafting | ObligationState::Sending);
    let mine = |o: &&ObligationView| view.persona.is_none() || o.persona.is_none() || o.persona == view.persona;
    let open = |o: &&ObligationView| o.state == ObligationState::Open;
    let all = || view.obligations.iter();
    all()
        .find(busy)
        .or_else(|| all().filter(open).filter(mine).min_by_key(|o| o.ripe_at))
        .or_else(|| all().filter(open).min_by_key(|o| o.ripe_at))
        .map(|o| o.asker.as_str())
}

/// What is owed, as the middle of "Wren owes Ada ...".
pub(super) fn owed(kind: ObligationKind) -> &'static str {
    match kind {
        ObligationKind::Direct => "asked by name",
        ObligationKind::FollowUp => "goes on with the persona",
        ObligationKind::RoomQuestion => "asked the room",
        ObligationKind::Opening => "a remark may fit",
        ObligationKind::Task => "to be said for somebody",
    }
}

/// Where an obligation stands.
pub(super) fn stands(owed: &ObligationView) -> &'static str {
    match (owed.state, owed.answered) {
        (ObligationState::Held, _) => "held: nobody knows whether it was posted",
        (ObligationState::Sending, _) => "being posted",
        (ObligationState::Drafting, true) => "draft under way; a person seems to have answered",
        (ObligationState::Drafting, false) => "draft under way",
        (ObligationState::Open, true) => "a person seems to have answered",
        (ObligationState::Open, false) => "open",
    }
}

/// Time left, as the page shows it before its script counts on.
pub(super) fn left(ms: Millis) -> String {
    match ms {
        ..=0 => "any moment".to_owned(),
        1..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..120_000 => format!("{} s", ms / 1000),
        _ => format!("{}:{:02} min", ms / 60_000, ms % 60_000 / 1000),
    }
}

#[cfg(test)]
mod tests;
