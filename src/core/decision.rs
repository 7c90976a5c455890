//! The record of a decision: enough to answer "why did it say that" and "why was it silent" without any text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{EffectId, ObligationId};

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What was chosen.
    pub what: What,
    /// Why.
    pub why: Why,
    /// The persona it concerns, where there is one.
    pub persona: Option<String>,
    /// What was owed.
    pub obligations: Vec<ObligationId>,
    /// The draft or outbox row it concerns.
    pub effect: Option<EffectId>,
    /// What the machine had seen.
    pub seen: Seen,
    /// What the models thought of the burst, where they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odds: Option<Odds>,
}

/// How likely a burst was for the persona, and for the room, in thousandths; 0 for both where it was addressed and nobody asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Odds {
    /// For the persona.
    pub me_permille: u16,
    /// For the room.
    pub room_permille: u16,
    /// What was last held against a bar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// A probability that was held against a bar, both in thousandths. The bar is part of the record: the policy may change later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Of what.
    pub likelihood: Likelihood,
    /// How likely it was.
    pub permille: u16,
    /// The bar: what reaches it is acted on.
    pub bar_permille: u16,
}

/// What may be likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likelihood {
    /// That the burst is for the persona.
    ForPersona,
    /// That it is for the persona or for the room.
    ForUs,
    /// That people answered it.
    Answered,
    /// That a question to the room still wants an answer of ours.
    Wanted,
    /// That a statement soon after our post wants an answer.
    Statement,
}

/// Probabilities with two digits: "for the persona 0.05, for the room 0.12, answered 0.81 (bar 0.14)".
impl fmt::Display for Odds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The sum of two probabilities may pass 1.
        let p = |permille: u16| f64::from(permille.min(1_000)) / 1_000.0;
        let bar = |of: Likelihood| self.measured.filter(|m| m.likelihood == of).map(|m| format!(" (bar {:.2})", p(m.bar_permille)));
        let mut parts = Vec::new();
        if self.me_permille + self.room_permille > 0 {
            let bar = bar(Likelihood::ForPersona).unwrap_or_default();
            parts.push(format!("for the persona {:.2}{bar}", p(self.me_permille)));
            parts.push(format!("for the room {:.2}", p(self.room_permille)));
        }
        if let Some(m) = self.measured {
            let what = match m.likelihood {
                Likelihood::ForPersona => None,
                Likelihood::ForUs => Some("together"),
                Likelihood::Answered => Some("answered"),
                Likelihood::Wanted => Some("still wanted"),
                Likelihood::Statement => Some("wants an answer"),
            };
            parts.extend(what.map(|what| format!("{what} {:.2}{}", p(m.permille), bar(m.likelihood).unwrap_or_default())));
        }
        f.write_str(&parts.join(", "))
    }
}

/// What the machine had seen when it decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The last item.
    pub cursor: u64,
    /// The lines that the decision is about.
    pub lines: Vec<u64>,
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal : $meaning:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[doc = $meaning] #[serde(rename = $code)] $variant,)*
        }
        impl $name {
            /// Every code, in the order of the docs.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
            /// The stable code, as stored.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }
            /// One sentence for people.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    /// What was chosen.
    What {
        Opened = "opened": "An obligation was opened.",
        Updated = "updated": "The asker changed what is owed; the wait starts again.",
        Silent = "silent": "The burst opens nothing.",
        Drafting = "drafting": "A draft was asked for.",
        Cancelled = "cancelled": "A draft was given up before it was posted.",
        Submitted = "submitted": "A post or reaction went to the outbox.",
        Withdrawing = "withdrawing": "A row was asked back from the outbox.",
        Dropped = "dropped": "A finished draft was thrown away.",
        Retrying = "retrying": "A draft failed and will be tried again.",
        Reopened = "reopened": "A row came back unposted; the obligation is open again.",
        Settled = "settled": "The obligation was met by a post or a reaction of ours.",
        Answered = "answered": "A person answered first.",
        WithdrawnByAsker = "withdrawn": "The asker took it back.",
        Passed = "passed": "The persona decided to say nothing.",
        Declined = "declined": "The persona could not answer and said so by a reaction.",
        Expired = "expired": "Its time was over.",
        Overflowed = "overflowed": "The room owed too much at once.",
        Held = "held": "Nobody knows whether the row was posted; a person decides.",
        Hushed = "hushed": "The room was muted, stopped or put in Shadow.",
        Resumed = "resumed": "The room listens again after a gap.",
        Notice = "notice": "Something for the owner to see.",
        Ignored = "ignored": "An answer arrived that nobody waited for.",
    }
}

codes! {
    /// Why it was chosen.
    Why {
        TypedMention = "typed_mention": "The persona was mentioned by the platform's own mention.",
        NameOpens = "name_opens": "The line opens with the persona's name.",
        NameInside = "name_inside": "The persona's name stands in a line that is for nobody else.",
        ReplyToOwn = "reply_to_own": "The line replies to a post of the persona.",
        DirectRoom = "direct_room": "Every line of this room is for the persona.",
        Continues = "continues": "The burst goes on with what the persona said to its author.",
        AsksRoom = "asks_room": "The burst asks whoever is there.",
        MayRemark = "may_remark": "Nothing is owed and a remark may fit.",
        Submission = "submission": "A reminder or another source wants something said.",
        ForOthers = "for_others": "The burst is for somebody else.",
        NotAsking = "not_asking": "The burst asks nothing.",
        InMidTalk = "in_mid_talk": "The author was in the middle of something already.",
        HelpedByOthers = "helped_by_others": "Somebody else is helping them.",
        GateSilent = "gate_silent": "The gate judged it not for us.",
        NotWanted = "not_wanted": "Weighed again before a draft, it does not want an answer of ours.",
        OnlyThanks = "only_thanks": "It thanks and asks nothing.",
        AboutPersona = "about_persona": "It speaks about the persona and not to it.",
        BeforeOurs = "before_ours": "It was written before our post could be read.",
        FromAgent = "from_agent": "It came from an agent and does not mention the persona.",
        AgentTurns = "agent_turns": "Agents have talked long enough without a person.",
        NoBudget = "no_budget": "No unprompted post is allowed now.",
        AskerQuiet = "asker_quiet": "The asker has been quiet long enough to begin a draft.",
        RoomWaitOver = "room_wait_over": "The room had its time and nobody answered.",
        Lull = "lull": "The room is quiet and a remark was wanted.",
        Due = "due": "It is time for it.",
        AskerAdded = "asker_added": "The asker wrote more.",
        AskerEdited = "asker_edited": "The asker changed a line.",
        AskerDeleted = "asker_deleted": "The asker deleted it.",
        NeverMind = "never_mind": "The asker said never mind.",
        PersonAnswered = "person_answered": "A person's line answers it.",
        AnsweredMeanwhile = "answered_meanwhile": "A person's line answered it while the draft was written.",
        SaidAlready = "said_already": "The persona has said the same before.",
        DraftTooOld = "draft_too_old": "The draft is too old to post.",
        NothingChanged = "nothing_changed": "Nothing that matters happened since the draft began.",
        OthersSpoke = "others_spoke": "Others spoke in between, so it goes out as a reply.",
        ByReaction = "by_reaction": "A reaction is enough.",
        DrafterPassed = "drafter_passed": "The drafter chose silence.",
        Timeout = "timeout": "The drafter did not answer in time.",
        ProviderError = "provider_error": "The model could not be reached or failed.",
        NoAct = "no_act": "The model ended without a usable act.",
        DraftRefused = "draft_refused": "The provider or the policy refused the draft.",
        OverBudget = "over_budget": "The budget of the room is used up.",
        NoBooks = "no_books": "The budget's books cannot be reached, so no model was asked.",
        TooManyFailures = "too_many_failures": "The draft failed too often.",
        TooManyDrafts = "too_many_drafts": "The asker kept changing it.",
        TooOld = "too_old": "It waited too long.",
        QueueFull = "queue_full": "The room owes as much as it can hold.",
        Muted = "muted": "The room is muted.",
        Stopped = "stopped": "The room is stopped.",
        ModeChanged = "mode_changed": "The mode of the room changed.",
        NotMember = "not_member": "The persona is no member any more.",
        RowPosted = "row_posted": "The row was posted.",
        ShadowSettled = "shadow_settled": "In Shadow the row ends here.",
        RowRefused = "row_refused": "The row was refused before it was posted.",
        RowWithdrawn = "row_withdrawn": "The row was taken back before it was posted.",
        RowExpired = "row_expired": "The row was not posted in time.",
        RowParked = "row_parked": "The fate of the row is unknown.",
        BacklogCovered = "backlog_covered": "One post was made for the backlog; this was not in it.",
        Gap = "gap": "The room was not listening.",
        Unmuted = "unmuted": "The room may speak again.",
        UnknownEffect = "unknown_effect": "Nobody waits for that effect.",
        SideTalk = "side_talk": "Two people are talking with each other.",
        TurnOver = "turn_over": "The turn looks over.",
    }
}
