//! The page of a room: reads what is shown and puts it together. Everything is there without the script; the script only
//! keeps it up to date.

use std::collections::BTreeMap;

use axum::response::Html;
use maud::{Markup, html};
use parlor_core::{Audience, Millis};
use uuid::Uuid;

use super::{
    App, Logged, ReadError, RoomFacts,
    fold::{self, Line},
    line::{self, Frame},
    page,
    panel::{self, FloorShown},
    visitors::{Holder, PEOPLE_MAX, Viewer},
    words::Called,
};

/// Lines of one page: a few screens. Older ones are a link away.
const LINES: u32 = 100;
/// Decisions of one page.
const DECISIONS: u32 = 60;

/// What the address asks for beside the room itself.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Ask {
    /// For whom the page speaks.
    #[serde(rename = "as")]
    pub(super) mark: Option<String>,
    /// Show lines before this one.
    pub(super) before: Option<u64>,
    /// Show this line, with others around it.
    pub(super) at: Option<u64>,
    /// Reply to this line.
    pub(super) reply: Option<u64>,
    /// Edit this line.
    pub(super) edit: Option<u64>,
}

/// What the message box holds when the page is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) text: String,
    pub(super) reply_to: Option<String>,
    pub(super) edit_of: Option<String>,
    pub(super) client_id: Option<String>,
    /// What is said under the box.
    pub(super) said: String,
}

struct Scene {
    facts: RoomFacts,
    called: Called,
    /// Oldest first.
    shown: Vec<Line>,
    /// Shown lines and those that they reply to, by platform id.
    all: BTreeMap<String, Line>,
    decisions: Vec<Logged>,
    floor: FloorShown,
    open: Vec<parlor_core::ObligationView>,
    typing: Vec<String>,
    older: bool,
    /// Whether the last line of the room is among those shown.
    live: bool,
    now: Millis,
}

/// Reads a room and makes its page. None: there is no such room.
pub(super) async fn show(
    app: &App,
    room: &str,
    viewer: &Viewer,
    holder: &Holder,
    ask: &Ask,
    kept: Kept,
) -> Result<Option<Html<String>>, ReadError> {
    let Some(facts) = app.room(room, viewer.id()).await? else { return Ok(None) };
    let scene = read(app, facts, viewer, ask).await?;
    let name = &scene.facts.name;
    let frame = Frame { room: name, viewer };
    let kept = target(&scene, viewer, ask, kept);
    let last = scene.shown.last().map_or(0, |l| l.seq);
    let content = html! {
        a.skip href="#text" { "Skip to the message box" }
        (bar(&scene, viewer, holder))
        p #trouble role="alert" data-keep {}
        main.room data-events=[scene.live.then(|| format!("/rooms/{name}/events?as={}", viewer.mark()))]
            data-after={ (last) "." (scene.decisions.last().map_or(0, |d| d.n)) } {
            h1.sr { "Room " (name) }
            div.talk {
                (log(&scene, &frame))
                (panel::typing(&scene.typing))
                (panel::strip(&scene.floor, scene.now))
                @match viewer { Viewer::Watcher => { (enter(name, holder, &kept.said)) } Viewer::Person { .. } | Viewer::Owner => { (composer(&scene, &frame, &kept)) } }
            }
            aside aria-label="What is owed and decided" {
                (panel::owed(&frame, &scene.open, &scene.called, scene.now))
                section aria-labelledby="decisions-title" {
                    h2 #decisions-title { "Decisions" }
                    p.small { "Newest first. Open one to see what it saw." }
                    label.only { input #only-owner type="checkbox"; " Only what is for the owner" }
                    ol.decisions #decisions { @for d in scene.decisions.iter().rev() { (panel::decision(&frame, d, &scene.called)) } }
                    @if scene.decisions.is_empty() { p.none #no-decisions { "None yet." } }
                }
            }
        }
    };
    Ok(Some(page::document(name, "live", true, &content)))
}

/// What people and personas of the room are called.
pub(super) async fn called(app: &App, facts: &RoomFacts) -> Result<Called, ReadError> {
    let mut called: BTreeMap<String, String> = app.reader.names(&facts.name).await?.into_iter().collect();
    called.extend(facts.policy.members.iter().map(|m| (m.id.clone(), m.name.clone())));
    Ok(Called(called))
}

/// Names of those who type, without the viewer.
pub(super) async fn typists(app: &App, room: &str, viewer: &Viewer, called: &Called) -> Result<(Vec<String>, Option<Millis>), ReadError> {
    let now = app.reader.now();
    let all = app.reader.typing(room).await?;
    let others: Vec<_> = all.into_iter().filter(|t| t.until > now && viewer.id() != Some(t.who.as_str())).collect();
    let until = others.iter().map(|t| t.until).min();
    let name = |who: &str| app.names.name_of(room, who).unwrap_or_else(|| called.name(who).to_owned());
    Ok((others.iter().map(|t| name(&t.who)).collect(), until))
}

/// Lines as they stand now, with those that they reply to.
pub(super) async fn standing(app: &App, room: &str, ids: &[String]) -> Result<BTreeMap<String, Line>, ReadError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut lines = fold::fold(&app.reader.about(room, ids).await?);
    let quoted: Vec<String> = lines.values().filter_map(|l| l.reply_to.clone()).filter(|id| !lines.contains_key(id)).collect();
    if !quoted.is_empty() {
        lines.extend(fold::fold(&app.reader.about(room, &quoted).await?));
    }
    Ok(lines)
}

async fn read(app: &App, facts: RoomFacts, viewer: &Viewer, ask: &Ask) -> Result<Scene, ReadError> {
    let room = facts.name.as_str();
    let before = ask.before.or(ask.at.map(|at| at.saturating_add(u64::from(LINES / 2))));
    // One more than is shown tells whether there are older ones.
    let mut said = app.reader.lines(room, before, LINES + 1).await?;
    let older = said.len() > LINES as usize;
    if older {
        said.remove(0);
    }
    let newest = match before {
        None => None,
        Some(_) => app.reader.lines(room, None, 1).await?.pop(),
    };
    let live = newest.is_none_or(|newest| said.last().is_some_and(|last| last.seq == newest.seq));
    let ids: Vec<String> = said.iter().map(|item| item.platform_id.clone()).collect();
    let all = standing(app, room, &ids).await?;
    let shown = ids.iter().filter_map(|id| all.get(id).cloned()).collect();
    let called = called(app, &facts).await?;
    let decisions = app.reader.decisions(room, None, DECISIONS).await?;
    let view = app.reader.floor(room).await?;
    let (typing, _) = typists(app, room, viewer, &called).await?;
    Ok(Scene {
        floor: FloorShown::of(view.as_ref(), &facts.topic, &called),
        open: view.map(|v| v.obligations).unwrap_or_default(),
        called,
        shown,
        all,
        decisions,
        typing,
        older,
        live,
        now: app.reader.now(),
        facts,
    })
}

/// Fills the box from the address, unless it holds something already.
fn target(scene: &Scene, viewer: &Viewer, ask: &Ask, mut kept: Kept) -> Kept {
    let find = |seq: u64| scene.shown.iter().find(|l| l.seq == seq && !l.deleted && !l.system);
    if kept.reply_to.is_none() && kept.edit_of.is_none() {
        kept.reply_to = ask.reply.and_then(find).map(|l| l.platform_id.clone());
        if let Some(mine) = ask.edit.and_then(find).filter(|l| viewer.id() == Some(l.author.id.as_str())) {
            kept.edit_of = Some(mine.platform_id.clone());
            kept.text.clone_from(&mine.text);
        }
    }
    kept
}

fn bar(scene: &Scene, viewer: &Viewer, holder: &Holder) -> Markup {
    let name = &scene.facts.name;
    let suffix = if *viewer == Viewer::Watcher { String::new() } else { format!("?as={}", viewer.mark()) };
    html! {
        header.bar {
            a.home href={ "/" (suffix) } { "Parlor" }
            p.title { b { (name) } (page::circle(&scene.facts)) (topic(&scene.facts.topic)) }
            p.members { span.sr { "Personas: " } @for m in &scene.facts.policy.members { span.member dir="auto" { (m.name) } } }
            p.you {
                @match viewer.name() {
                    Some(who) => { span.say { "You are " } b dir="auto" { (who) } }
                    None => { "You are watching" }
                }
                @if *viewer != Viewer::Watcher && is_shared(scene.facts.policy.audience) && holder.people.len() < PEOPLE_MAX {
                    " " a.button href={ "/rooms/" (name) "?as=new" } target="_blank" rel="noopener" { "Join" span.long { " as another person" } span.sr { " (opens a new tab)" } }
                }
            }
        }
    }
}

/// What the room is about, beside its name.
pub(super) fn topic(words: &str) -> Markup {
    html! { span.topic #topic dir="auto" data-keep { (words) } }
}

/// Whether more than one person may come in.
fn is_shared(audience: Audience) -> bool {
    matches!(audience, Audience::Public | Audience::Room)
}

/// How to begin in a room where nothing was said.
fn start(facts: &RoomFacts) -> String {
    match facts.policy.members.first() {
        Some(first) if facts.policy.audience == Audience::Direct => {
            format!("Whatever you write here is for {}; no name is needed.", first.name)
        }
        _ => "Say hello to somebody by name.".to_owned(),
    }
}

fn log(scene: &Scene, frame: &Frame) -> Markup {
    let before = std::iter::once(None).chain(scene.shown.iter().map(Some));
    html! {
        div.scroll role="log" aria-live="polite" aria-label={ "Lines of " (frame.room) } tabindex="0" {
            @if scene.older { @if let Some(first) = scene.shown.first() {
                p.more { a href=(frame.href(&format!("&before={}", first.seq))) { "Earlier lines" } }
            } }
            @if scene.shown.is_empty() { p.none #no-lines { "Nobody has said anything yet. " (start(&scene.facts)) } }
            ol #log {
                @for (l, before) in scene.shown.iter().zip(before) {
                    (line::line(frame, l, l.reply_to.as_ref().and_then(|id| scene.all.get(id)), before))
                }
            }
            @if !scene.live { p.more { a href=(frame.href("")) { "To the newest lines" } } }
        }
        button #newer type="button" hidden { "New lines ↓" }
    }
}

fn enter(room: &str, holder: &Holder, said: &str) -> Markup {
    html! {
        section.enter #composer aria-labelledby="enter-title" {
            h2 #enter-title { "Choose a name to talk here" }
            @if !holder.people.is_empty() || holder.owner {
                p.again { "Go on as "
                    @if holder.owner { a.button href={ "/rooms/" (room) "?as=owner" } { "Owner" } " " }
                    @for (i, person) in holder.people.iter().enumerate() { a.button href={ "/rooms/" (room) "?as=" (i + 1) } dir="auto" { (person.name) } " " }
                    "or as somebody else:"
                }
            }
            form method="post" action={ "/rooms/" (room) "/enter" } autocomplete="off" {
                label.sr for="text" { "Your name" }
                input #text name="name" maxlength="40" required placeholder="Your name" aria-describedby="said";
                button.primary { "Enter" }
            }
            p #said role="status" { (said) }
        }
    }
}

fn composer(scene: &Scene, frame: &Frame, kept: &Kept) -> Markup {
    let fresh = || Uuid::new_v4().simple().to_string();
    let about = kept.edit_of.as_ref().or(kept.reply_to.as_ref()).and_then(|id| scene.all.get(id));
    let who = frame.viewer.name().unwrap_or_default();
    html! {
        form.composer #composer method="post" action={ "/rooms/" (frame.room) "/lines" } autocomplete="off" {
            input type="hidden" name="as" value=(frame.viewer.mark());
            input type="hidden" name="client_id" value=(kept.client_id.clone().unwrap_or_else(fresh));
            input type="hidden" name="reply_to" value=(kept.reply_to.as_deref().unwrap_or_default());
            input type="hidden" name="edit_of" value=(kept.edit_of.as_deref().unwrap_or_default());
            p #target hidden[about.is_none()] {
                span #target-what { @if kept.edit_of.is_some() { "Editing your line" } @else { "Replying to " (about.map_or("", |l| l.author.name.as_str())) } }
                " " span #target-text dir="auto" { (about.map(line::extract).unwrap_or_default()) }
                " " a #target-off href=(frame.href("#composer")) { "Cancel" }
            }
            div.row {
                label.sr for="text" { "Write to " (frame.room) " as " (who) }
                textarea #text name="text" rows="1" maxlength="4000" required dir="auto" aria-describedby="keys" placeholder={ "Write as " (who) } { (kept.text) }
                button.primary { "Send" }
            }
            p.hint { span #keys { "Enter sends, Shift+Enter makes a new line, Escape leaves a reply or an edit." } span #said role="status" { (kept.said) } }
        }
        noscript { p.hint { "This page does not update by itself without its script. " a href=(frame.href("")) { "Look again" } } }
    }
}

/// A page that holds nothing but a line that could not be stored, while the database is away.
pub(super) fn unsent(room: &str, viewer: &Viewer, kept: &Kept) -> Html<String> {
    let content = html! {
        header.bar { a.home href="/" { "Parlor" } }
        main.plain {
            h1 { "Not sent yet" }
            p role="status" { (kept.said) }
            form.composer method="post" action={ "/rooms/" (room) "/lines" } autocomplete="off" {
                input type="hidden" name="as" value=(viewer.mark());
                input type="hidden" name="client_id" value=(kept.client_id.as_deref().unwrap_or_default());
                input type="hidden" name="reply_to" value=(kept.reply_to.as_deref().unwrap_or_default());
                input type="hidden" name="edit_of" value=(kept.edit_of.as_deref().unwrap_or_default());
                div.row {
                    label.sr for="text" { "Your line" }
                    textarea #text name="text" rows="4" maxlength="4000" required dir="auto" { (kept.text) }
                    button.primary { "Send again" }
                }
            }
        }
    };
    page::document("Not sent yet", "plain", false, &content)
}
