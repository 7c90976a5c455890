//! The life of each obligation, put together from the decisions about it: what it waited for, its drafts, and how it ended.

use std::collections::BTreeMap;

use parlor_core::{Decision, Millis, ObligationId, What, Why};

use crate::replay::diary::Diary;

/// One obligation.
pub(super) struct Owed {
    pub kind: &'static str,
    /// Id of who asked; none for what nobody asked.
    pub asker: Option<String>,
    pub spans: Vec<Span>,
    pub marks: Vec<Mark>,
    state: Option<(SpanKind, Millis)>,
}

/// What it was doing for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub kind: SpanKind,
    pub from: Millis,
    pub to: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Wait,
    Draft,
    /// Written, and waiting for the end of the turn.
    Ready,
}

impl SpanKind {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Draft => "draft under way",
            Self::Ready => "draft ready, waits for the end of the turn",
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Draft => "draft",
            Self::Ready => "ready",
        }
    }
}

/// What happened to it at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub kind: MarkKind,
    pub at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    Post,
    Reaction,
    /// A draft was thrown away or failed.
    Drop,
    /// It ended without a word of ours.
    End,
}

/// Every obligation of a diary.
pub(super) fn owed(diary: &Diary, draft_ms: Millis) -> BTreeMap<ObligationId, Owed> {
    let mut all = BTreeMap::new();
    for (at, decision) in &diary.decisions {
        for id in &decision.obligations {
            if decision.what == What::Opened {
                all.insert(*id, Owed::opened(diary, *at, decision));
            } else if let Some(owed) = all.get_mut(id) {
                owed.decided(*at, decision, draft_ms);
            }
        }
    }
    for act in &diary.acts {
        let kind = if act.reaction { MarkKind::Reaction } else { MarkKind::Post };
        for id in &act.settles {
            if let Some(owed) = all.get_mut(id) {
                owed.marks.push(Mark { kind, at: act.ts });
            }
        }
    }
    let end = diary.decisions.last().map_or(0, |(at, _)| *at);
    for owed in all.values_mut() {
        owed.close(end, draft_ms);
        // Ending right after a word of ours is the same thing.
        let said: Vec<Millis> = owed.marks.iter().filter(|m| matches!(m.kind, MarkKind::Post | MarkKind::Reaction)).map(|m| m.at).collect();
        owed.marks.retain(|m| m.kind != MarkKind::End || !said.contains(&m.at));
    }
    all
}

/// The kind of an obligation, by why it was opened.
fn kind(why: Why) -> &'static str {
    match why {
        Why::Continues => "follow-up",
        Why::AsksRoom => "room question",
        Why::MayRemark => "remark",
        Why::Submission => "task",
        _ => "direct",
    }
}

impl Owed {
    fn opened(diary: &Diary, at: Millis, decision: &Decision) -> Self {
        let asker = decision.seen.lines.first().and_then(|seq| diary.line(*seq)).map(|line| line.author.clone());
        Self { kind: kind(decision.why), asker, spans: Vec::new(), marks: Vec::new(), state: Some((SpanKind::Wait, at)) }
    }

    fn decided(&mut self, at: Millis, decision: &Decision, draft_ms: Millis) {
        match decision.what {
            // Where rows take their time, the post has its own mark before.
            What::Settled if matches!(decision.why, Why::RowPosted | Why::ShadowSettled) => self.close(at, draft_ms),
            What::Drafting => {
                self.close(at, draft_ms);
                self.state = Some((SpanKind::Draft, at));
            }
            What::Cancelled | What::Dropped | What::Retrying => {
                self.close(at, draft_ms);
                self.marks.push(Mark { kind: MarkKind::Drop, at });
                self.state = Some((SpanKind::Wait, at));
            }
            What::Reopened => self.state = Some((SpanKind::Wait, at)),
            What::Submitted => self.close(at, draft_ms),
            What::Settled
            | What::Answered
            | What::WithdrawnByAsker
            | What::Passed
            | What::Declined
            | What::Expired
            | What::Overflowed
            | What::Held => {
                self.close(at, draft_ms);
                self.marks.push(Mark { kind: MarkKind::End, at });
            }
            _ => {}
        }
    }

    /// Ends what it was doing. The part of a draft beyond its time was a wait for the end of the turn.
    fn close(&mut self, at: Millis, draft_ms: Millis) {
        let Some((kind, from)) = self.state.take() else { return };
        let written = if kind == SpanKind::Draft { at.min(from + draft_ms) } else { at };
        self.spans.push(Span { kind, from, to: written });
        if written < at {
            self.spans.push(Span { kind: SpanKind::Ready, from: written, to: at });
        }
    }

    /// Whether it was open at some moment of a time.
    pub(super) fn overlaps(&self, from: Millis, to: Millis) -> bool {
        self.spans.iter().any(|s| s.from <= to && s.to >= from)
    }
}
