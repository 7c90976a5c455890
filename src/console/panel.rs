//! What stands beside the lines: the floor, who types, what is owed, and every decision with its why.

use maud::{Markup, html};
use parlor_core::{Millis, ObligationState, ObligationView, View, What};

use super::{
    Logged,
    line::{Frame, clock},
    words::{self, Called, Clock},
};

/// The floor without the parts that change by themselves: two equal ones need not be sent twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FloorShown {
    floor: words::Floor,
    /// What is said first of the reason: why the room is muted.
    because: String,
    shadow: bool,
}

impl FloorShown {
    pub(super) fn of(view: Option<&View>, topic: &str, called: &Called) -> Self {
        match view {
            Some(view) => Self {
                floor: words::floor(view, called),
                because: if view.muted { topic.to_owned() } else { String::new() },
                shadow: view.shadow,
            },
            None => Self {
                floor: words::Floor {
                    now: "Nobody is listening yet".to_owned(),
                    why: "The room's actor is not running. Lines are kept, and read when it starts.".to_owned(),
                    clock: Clock::None,
                },
                because: String::new(),
                shadow: false,
            },
        }
    }

    /// The parts of the strip, each replaced by itself: what is announced must stay in the document, or no screen reader
    /// notices that it changed.
    pub(super) fn parts(&self, now: Millis) -> [Markup; 3] {
        let left = match self.floor.clock {
            Clock::None => html! { span #floor-left {} },
            Clock::Until(until) => html! { span #floor-left data-left=(until - now) { (words::left(until - now)) } },
            Clock::Since(since) => html! { span #floor-left data-spent=(now - since) { (words::left((now - since).max(1))) } },
        };
        [
            html! { span #floor-now role="status" data-keep { (self.floor.now) } },
            left,
            html! {
                p #floor-why {
                    @if !self.because.is_empty() { b dir="auto" { (self.because) } " " }
                    (self.floor.why)
                    @if self.shadow { " " b { "Shadow:" } " drafts are written and recorded, and never posted." }
                }
            },
        ]
    }
}

/// The strip above the message box.
pub(super) fn strip(shown: &FloorShown, now: Millis) -> Markup {
    let [said, left, why] = shown.parts(now);
    html! { section.floor aria-label="What the room is doing" { p.now { (said) " " (left) } (why) a.to-aside href="#owed-title" { "What is owed and decided" } } }
}

/// Who is typing, in words; empty when nobody is.
pub(super) fn typing(names: &[String]) -> Markup {
    let words = match names {
        [] => String::new(),
        [one] => format!("{one} is typing"),
        [one, two] => format!("{one} and {two} are typing"),
        [one, rest @ ..] => format!("{one} and {} others are typing", rest.len()),
    };
    html! { p #typing { @if !words.is_empty() { span.dots aria-hidden="true" { i {} i {} i {} } span dir="auto" { (words) } } } }
}

/// What is open, oldest first.
pub(super) fn owed(frame: &Frame, open: &[ObligationView], called: &Called, now: Millis) -> Markup {
    html! {
        section #owed aria-labelledby="owed-title" {
            h2 #owed-title { "Owed" span.count { (open.len()) } }
            @if open.is_empty() { p.none { "Nothing is owed to anybody." } }
            ul { @for o in open { (obligation(frame, o, called, now)) } }
        }
    }
}

fn obligation(frame: &Frame, o: &ObligationView, called: &Called, now: Millis) -> Markup {
    let wait = o.ripe_at - now;
    html! {
        li.for-owner[o.state == ObligationState::Held] {
            p {
                b dir="auto" { (called.name(&o.asker)) } " " (words::owed(o.kind))
                @if let Some(persona) = &o.persona { " · " b dir="auto" { (called.name(persona)) } " has the turn" }
            }
            p.small {
                (words::stands(o))
                @if o.state == ObligationState::Open && wait > 0 { ", a draft may begin in " span data-left=(wait) { (words::left(wait)) } }
                @if o.drafts > 0 { ", drafts so far: " (o.drafts) }
                " · " (links(frame, o.lines.iter().map(|l| l.seq)))
            }
        }
    }
}

/// One decision, to be opened for the rest.
pub(super) fn decision(frame: &Frame, logged: &Logged, called: &Called) -> Markup {
    let d = &logged.decision;
    html! {
        li.for-owner[is_for_owner(d.what)] #{ "d" (logged.n) } data-in="decisions" data-n=(logged.n) {
            details {
                summary {
                    span.why {
                        @if let Some(persona) = &d.persona { b dir="auto" { (called.name(persona)) } " · " }
                        (d.what.meaning()) " " span.because { (d.why.meaning()) }
                    }
                    (clock(logged.at))
                    @if is_for_owner(d.what) { span.mark { "for the owner" } }
                }
                dl {
                    dt { "Code" } dd { code { (d.what.code()) } " because " code { (d.why.code()) } }
                    @if !d.obligations.is_empty() {
                        dt { "Owed" } dd { @for (i, id) in d.obligations.iter().enumerate() { @if i > 0 { ", " } code { (id) } } }
                    }
                    @if let Some(effect) = d.effect { dt { "Effect" } dd { code { (effect) } } }
                    @if let Some(odds) = d.odds { dt { "Likely" } dd { (odds) } }
                    dt { "About" } dd { @if d.seen.lines.is_empty() { "no line" } @else { (links(frame, d.seen.lines.iter().copied())) } }
                    dt { "Had read" } dd { "up to " (links(frame, std::iter::once(d.seen.cursor).filter(|seq| *seq > 0))) }
                }
            }
        }
    }
}

/// What needs a person's eye: it is marked, and can be shown alone.
fn is_for_owner(what: What) -> bool {
    matches!(what, What::Notice | What::Declined | What::Held | What::Overflowed)
}

fn links(frame: &Frame, lines: impl Iterator<Item = u64>) -> Markup {
    html! {
        @for (i, seq) in lines.enumerate() {
            @if i > 0 { " " }
            a.to href=(frame.href(&format!("&at={seq}#l{seq}"))) { "line " (seq) }
        }
    }
}
