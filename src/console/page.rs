//! The frame of every page, and the pages that are not a room.

use axum::response::Html;
use maud::{DOCTYPE, Markup, html};
use parlor_core::Mode;

use super::{RoomFacts, assets, fault::Fault, visitors::Viewer, words};

/// A whole document. `live` pages load the script.
pub(super) fn document(title: &str, class: &str, live: bool, content: &Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content";
                meta name="color-scheme" content="light dark";
                title { (title) " · Parlor" }
                link rel="icon" type="image/svg+xml" href=(assets::ICON.path);
                link rel="stylesheet" href=(assets::STYLE.path);
                @if live { script src=(assets::SCRIPT.path) defer {} }
            }
            body class=(class) { (content) }
        }
    };
    Html(page.into_string())
}

/// A page of one sentence, for what could not be done.
pub(super) fn notice(fault: &Fault) -> Html<String> {
    let content = html! {
        header.bar { a.home href="/" { "Parlor" } }
        main.plain {
            h1 { @if fault.again_s.is_some() { "Not now" } @else { "That did not work" } }
            p { (fault.message) }
            p { a.button href="/" { "To the rooms" } }
        }
    };
    document("Sorry", "plain", false, &content)
}

/// Every room, with what is going on in it.
pub(super) fn rooms(rooms: &[(RoomFacts, Viewer)], viewer: &Viewer) -> Html<String> {
    let suffix = |viewer: &Viewer| match viewer {
        Viewer::Watcher => String::new(),
        Viewer::Person { .. } | Viewer::Owner => format!("?as={}", viewer.mark()),
    };
    let content = html! {
        header.bar { a.home href={ "/" (suffix(viewer)) } { "Parlor" } @if let Some(name) = viewer.name() { p.you { "You are " b dir="auto" { (name) } } } }
        main.plain {
            h1 { "Rooms" }
            p.lead { "People and personas share these rooms. Go in, and say hello to somebody by name." }
            @if rooms.is_empty() { p { "There is no room yet. Add a Room document to the folder that " code { "parlor dev" } " watches." } }
            ul.cards {
                @for (room, viewer) in rooms {
                    li { a href={ "/rooms/" (room.name) (suffix(viewer)) } {
                        h2 { (room.name) }
                        @if !room.topic.is_empty() { p dir="auto" { (room.topic) } }
                        p.members {
                            @for (i, member) in room.policy.members.iter().enumerate() { @if i > 0 { ", " } (member.name) }
                            " " (circle(room))
                            @if room.policy.muted { " " span.mark { "muted" } }
                            @if room.policy.stopped { " " span.mark { "stopped" } }
                            @if room.policy.mode == Mode::Shadow { " " span.mark { "shadow" } }
                        }
                    } }
                }
            }
        }
    };
    document("Rooms", "plain", false, &content)
}

/// Who may know what is said in a room, where that is not simply who is in it.
pub(super) fn circle(room: &RoomFacts) -> Markup {
    let words = words::circle(room.policy.audience);
    html! { @if !words.is_empty() { span.mark { (words) } } }
}

/// What the owner's link opens: a button, because programs that look at links in advance must not use it up.
pub(super) fn owner(token: &str) -> Html<String> {
    let content = html! {
        header.bar { a.home href="/" { "Parlor" } }
        main.plain {
            h1 { "Become the owner" }
            p { "This link works once. It makes this browser the owner of the rooms here for a month." }
            form method="post" action="/owner" {
                input type="hidden" name="token" value=(token);
                button.primary { "I am the owner" }
            }
        }
    };
    document("Owner", "plain", false, &content)
}
