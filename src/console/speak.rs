//! What people do in a room: they enter it with a name, say, change and take back lines, react and type. All of it goes to the
//! intake with the id of the signed cookie; nothing is stored here.

use std::sync::Arc;

use axum::{
    Form, Json,
    extract::{Path, State, rejection::FormRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    App,
    fault::{Fault, wants_json},
    limit, names,
    room::{self, Ask, Kept},
    visitors::{PEOPLE_MAX, Viewer, Visitor},
};
use crate::ports::{Heard, HeardKind, Posted};

/// The longest line, in characters; the intake's own bound.
const TEXT_MAX: usize = 4_000;
/// The longest emoji, in characters.
const EMOJI_MAX: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    #[serde(rename = "as")]
    mark: String,
    client_id: String,
    text: String,
    #[serde(default)]
    reply_to: String,
    #[serde(default)]
    edit_of: String,
}

/// One button of a line was pressed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Acted {
    #[serde(rename = "as")]
    mark: String,
    client_id: String,
    of: String,
    react: Option<String>,
    unreact: Option<String>,
    delete: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Types {
    #[serde(rename = "as")]
    mark: String,
}

type Sent<T> = Result<Form<T>, FormRejection>;

/// Gives somebody a name in a room, and the cookie that goes with it.
pub(super) async fn enter(State(app): State<Arc<App>>, Path(name): Path<String>, headers: HeaderMap, form: Sent<Entry>) -> Response {
    match try_enter(&app, &name, &headers, form).await {
        Ok(response) => response,
        Err(fault) => {
            // The form again, with the reason; without a database there is no form to show.
            let holder = app.holder(&headers);
            let kept = Kept { said: fault.message.to_string(), ..Kept::default() };
            match room::show(&app, &name, &Viewer::Watcher, &holder, &Ask::default(), kept).await {
                Ok(Some(page)) => (fault.status, page).into_response(),
                Ok(None) | Err(_) => fault.answer(wants_json(&headers)),
            }
        }
    }
}

async fn try_enter(app: &App, room: &str, headers: &HeaderMap, form: Sent<Entry>) -> Result<Response, Fault> {
    let Form(entry) = form?;
    // Whoever enters is nobody yet; the person of a room of one person has a name.
    let facts = app.room(room, None).await?.ok_or_else(Fault::no_room)?;
    let now = app.reader.now();
    app.limits.take("", "enter", limit::ENTRIES, now).map_err(too_fast)?;
    let name = names::allowed(&entry.name, &facts.policy.members)?;
    let mut holder = app.holder(headers);
    // The same person again, perhaps in another room or after a lost tab.
    let known = holder.people.iter().position(|person| names::key(&person.name) == names::key(&name));
    let visitor = known.and_then(|at| holder.people.get(at).cloned()).unwrap_or_else(|| Visitor::new(name));
    if known.is_none() && holder.people.len() >= PEOPLE_MAX {
        return Err(Fault::new(StatusCode::CONFLICT, "This browser speaks for eight people already. Go on as one of them."));
    }
    let spoken = app.reader.names(room).await?;
    app.names.claim(room, &visitor.name, &visitor.id, &spoken, now)?;
    let n = known.unwrap_or(holder.people.len()) + 1;
    if known.is_none() {
        holder.people.push(visitor);
    }
    let mut response = to(&format!("/rooms/{room}?as={n}#composer"))?;
    response.headers_mut().append(header::SET_COOKIE, holder.people_cookie(&app.keys)?);
    Ok(response)
}

/// A new line, or the new text of an old one.
pub(super) async fn say(State(app): State<Arc<App>>, Path(name): Path<String>, headers: HeaderMap, form: Sent<Said>) -> Response {
    let json = wants_json(&headers);
    let Form(said) = match form {
        Ok(form) => form,
        Err(rejection) => return Fault::from(rejection).answer(json),
    };
    match try_say(&app, &name, &headers, &said).await {
        Ok(posted) if json => Json(posted).into_response(),
        Ok(_) => to(&format!("/rooms/{name}?as={}#composer", said.mark)).unwrap_or_else(|fault| fault.answer(false)),
        Err(fault) if json => fault.answer(true),
        Err(fault) => keep(&app, &name, &headers, said, fault).await,
    }
}

async fn try_say(app: &App, room: &str, headers: &HeaderMap, said: &Said) -> Result<Posted, Fault> {
    let text = text(&said.text)?;
    let what = match (said.edit_of.as_str(), said.reply_to.as_str()) {
        ("", "") => HeardKind::Message { text, reply_to: None },
        ("", of) => HeardKind::Message { text, reply_to: Some(platform_id(of)?) },
        (of, _) => HeardKind::Edit { of: platform_id(of)?, text },
    };
    act(app, room, headers, &said.mark, &said.client_id, what).await
}

/// Without the script: the page again with the text still in its box, under the same client id, so that sending it once more
/// stores it once. Without a database, a page that holds nothing but the text.
async fn keep(app: &App, name: &str, headers: &HeaderMap, said: Said, fault: Fault) -> Response {
    let holder = app.holder(headers);
    let viewer = holder.viewer(Some(&said.mark));
    let some = |text: String| (!text.is_empty()).then_some(text);
    let kept = Kept {
        text: said.text,
        reply_to: some(said.reply_to),
        edit_of: some(said.edit_of),
        client_id: Some(said.client_id),
        said: fault.message.to_string(),
    };
    match room::show(app, name, &viewer, &holder, &Ask::default(), kept.clone()).await {
        Ok(Some(page)) => (fault.status, page).into_response(),
        Ok(None) => fault.answer(false),
        Err(_) => (fault.status, room::unsent(name, &viewer, &kept)).into_response(),
    }
}

/// A reaction put on or taken off, or a line deleted.
pub(super) async fn press(State(app): State<Arc<App>>, Path(name): Path<String>, headers: HeaderMap, form: Sent<Acted>) -> Response {
    let json = wants_json(&headers);
    let done = async {
        let Form(acted) = form?;
        let of = platform_id(&acted.of)?;
        let what = match (acted.react, acted.unreact, acted.delete) {
            (Some(emoji), None, None) => HeardKind::Reaction { of, emoji: self::emoji(emoji)?, on: true },
            (None, Some(emoji), None) => HeardKind::Reaction { of, emoji: self::emoji(emoji)?, on: false },
            (None, None, Some(_)) => HeardKind::Delete { of },
            _ => return Err(unclear()),
        };
        let posted = act(&app, &name, &headers, &acted.mark, &acted.client_id, what).await?;
        if json { Ok(Json(posted).into_response()) } else { to(&format!("/rooms/{name}?as={}#composer", acted.mark)) }
    };
    done.await.unwrap_or_else(|fault: Fault| fault.answer(json))
}

/// Shows somebody as typing. Losing one is harmless, so most faults are not worth words.
pub(super) async fn typing(State(app): State<Arc<App>>, Path(name): Path<String>, headers: HeaderMap, form: Sent<Types>) -> Response {
    let done = async {
        let Form(types) = form?;
        let viewer = app.holder(&headers).viewer(Some(&types.mark));
        let id = viewer.id().ok_or_else(nobody)?;
        app.limits.take(id, "typing", limit::TYPING, app.reader.now()).map_err(too_fast)?;
        entered(&app, &name, &viewer).await?;
        app.intake.typing(&name, id).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    done.await.unwrap_or_else(|fault: Fault| fault.answer(true))
}

async fn act(app: &App, room: &str, headers: &HeaderMap, mark: &str, client_id: &str, what: HeardKind) -> Result<Posted, Fault> {
    let viewer = app.holder(headers).viewer(Some(mark));
    let (Some(id), Some(name)) = (viewer.id(), viewer.name()) else { return Err(nobody()) };
    if !is_client_id(client_id) {
        return Err(unclear());
    }
    app.limits.take(id, "act", limit::ACTS, app.reader.now()).map_err(too_fast)?;
    entered(app, room, &viewer).await?;
    let heard = Heard {
        room: room.to_owned(),
        author: id.to_owned(),
        name: name.to_owned(),
        owner: viewer == Viewer::Owner,
        client_id: client_id.to_owned(),
        what,
    };
    Ok(app.intake.post(heard).await?)
}

/// Makes sure that the room is there for the viewer, and that their name is theirs in it: they may have got it in another room,
/// or before a restart.
pub(super) async fn entered(app: &App, room: &str, viewer: &Viewer) -> Result<(), Fault> {
    app.admit(room, viewer.id())?;
    let Viewer::Person { visitor, .. } = viewer else { return Ok(()) };
    let now = app.reader.now();
    if app.names.holds(room, &visitor.name, &visitor.id, now) {
        return Ok(());
    }
    let facts = app.room(room, viewer.id()).await?.ok_or_else(Fault::no_room)?;
    names::allowed(&visitor.name, &facts.policy.members)?;
    let spoken = app.reader.names(room).await?;
    Ok(app.names.claim(room, &visitor.name, &visitor.id, &spoken, now)?)
}

/// The text as it is stored: line ends of one kind, no other control characters, no space at its end.
pub(super) fn text(typed: &str) -> Result<String, Fault> {
    let text: String = typed
        .replace("\r\n", "\n")
        .chars()
        .map(|c| if c == '\r' { '\n' } else { c })
        .filter(|&c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    let text = text.trim_end();
    if text.trim_start().is_empty() {
        return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "There is nothing to send: the line is empty."));
    }
    if text.chars().count() > TEXT_MAX {
        return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "The line is too long: at most 4,000 characters. Send it in parts."));
    }
    Ok(text.to_owned())
}

pub(super) fn is_client_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Ids of platforms are short and plain; anything else never came from a page of ours.
pub(super) fn platform_id(id: &str) -> Result<String, Fault> {
    let plain = (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    if plain { Ok(id.to_owned()) } else { Err(unclear()) }
}

fn emoji(emoji: String) -> Result<String, Fault> {
    let fits = (1..=EMOJI_MAX).contains(&emoji.chars().count()) && !emoji.chars().any(|c| c.is_control() || c.is_whitespace());
    if fits { Ok(emoji) } else { Err(unclear()) }
}

fn unclear() -> Fault {
    Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "The request is not one that the console's page makes. Reload the page and try again.")
}

fn nobody() -> Fault {
    Fault::new(StatusCode::UNAUTHORIZED, "This browser has no name here any more. Reload the page and choose one; your text stays.")
}

pub(super) fn too_fast(wait_ms: i64) -> Fault {
    Fault::again(StatusCode::TOO_MANY_REQUESTS, "That was very fast. It can be sent again in a moment.", (wait_ms + 999) / 1000)
}

/// Sends the browser to another page by GET.
pub(super) fn to(address: &str) -> Result<Response, Fault> {
    let location = HeaderValue::from_str(address).map_err(|_| unclear())?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_stored_as_it_reads() {
        assert_eq!(text("a\r\nb\rc\u{0}\u{7}\td  \n").unwrap(), "a\nb\nc\td");
        assert!(text(" \n\t ").is_err() && text("").is_err() && text("\u{0}").is_err());
        assert_eq!(text(&"ä".repeat(4_000)).unwrap().chars().count(), 4_000);
        assert!(text(&"ä".repeat(4_001)).is_err());
    }

    #[test]
    fn ids_that_no_page_of_ours_makes_are_refused() {
        assert!(is_client_id("3f2a-9_Z") && !is_client_id("") && !is_client_id("a b") && !is_client_id(&"a".repeat(65)));
        assert!(platform_id("m:12").is_ok() && platform_id("").is_err() && platform_id("a\n").is_err() && platform_id("ä").is_err());
        assert!(emoji("👩‍🚒".into()).is_ok() && emoji(String::new()).is_err() && emoji("a b".into()).is_err());
    }
}
