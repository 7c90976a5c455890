//! The first page: what was replayed, the policies side by side, waits, what a model wrote, and the list of rooms.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{RoomEntry, chart};
use crate::replay::{
    Args, Report,
    diary::MAX_ROOMS,
    drafter::Summary,
    shadow::Said,
    sweep::Swept,
    table::{ROWS, TableRow, compared, number, range},
};

/// What a figure tells, and which way is better.
fn help(name: &str) -> &'static str {
    match name {
        "duplicate_rate" => "Posts whose every turn an earlier post had settled. Less is better.",
        "already_answered_rate" => "Posts to somebody whom a third person had answered already. Less is better.",
        "preempt_rate" => "Posts to a question for the room that a person answered in the next five minutes. Less is better.",
        "missed_direct_rate" => "Questions to the persona with no post in five minutes. Less is better.",
        "missed_orphan_rate" => "Questions to the room that nobody answered, the policy neither. Less is better.",
        "cut_off_rate" => "Posts in the middle of the turn they answer. Less is better.",
        "butt_in_rate" => "Posts to turns that were neither for the persona nor for the room. Less is better.",
        "balanced_accuracy" => "How well speaking and silence fit what the person did; half is a coin. More is better.",
        "macro_f1" => "The same as the mean of two F1 scores. More is better.",
        "mir" => "Turns that the person replied to and the policy did not. Less is better.",
        "fir" => "Turns that the policy spoke to and the person did not. Less is better.",
        "latency_p50_ms" => "From the end of a turn to the first post: half of the answers come sooner.",
        "latency_p95_ms" => "Nineteen of twenty answers come sooner.",
        "sends" => "What people would have to read.",
        "reactions" => "An emoji in place of a post.",
        "drafts" => "What a model would have to write, posted or not.",
        "gate_calls" => "Judgements of a gate outside the machine.",
        _ => "",
    }
}

/// Archives that are named.
const MAX_ARCHIVES: usize = 4;
/// Posts that were not made and are shown, the newest: some screens of a page.
const MAX_SAID: usize = 200;

/// Parts of the table.
const PARTS: [(&str, &[&str]); 4] = [
    ("Speaking where it should not", &["duplicate_rate", "already_answered_rate", "preempt_rate", "cut_off_rate", "butt_in_rate"]),
    ("Silent where it should speak", &["missed_direct_rate", "missed_orphan_rate"]),
    ("As the person did", &["balanced_accuracy", "macro_f1", "mir", "fir"]),
    ("Waits and costs, per 100 lines", &["latency_p50_ms", "latency_p95_ms", "sends", "reactions", "drafts", "gate_calls"]),
];

/// What the first page says of where its figures come from.
pub(in crate::replay) struct Cover<'a> {
    pub title: &'static str,
    /// What was judged: an archive, or a room.
    pub source: &'static str,
    /// Name and value of what was chosen.
    pub settings: Vec<(&'static str, String)>,
    /// What has to be known beside the notes of the report.
    pub notes: Vec<String>,
    /// Whether the pages hold texts.
    pub texts: bool,
    /// What a persona would have said in a room that was lived through.
    pub said: &'a [Said],
}

impl Cover<'_> {
    /// That of a replay.
    pub(in crate::replay) fn of(args: &Args) -> Self {
        let file = |path: &std::path::Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut archives: Vec<String> = args.archives.iter().take(MAX_ARCHIVES).map(|p| file(p)).collect();
        archives.extend(args.archives.len().checked_sub(MAX_ARCHIVES + 1).map(|more| format!("and {} more", more + 1)));
        let policy = args.policy.as_deref().map_or_else(|| "the defaults".to_owned(), file);
        let persona = args.persona.iter().map(|persona| ("Persona", persona.clone()));
        let mut settings = vec![("Archive", archives.join(", "))];
        settings.extend(persona);
        settings.extend([
            ("Policy", policy),
            ("Visible links", format!("{:.0} %", 100.0 * args.visible_links)),
            ("A draft takes", super::span(args.draft_ms)),
            ("Seed", args.seed.to_string()),
        ]);
        Self { title: "Replay", source: "archive", settings, notes: Vec::new(), texts: args.report_text, said: &[] }
    }
}

pub(super) fn page(cover: &Cover<'_>, report: &Report, rooms: &[RoomEntry]) -> Markup {
    html! {
        a.skip href="#figures" { "To the figures" }
        header {
            h1 { (cover.title) }
            p.lead { (summary(report)) }
            dl.settings { @for (name, value) in &cover.settings { div { dt { (name) } dd { bdi { (value) } } } } }
            @for note in report.notes() { p.note { (note) } }
            @for note in &cover.notes { p.note { (note) } }
            @if report.bad_rows > 0 { p.note { (report.bad_rows) " rows of the archive could not be used; the command that wrote this told the first of them." } }
            p.lead { "These pages hold " @if cover.texts { "names and texts of the " (cover.source) "." } @else { "names and ids of the " (cover.source) ", and none of its texts." } }
        }
        main {
            (policies(report))
            (waits(report))
            @if let Some(drafts) = &report.drafts { (written(drafts)) }
            @if let Some(swept) = &report.swept { (sweep(swept)) }
            @if !cover.said.is_empty() { (said(cover)) }
            (list(rooms))
        }
    }
}

fn summary(report: &Report) -> String {
    let j = report.judged();
    format!(
        "{} rooms, {} lines. {} turns are judged: {} questions to the persona, {} questions to the room, {} of which nobody else answered.",
        report.rooms, report.lines, j.turns, j.direct_questions, j.room_questions, j.orphans
    )
}

fn policies(report: &Report) -> Markup {
    html! {
        section #figures {
            h2 { "The policies side by side" }
            p.soft { "Rates in percent, below them the 95 % interval over rooms. A stroke shows the interval, a dot the rate, on a line from 0 to 100 %." }
            div.wide tabindex="0" role="region" aria-label="Policies side by side" {
                table.metrics.policies {
                    thead { tr { th scope="col" { "" } @for (name, _) in &report.policies { th scope="col" class=(column(name)) { (name.replace('_', " ")) } } } }
                    @for (title, names) in PARTS {
                        tbody {
                            tr.part { th scope="rowgroup" colspan=(report.policies.len() + 1) { (title) } }
                            @for row in names.iter().filter_map(|n| ROWS.iter().find(|r| r.name == *n)) {
                                tr {
                                    th scope="row" { (row.title) small { (help(row.name)) } }
                                    @for (name, figures) in &report.policies { td class=(column(name)) { (figure(row, figures)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn column(policy: &str) -> &'static str {
    if policy == "parlor" { "ours" } else { "other" }
}

fn figure(row: &TableRow, figures: &Map<String, Value>) -> Markup {
    let get = |name: &str| figures.get(name).and_then(Value::as_f64);
    let ends = get(&format!("{}_low", row.name)).zip(get(&format!("{}_high", row.name)));
    html! {
        span.number { (number(row, figures)) }
        @if let (Some(value), true) = (get(row.name), row.title.ends_with('%')) { (chart::rate(value, ends)) }
        @if let Some(range) = range(row, figures) { small { (range) } }
    }
}

fn waits(report: &Report) -> Markup {
    let named = || report.policies.iter().map(|(name, _)| name.replace('_', " ")).zip(&report.waits);
    html! {
        section {
            h2 { "How long people wait" }
            h3 { "Questions to the persona" }
            div.charts { @for (name, waits) in named().filter(|(_, w)| !w.direct.is_empty()) { (chart::histogram(&name, &waits.direct)) } }
            h3 { "Questions to the room that nobody else answered" }
            div.charts { @for (name, waits) in named().filter(|(_, w)| !w.room.is_empty()) { (chart::histogram(&name, &waits.room)) } }
            @if report.waits.iter().all(|w| w.direct.is_empty() && w.room.is_empty()) { p.soft { "No question was judged." } }
        }
    }
}

fn written(drafts: &Summary) -> Markup {
    html! { section { h2 { "Drafts of the model" } @for line in drafts.lines() { p { (line) "." } } } }
}

fn sweep(swept: &Swept) -> Markup {
    let Swept { name, default, rows } = swept;
    html! {
        section {
            h2 { "What " code { (name) } " does" }
            p.soft { "The figures of parlor for each value; without a sweep it is " (default) "." }
            div.wide tabindex="0" role="region" aria-label="Sweep" {
                table.metrics.sweep {
                    thead { tr { th scope="col" { (name) } @for row in compared() { th scope="col" { (row.short) } } } }
                    tbody { @for (value, figures) in rows {
                        tr class=(if Value::Number(value.clone()) == *default { "ours" } else { "other" }) {
                            th scope="row" { (value) }
                            @for row in compared() { td { span.number { (number(row, figures)) } @if let Some(range) = range(row, figures) { small { (range) } } } }
                        }
                    } }
                }
            }
        }
    }
}

/// What a persona would have said, beside what people did.
fn said(cover: &Cover<'_>) -> Markup {
    let left_out = cover.said.len().saturating_sub(MAX_SAID);
    let text = |text: &str| html! { @if cover.texts { ": " span dir="auto" { (text) } } };
    html! {
        section {
            h2 { "What it would have said" }
            @if left_out > 0 { p.note { "The newest " (MAX_SAID) " posts are shown; " (left_out) " earlier ones are in the figures." } }
            table.said {
                thead { tr { th scope="col" { "Time" } th scope="col" { "To" } th scope="col" { "It" } th scope="col" { "People" } } }
                tbody { @for post in cover.said.iter().skip(left_out) {
                    tr {
                        td.at { (super::moment(post.at_ms)) }
                        td { @for line in &post.to { span.item { "#" (line.seq) " " bdi { (line.name) } (text(&line.text)) } } @if post.to.is_empty() { span.soft { "nobody" } } }
                        td { @if cover.texts { span dir="auto" { (post.text) } } @else { "a post" } }
                        td { @match &post.people {
                            Some(line) => { "#" (line.seq) " " bdi { (line.name) } ", " (super::span((line.at_ms - post.at_ms).abs())) @if line.at_ms <= post.at_ms { " before" } @else { " after" } (text(&line.text)) }
                            None => { span.soft { "nobody is seen to answer" } }
                        } }
                    }
                } }
            }
        }
    }
}

fn list(rooms: &[RoomEntry]) -> Markup {
    let without = rooms.iter().filter(|r| r.file.is_none()).count();
    html! {
        section {
            h2 { "Rooms" }
            @if without > 0 { p.note { "The first " (MAX_ROOMS) " rooms have a page; " (without) " more have none, and are in the figures." } }
            div.wide tabindex="0" role="region" aria-label="Rooms" {
                table.rooms {
                    thead { tr {
                        th scope="col" { "Room" } th scope="col" { "Persona" } th scope="col" { "Lines" } th scope="col" { "Posts" } th scope="col" { "Reactions" }
                        th scope="col" { "Drafts" } th scope="col" { "Direct missed" } th scope="col" { "Orphans missed" }
                    } }
                    tbody { @for room in rooms {
                        tr {
                            th scope="row" { @if let Some(file) = &room.file { a href=(file) { bdi { (room.name) } } } @else { bdi { (room.name) } } }
                            td.word { bdi { (room.persona) } }
                            td { (room.lines) } td { (room.posts) } td { (room.reactions) } td { (room.drafts) }
                            td { (room.counts.direct_missed) " of " (room.counts.direct) }
                            td { (room.counts.orphans_missed) " of " (room.counts.orphans) }
                        }
                    } }
                }
            }
        }
    }
}
