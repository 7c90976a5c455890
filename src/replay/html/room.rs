//! The page of a room: its scenes, each as a picture and as the list of its decisions.

use std::collections::BTreeMap;

use maud::{Markup, html};
use parlor_core::{Decision, Millis, ObligationId, What};

use super::{
    clock, moment,
    owed::{self, Mark, MarkKind, Owed},
    room_file,
    scene::{self, Scene},
    span, timeline,
};
use crate::replay::{
    diary::{Diary, Heard, HeardKind, MAX_DECISIONS},
    intake::RoomRun,
    report::Ran,
    score::Counts,
};

/// Lines that are named for one decision; more are counted.
const MAX_NAMED: usize = 6;

/// What the first page says of a room.
pub(in crate::replay) struct RoomEntry {
    pub name: String,
    pub persona: String,
    pub lines: usize,
    pub posts: usize,
    pub reactions: usize,
    pub drafts: usize,
    pub counts: Counts,
    /// Its page, where it has one.
    pub file: Option<String>,
}

impl RoomEntry {
    pub(super) fn of<R: Ran>(n: usize, room: &RoomRun<R>, counts: &Counts) -> Self {
        let played = room.listener.played(&room.facts);
        Self {
            name: room.name.clone(),
            persona: room.persona.name.clone(),
            lines: room.facts.len(),
            posts: played.posts.len(),
            reactions: played.reactions.len(),
            drafts: played.drafts.len(),
            counts: counts.clone(),
            file: room.listener.diary().map(|_| room_file(n)),
        }
    }
}

/// The `n`-th of all pages.
pub(super) fn page<R: Ran>(room: &RoomRun<R>, diary: &Diary, counts: &Counts, n: usize, pages: usize, draft_ms: Millis) -> Markup {
    let owed = owed::owed(diary, draft_ms);
    let scenes = scene::scenes(diary);
    let played = room.listener.played(&room.facts);
    let all = diary.decisions.len() as u64 + diary.left_out;
    html! {
        a.skip href="#scenes" { "To the decisions" }
        header {
            nav aria-label="Rooms" {
                a href="index.html" { "All rooms" }
                @if n > 0 { a href=(room_file(n - 1)) rel="prev" { "Previous room" } }
                @if n + 1 < pages { a href=(room_file(n + 1)) rel="next" { "Next room" } }
            }
            h1 { bdi { (room.name) } }
            p.lead {
                "The machine in the place of " b { bdi { (room.persona.name) } } ": " (room.facts.len()) " lines, " (played.posts.len()) " posts, "
                (played.reactions.len()) " reactions, " (played.drafts.len()) " drafts, " (all) " decisions. Times are UTC."
            }
            @if counts.direct + counts.orphans > 0 {
                p.lead { (missed(counts.direct_missed, counts.direct, "questions to the persona")) " " (missed(counts.orphans_missed, counts.orphans, "room questions that nobody else answered")) }
            }
            @if diary.left_out > 0 {
                p.note { "The first " (diary.decisions.len()) " decisions are shown (" (MAX_DECISIONS) " at most), " (diary.left_out) " later ones are not. The figures are about all." }
            }
        }
        main #scenes {
            (legend())
            (filters())
            @if scenes.is_empty() { p { "Nothing was said here." } }
            @for scene in &scenes { (section(&room.name, diary, scene, &owed)) }
        }
    }
}

fn missed(missed: u64, of: u64, what: &str) -> Markup {
    html! { @if of > 0 { (of - missed) " of " (of) " " (what) " were answered in five minutes." } }
}

fn legend() -> Markup {
    let sample = |content: Markup| html! { svg viewBox="0 0 28 20" aria-hidden="true" { (content) } };
    let mark = |kind| sample(timeline::sign(Mark { kind, at: 0 }, 14.0, 10.0));
    let bar = |class: &str| sample(html! { rect class=(class) x="2" y="5" width="24" height="10" rx="2" {} });
    let burst = |class: &str| {
        sample(
            html! { rect class=(class) x="2" y="3.5" width="24" height="13" rx="6.5" {} circle.line cx="9" cy="10" r="3.4" {} circle.line cx="19" cy="10" r="3.4" {} },
        )
    };
    html! {
        ul.legend aria-label="Signs in the pictures" {
            li { (burst("burst opened")) "burst that opened something" }
            li { (burst("burst silent")) "burst that opened nothing" }
            li { (bar("wait")) "wait" }
            li { (bar("draft")) "draft under way" }
            li { (bar("ready")) "draft ready, waits for the end of the turn" }
            li { (mark(MarkKind::Post)) "post" }
            li { (mark(MarkKind::Reaction)) "reaction" }
            li { (mark(MarkKind::Drop)) "draft given up" }
            li { (mark(MarkKind::End)) "ended without a word" }
        }
    }
}

/// Boxes that hide decisions, without a script: the style looks at them.
fn filters() -> Markup {
    html! {
        fieldset.filters {
            legend { "Show decisions" }
            @for (id, words) in [("opened", "what was owed"), ("drafts", "drafts"), ("said", "posts and ends"), ("silent", "silence")] {
                label { input type="checkbox" id=(format!("show-{id}")) checked; " " (words) }
            }
        }
    }
}

/// The box that a decision belongs to.
fn group(what: What) -> &'static str {
    match what {
        What::Opened | What::Updated => "opened",
        What::Drafting | What::Cancelled | What::Dropped | What::Retrying | What::Reopened => "drafts",
        What::Silent => "silent",
        _ => "said",
    }
}

fn section(room: &str, diary: &Diary, scene: &Scene, owed: &BTreeMap<ObligationId, Owed>) -> Markup {
    let decisions = diary.decisions.get(scene.decisions.clone()).unwrap_or_default();
    let lines = diary.lines.get(scene.lines.clone()).unwrap_or_default();
    // Silence alone needs no picture.
    let drawn = owed.values().any(|o| o.overlaps(scene.from, scene.to));
    html! {
        section.scene {
            h2 { time datetime=(moment(scene.from).replace(' ', "T") + "Z") { (moment(scene.from)) } span.soft { " " (span(scene.to - scene.from)) ", " (lines.len()) " lines" } }
            @if drawn { div.wide tabindex="0" role="region" aria-label="Timeline" { (timeline::picture(diary, scene, owed)) } }
            @if lines.iter().any(|l| l.text.is_some()) { (transcript(diary, lines)) }
            @if !decisions.is_empty() {
                table.decisions {
                    thead { tr { th scope="col" { "Time" } th scope="col" { "Decision" } th scope="col" { "Owed" } th scope="col" { "Lines" } } }
                    tbody { @for (at, decision) in decisions { (row(room, diary, *at, decision, owed)) } }
                }
            }
        }
    }
}

/// An id without the name of its room, which many archives put before it.
fn in_room<'a>(id: &'a str, room: &str) -> &'a str {
    id.strip_prefix(room).and_then(|rest| rest.strip_prefix(':')).unwrap_or(id)
}

fn row(room: &str, diary: &Diary, at: Millis, decision: &Decision, owed: &BTreeMap<ObligationId, Owed>) -> Markup {
    let lines = &decision.seen.lines;
    html! {
        tr class=(group(decision.what)) {
            td.at { (clock(at)) }
            td {
                span class=(format!("what {}", decision.what.code())) { (decision.what.code()) }
                " " (decision.why.meaning()) " " code { (decision.why.code()) }
                @if let Some(odds) = decision.odds { span.item.soft { "Likely: " (odds) } }
            }
            td.owed {
                @for id in &decision.obligations {
                    span.item { (id) @if let Some(owed) = owed.get(id) { " " (owed.kind) @if let Some(asker) = &owed.asker { ", " bdi { (diary.name(asker)) } } } }
                }
            }
            td.lines {
                @for seq in lines.iter().take(MAX_NAMED) {
                    span.item { "#" (seq) @if let Some(line) = diary.line(*seq) { " " bdi { (diary.name(&line.author)) } " " code { (in_room(&line.id, room)) } } }
                }
                @if lines.len() > MAX_NAMED { span.item { "and " (lines.len() - MAX_NAMED) " more" } }
                @if lines.is_empty() { span.soft { "room up to #" (decision.seen.cursor) } }
            }
        }
    }
}

/// Only where texts were asked for.
fn transcript(diary: &Diary, lines: &[Heard]) -> Markup {
    html! {
        ol.transcript {
            @for line in lines {
                li class=(if matches!(line.kind, HeardKind::OwnPost | HeardKind::OwnReaction) { "own" } else { "other" }) {
                    span.at { (clock(line.ts)) } " " b { bdi { (diary.name(&line.author)) } } " "
                    @match (&line.text, line.kind) {
                        (_, HeardKind::Change) => { i { "(changed a line, or put something on it)" } }
                        (Some(text), HeardKind::OwnPost) if text.is_empty() => { i { "(a post; the stub has no words)" } }
                        (Some(text), _) => { span dir="auto" { (text) } }
                        (None, _) => {}
                    }
                }
            }
        }
    }
}
