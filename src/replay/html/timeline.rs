//! The picture of a scene: people's lines above, what the machine owed, wrote and said below, over one axis of time.

use std::collections::BTreeMap;

use maud::{Markup, html};
use parlor_core::{Millis, ObligationId, What};

use super::{
    clock,
    owed::{Mark, MarkKind, Owed},
    scene::Scene,
    span,
};
use crate::replay::diary::{Diary, Heard, HeardKind};

/// Width of a picture in its own units, and of the names at its left.
const WIDTH: f64 = 1_000.0;
const NAMES: f64 = 150.0;
/// Height of a row, and of the axis above.
const ROW: f64 = 20.0;
const AXIS: f64 = 24.0;
/// Rows of people and of obligations; what is more shares the last one, or is counted.
const MAX_PEOPLE: usize = 8;
const MAX_OWED: usize = 12;
/// Characters of a name that fit.
const NAME_CHARS: usize = 20;

struct Axis {
    from: Millis,
    to: Millis,
}

impl Axis {
    fn x(&self, at: Millis) -> f64 {
        let share = (at.clamp(self.from, self.to) - self.from) as f64 / (self.to - self.from).max(1) as f64;
        NAMES + share * (WIDTH - NAMES - 12.0)
    }

    /// Round moments, at most ten.
    fn ticks(&self) -> impl Iterator<Item = Millis> {
        let steps = [10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000];
        let step = steps.into_iter().find(|s| (self.to - self.from) / s <= 10).unwrap_or(600_000);
        let first = (self.from.div_euclid(step) + 1) * step;
        (first..self.to).step_by(step as usize)
    }
}

/// Draws a scene.
pub(super) fn picture(diary: &Diary, scene: &Scene, owed: &BTreeMap<ObligationId, Owed>) -> Markup {
    let (from, to) = scene.shown();
    let axis = Axis { from, to };
    let people = People::of(diary, scene, owed);
    let open: Vec<(&ObligationId, &Owed)> = owed.iter().filter(|(_, o)| o.overlaps(scene.from, scene.to)).collect();
    let rows = people.len() + open.len().min(MAX_OWED) + usize::from(open.len() > MAX_OWED);
    let height = AXIS + ROW * rows as f64 + 14.0;
    let first_owed = AXIS + ROW * people.len() as f64 + 8.0;
    html! {
        svg.timeline viewBox=(format!("0 0 {WIDTH} {height:.0}")) role="img" aria-label=(format!("Timeline from {} to {}", clock(scene.from), clock(scene.to))) {
            @for tick in axis.ticks() {
                @let x = format!("{:.1}", axis.x(tick));
                line.tick x1=(x) y1=(AXIS - 4.0) x2=(x) y2=(height) {}
                text.axis x=(x) y="13" text-anchor="middle" { (clock(tick)) }
            }
            @for (row, label) in people.labels(diary).iter().enumerate() {
                @let y = AXIS + ROW * row as f64 + ROW / 2.0;
                text.name x="4" y=(format!("{:.1}", y + 4.0)) { (label) }
                line.rule x1=(NAMES) y1=(y) x2=(WIDTH) y2=(y) {}
            }
            (bursts(diary, scene, &people, &axis))
            @for line in diary.lines.get(scene.lines.clone()).unwrap_or_default() { (dot(diary, line, &people, &axis)) }
            @for (row, (id, owed)) in open.iter().take(MAX_OWED).enumerate() { (life(diary, **id, owed, &axis, first_owed + ROW * row as f64)) }
            @if open.len() > MAX_OWED {
                text.name x="4" y=(format!("{:.1}", first_owed + ROW * MAX_OWED as f64 + 14.0)) { "and " (open.len() - MAX_OWED) " more" }
            }
        }
    }
}

/// Who spoke, each with a row, in the order of their first lines. Where there are too many, those who asked and those who said most
/// have one, and the others share the last.
struct People {
    rows: Vec<String>,
    others: usize,
}

impl People {
    fn of(diary: &Diary, scene: &Scene, owed: &BTreeMap<ObligationId, Owed>) -> Self {
        let asked = |id: &str| owed.values().any(|o| o.asker.as_deref() == Some(id) && o.overlaps(scene.from, scene.to));
        let mut said: Vec<(&str, usize)> = Vec::new();
        for line in diary.lines.get(scene.lines.clone()).unwrap_or_default().iter().filter(|l| is_other(l)) {
            match said.iter_mut().find(|(id, _)| *id == line.author) {
                Some((_, lines)) => *lines += 1,
                None => said.push((&line.author, 1)),
            }
        }
        let mut kept: Vec<(bool, usize, &str)> = said.iter().map(|(id, lines)| (asked(id), *lines, *id)).collect();
        kept.sort_unstable_by(|a, b| b.cmp(a));
        kept.truncate(if said.len() > MAX_PEOPLE { MAX_PEOPLE - 1 } else { MAX_PEOPLE });
        let rows: Vec<String> = said.iter().map(|(id, _)| *id).filter(|id| kept.iter().any(|(.., k)| k == id)).map(str::to_owned).collect();
        let others = said.len() - rows.len();
        Self { rows, others }
    }

    fn len(&self) -> usize {
        self.rows.len() + usize::from(self.others > 0)
    }

    /// Where somebody's row is.
    fn y(&self, author: &str) -> f64 {
        let row = self.rows.iter().position(|id| id == author).unwrap_or(self.rows.len());
        AXIS + ROW * row as f64 + ROW / 2.0
    }

    fn labels(&self, diary: &Diary) -> Vec<String> {
        let others = (self.others > 0).then(|| format!("{} others", self.others));
        self.rows.iter().map(|id| short(diary.name(id))).chain(others).collect()
    }
}

fn is_other(line: &Heard) -> bool {
    matches!(line.kind, HeardKind::Person | HeardKind::Bot)
}

fn short(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        Some((at, _)) => format!("{}\u{2026}", name.get(..at).unwrap_or_default()),
        None => name.to_owned(),
    }
}

fn dot(diary: &Diary, line: &Heard, people: &People, axis: &Axis) -> Markup {
    if !is_other(line) {
        return html! {};
    }
    let class = if line.kind == HeardKind::Bot { "line bot" } else { "line" };
    html! {
        circle class=(class) cx=(format!("{:.1}", axis.x(line.ts))) cy=(people.y(&line.author)) r="3.4" {
            title { (diary.name(&line.author)) ", " (clock(line.ts)) ", " (line.id) }
        }
    }
}

/// A bar behind the lines of each burst that was judged.
fn bursts(diary: &Diary, scene: &Scene, people: &People, axis: &Axis) -> Markup {
    let judged = diary.decisions.get(scene.decisions.clone()).unwrap_or_default().iter();
    let judged = judged.filter(|(_, d)| matches!(d.what, What::Opened | What::Silent));
    html! {
        @for (_, decision) in judged {
            @let lines: Vec<&Heard> = decision.seen.lines.iter().filter_map(|seq| diary.line(*seq)).filter(|l| l.ts >= axis.from).collect();
            @if let (Some(first), Some(last)) = (lines.first(), lines.last()) {
                @let (left, right) = (axis.x(first.ts) - 6.0, axis.x(last.ts) + 6.0);
                rect class=(if decision.what == What::Opened { "burst opened" } else { "burst silent" })
                    x=(format!("{left:.1}")) y=(people.y(&first.author) - 6.5) width=(format!("{:.1}", right - left)) height="13" rx="6.5" {
                    title { (decision.what.meaning()) " " (decision.why.meaning()) }
                }
            }
        }
    }
}

/// One obligation: its spans as bars, and what happened as marks.
fn life(diary: &Diary, id: ObligationId, owed: &Owed, axis: &Axis, y: f64) -> Markup {
    let seen = |from: Millis, to: Millis| from <= axis.to && to >= axis.from;
    let asker = owed.asker.as_deref().map_or_else(String::new, |a| format!(", {}", diary.name(a)));
    html! {
        text.name x="4" y=(format!("{:.1}", y + 14.0)) { (short(&format!("{} {id}", owed.kind))) title { (owed.kind) " " (id) (asker) } }
        @for s in owed.spans.iter().filter(|s| seen(s.from, s.to)) {
            @let (left, right) = (axis.x(s.from), axis.x(s.to));
            rect class=(s.kind.class()) x=(format!("{left:.1}")) y=(y + 5.0) width=(format!("{:.1}", (right - left).max(1.5))) height="10" rx="2" {
                title { (owed.kind) " " (id) (asker) ": " (s.kind.words()) ", " (clock(s.from)) " to " (clock(s.to)) " (" (span(s.to - s.from)) ")" }
            }
        }
        @for mark in owed.marks.iter().filter(|m| seen(m.at, m.at)) { (sign(*mark, axis.x(mark.at), y + 10.0)) }
    }
}

/// A mark by its shape, so that it can be told without colours.
pub(super) fn sign(mark: Mark, x: f64, y: f64) -> Markup {
    let (class, words, shape) = match mark.kind {
        MarkKind::Post => ("post", "post", format!("M{x:.1} {:.1}l6.5 6.5l-6.5 6.5l-6.5 -6.5z", y - 6.5)),
        MarkKind::Reaction => ("reaction", "reaction", format!("M{:.1} {y:.1}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z", x - 5.0)),
        MarkKind::Drop => ("drop", "draft given up", format!("M{:.1} {:.1}l8 8m0 -8l-8 8", x - 4.0, y - 4.0)),
        MarkKind::End => ("end", "ended without a word of ours", format!("M{x:.1} {:.1}v12", y - 6.0)),
    };
    html! { path class=(class) d=(shape) { title { (words) ", " (clock(mark.at)) } } }
}
