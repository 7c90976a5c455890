//! A line as it is shown, for one viewer. The same function makes the lines of a page and those that are sent after it, so
//! that a line looks the same however it came. All text goes through maud, which escapes it.

use jiff::{Timestamp, tz::TimeZone};
use maud::{Markup, html};
use parlor_core::{AuthorKind, Millis};
use uuid::Uuid;

use super::{fold::Line, visitors::Viewer};

/// The reactions that the menu offers; others come from other surfaces and are shown as they are.
const EMOJI: [&str; 6] = ["👍", "❤️", "😄", "🎉", "👀", "🤔"];

/// Lines of one author that follow each other within this time are shown under one name.
const TOGETHER_MS: Millis = 3 * 60 * 1000;

/// The most of a quoted line that is shown.
const QUOTE_CHARS: usize = 120;

/// Where and for whom lines are shown.
pub(super) struct Frame<'a> {
    pub(super) room: &'a str,
    pub(super) viewer: &'a Viewer,
}

impl Frame<'_> {
    /// The address of the room for this viewer, with more of a query.
    pub(super) fn href(&self, more: &str) -> String {
        format!("/rooms/{}?as={}{more}", self.room, self.viewer.mark())
    }
}

/// One line, its day before it if the day changed since `before`, the line above it.
pub(super) fn line(frame: &Frame, line: &Line, quoted: Option<&Line>, before: Option<&Line>) -> Markup {
    let day = day(line.at);
    let same_day = before.is_some_and(|b| self::day(b.at) == day);
    html! {
        @if !same_day { li.day #{ "day-" (day) } data-in="log" data-n=(line.seq) { time datetime=(day) { (long_day(line.at)) } } }
        (bare(frame, line, quoted, same_day && before.is_some_and(|b| together(b, line))))
    }
}

/// A line that takes the place of an older form of itself.
pub(super) fn bare(frame: &Frame, line: &Line, quoted: Option<&Line>, joined: bool) -> Markup {
    if line.system {
        return html! { li.system #{ "l" (line.seq) } data-in="log" data-n=(line.seq) { span dir="auto" { (line.text) } " " (clock(line.at)) } };
    }
    let persona = line.author.kind == AuthorKind::Own;
    let own = frame.viewer.id() == Some(line.author.id.as_str());
    html! {
        li.line.persona[persona].own[own].gone[line.deleted].joined[joined] #{ "l" (line.seq) } data-in="log" data-n=(line.seq)
            data-pid=(line.platform_id) data-raw=[(own && !line.deleted).then_some(&line.text)] {
            span class={ "face c" (colour(&line.author.id)) } aria-hidden="true" { (initial(&line.author.name)) }
            div.said {
                p.who {
                    b dir="auto" { (line.author.name) } " " (badge(line.author.kind)) " " (clock(line.at))
                    @if line.edited && !line.deleted { " " span.edited { "edited" } }
                }
                @if let Some(of) = quoted { (quote(frame, of)) }
                @if line.deleted { p.text.deleted { "This line was deleted." } } @else { div.text dir="auto" { (text(&line.text)) } }
                @if !line.deleted { (acts(frame, line, own)) }
            }
        }
    }
}

fn together(before: &Line, line: &Line) -> bool {
    !before.system && !line.system && line.reply_to.is_none() && before.author.id == line.author.id && line.at - before.at < TOGETHER_MS
}

fn badge(kind: AuthorKind) -> Markup {
    let word = match kind {
        AuthorKind::Own => "persona",
        AuthorKind::Owner => "owner",
        AuthorKind::Bot => "bot",
        AuthorKind::Webhook => "webhook",
        AuthorKind::Human => return html! {},
    };
    html! { span.badge { (word) } }
}

fn quote(frame: &Frame, of: &Line) -> Markup {
    html! {
        blockquote.quote {
            a href=(frame.href(&format!("&at={}#l{}", of.seq, of.seq))) {
                span.sr { "In reply to " } b dir="auto" { (of.author.name) } " "
                span dir="auto" data-quote={ "l" (of.seq) } { (extract(of)) }
            }
        }
    }
}

/// The beginning of a line, for a quote.
pub(super) fn extract(line: &Line) -> String {
    if line.deleted {
        return "(deleted)".to_owned();
    }
    let words = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or(&words)),
        None => words,
    }
}

/// Reactions that stand, and the menu. One form: each button says what it does by its name.
fn acts(frame: &Frame, line: &Line, own: bool) -> Markup {
    let Some(me) = frame.viewer.id() else {
        return html! { @if !line.reactions.is_empty() { p.acts { @for (emoji, by) in &line.reactions { span.chip title=(people(by)) { (emoji) " " (by.len()) } } } } };
    };
    html! {
        form.acts method="post" action={ "/rooms/" (frame.room) "/acts" } {
            input type="hidden" name="as" value=(frame.viewer.mark());
            input type="hidden" name="of" value=(line.platform_id);
            input type="hidden" name="client_id" value=(Uuid::new_v4().simple());
            @for (emoji, by) in &line.reactions {
                @let mine = by.iter().any(|(id, _)| id == me);
                button.chip name=(if mine { "unreact" } else { "react" }) value=(emoji) aria-pressed=(mine) title=(people(by))
                    aria-label={ (emoji) " by " (people(by)) } { (emoji) " " (by.len()) }
            }
            details.menu {
                summary aria-label={ "Answer, react or change: line of " (line.author.name) ", " (time(line.at)) } title="Answer, react or change" { "⋯" }
                div.sheet {
                    div.emoji { @for emoji in EMOJI { button name="react" value=(emoji) aria-label={ "React with " (emoji) } { (emoji) } } }
                    a.do data-reply href=(frame.href(&format!("&reply={}#composer", line.seq))) { "Reply" }
                    @if own {
                        a.do data-edit href=(frame.href(&format!("&edit={}#composer", line.seq))) { "Edit" }
                    }
                    // The owner may take anything off the room, and change nothing in it.
                    @if own || *frame.viewer == Viewer::Owner { button.do.danger name="delete" value="1" { "Delete" } }
                }
            }
        }
    }
}

fn people(by: &[(String, String)]) -> String {
    by.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Text with code in backticks: three for a block, one inside a line. All else is shown as it was typed.
pub(super) fn text(raw: &str) -> Markup {
    let parts: Vec<&str> = raw.split("```").collect();
    // An unclosed fence is no fence.
    let closed = parts.len() % 2 == 1;
    html! {
        @for (i, part) in parts.iter().enumerate() {
            @if i % 2 == 1 && (closed || i + 1 < parts.len()) { pre { code { (block(part)) } } }
            @else if i % 2 == 1 { "```" (inline(part)) }
            @else if !part.trim_matches('\n').is_empty() { p { (inline(part.trim_matches('\n'))) } }
        }
    }
}

/// A block without the language that may stand on its first line.
fn block(part: &str) -> &str {
    let (first, rest) = part.split_once('\n').unwrap_or(("", part));
    let body = if first.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#')) { rest } else { part };
    body.trim_end_matches('\n')
}

fn inline(part: &str) -> Markup {
    let pieces: Vec<&str> = part.split('`').collect();
    let closed = pieces.len() % 2 == 1;
    html! {
        @for (i, piece) in pieces.iter().enumerate() {
            @if i % 2 == 1 && (closed || i + 1 < pieces.len()) { code { (piece) } }
            @else if i % 2 == 1 { "`" (piece) }
            @else { (piece) }
        }
    }
}

fn initial(name: &str) -> String {
    name.chars().find(|c| c.is_alphanumeric()).map(|c| c.to_uppercase().collect()).unwrap_or_default()
}

/// One of eight colours, the same for an author on every page.
fn colour(id: &str) -> u32 {
    id.bytes().fold(17_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 8
}

fn zoned(at: Millis) -> jiff::Zoned {
    Timestamp::from_millisecond(at).unwrap_or_default().to_zoned(TimeZone::system())
}

fn day(at: Millis) -> String {
    zoned(at).strftime("%Y-%m-%d").to_string()
}

fn long_day(at: Millis) -> String {
    zoned(at).strftime("%A, %-d %B %Y").to_string()
}

fn time(at: Millis) -> String {
    zoned(at).strftime("%H:%M").to_string()
}

/// A time of day that says the whole time when pointed at.
pub(super) fn clock(at: Millis) -> Markup {
    let at = zoned(at);
    html! { time datetime=(at.strftime("%Y-%m-%dT%H:%M:%S%:z")) title=(at.strftime("%-d %B %Y, %H:%M:%S")) { (at.strftime("%H:%M")) } }
}

#[cfg(test)]
mod tests;
