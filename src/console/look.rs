//! What is only looked at: the rooms, one room, its stream of changes, and the owner's link.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Form,
    extract::{Path, Query, State, rejection::FormRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response, sse::Sse},
};
use futures::stream;
use serde::Deserialize;

use super::{
    App,
    fault::{Fault, wants_json},
    feed::{After, Feed},
    page,
    room::{self, Ask, Kept},
    speak,
    visitors::{self, Viewer},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Token {
    token: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Resume {
    #[serde(rename = "as")]
    mark: Option<String>,
    after: Option<String>,
}

/// The rooms.
pub(super) async fn rooms(State(app): State<Arc<App>>, Query(ask): Query<Ask>, headers: HeaderMap) -> Response {
    let holder = app.holder(&headers);
    let viewer = holder.viewer(ask.mark.as_deref());
    match app.rooms(&holder, &viewer).await {
        Ok(rooms) => page::rooms(&rooms, &viewer).into_response(),
        Err(error) => Fault::from(error).answer(wants_json(&headers)),
    }
}

/// A room. Somebody whose name is another's here may look, and is asked for another name.
pub(super) async fn room(State(app): State<Arc<App>>, Path(name): Path<String>, Query(ask): Query<Ask>, headers: HeaderMap) -> Response {
    let holder = app.holder(&headers);
    let mut viewer = holder.viewer(ask.mark.as_deref());
    if ask.mark.is_none() {
        viewer = app.arrival(&name, &holder);
        if viewer != Viewer::Watcher {
            // The address names the person, so that the tab stays theirs when another person joins.
            return speak::to(&format!("/rooms/{name}?as={}", viewer.mark())).unwrap_or_else(|fault| fault.answer(false));
        }
    }
    let mut kept = Kept::default();
    match speak::entered(&app, &name, &viewer).await {
        Ok(()) => {}
        Err(fault) if fault.status == StatusCode::CONFLICT => {
            kept.said = fault.message.into_owned();
            viewer = Viewer::Watcher;
        }
        Err(fault) => return fault.answer(false),
    }
    match room::show(&app, &name, &viewer, &holder, &ask, kept).await {
        Ok(Some(page)) => page.into_response(),
        Ok(None) => Fault::no_room().answer(false),
        Err(error) => Fault::from(error).answer(false),
    }
}

/// What changes in a room after what the page shows.
pub(super) async fn events(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(ask): Query<Resume>,
    headers: HeaderMap,
) -> Response {
    let Some(after) = After::of(&headers, ask.after.as_deref()) else {
        return Fault::new(StatusCode::BAD_REQUEST, "The address does not say after what; reload the page.").answer(true);
    };
    let viewer = app.holder(&headers).viewer(ask.mark.as_deref());
    match app.room(&name, viewer.id()).await {
        Ok(Some(_)) => {}
        Ok(None) => return Fault::no_room().answer(true),
        Err(error) => return Fault::from(error).answer(true),
    }
    let place = match app.streams.open(viewer.id().unwrap_or("")) {
        Ok(place) => place,
        Err(fault) => return fault.answer(true),
    };
    let feed = Feed::new(Arc::clone(&app), name, viewer, after, place);
    let events = stream::unfold(feed, |mut feed| async move { feed.next().await.map(|event| (Ok::<_, Infallible>(event), feed)) });
    Sse::new(events).into_response()
}

/// The owner's link: a page with a button. Looking at it changes nothing.
pub(super) async fn owner(Query(link): Query<Token>) -> Response {
    page::owner(&link.token).into_response()
}

/// The button: the first who presses it with the right token is the owner.
pub(super) async fn become_owner(State(app): State<Arc<App>>, form: Result<Form<Token>, FormRejection>) -> Response {
    let done = || {
        let Form(link) = form?;
        if !app.owner.redeem(&link.token) {
            return Err(Fault::new(
                StatusCode::FORBIDDEN,
                "This link is wrong or was used already. `parlor dev` prints a new one each time it starts.",
            ));
        }
        let mut response = speak::to("/?as=owner")?;
        response.headers_mut().append(header::SET_COOKIE, visitors::owner_cookie(&app.keys, app.reader.now())?);
        Ok(response)
    };
    done().unwrap_or_else(|fault: Fault| fault.answer(false))
}
