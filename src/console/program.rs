//! The interface for programs of this machine's user, such as `parlor say`.
//!
//! Who may speak is shown by a token from a file that only that user can read. No page of another site can know it, and
//! requests of browsers are refused before they come here.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State, rejection::JsonRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{App, Caller, fault::Fault, limit, names, speak};
use crate::ports::{Heard, HeardKind, Posted};

/// A line that a program sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// A display name, or `owner`.
    #[serde(rename = "as")]
    speaker: String,
    text: String,
    client_id: String,
    reply_to: Option<String>,
}

pub(super) async fn say(
    State(app): State<Arc<App>>,
    Path(room): Path<String>,
    headers: HeaderMap,
    line: Result<Json<Line>, JsonRejection>,
) -> Response {
    match try_say(&app, room, &headers, line).await {
        Ok(posted) => Json(posted).into_response(),
        Err(fault) => fault.answer(true),
    }
}

async fn try_say(app: &App, room: String, headers: &HeaderMap, line: Result<Json<Line>, JsonRejection>) -> Result<Posted, Fault> {
    let caller = caller(app, headers)?;
    let Json(line) = line?;
    let owner = line.speaker == "owner";
    // The same name on the command line is the same person each time.
    let id = if owner { "owner".to_owned() } else { app.keys.derive("program", &names::key(&line.speaker)) };
    let shown = (!owner || caller == Caller::Owner).then_some(id.as_str());
    let facts = app.room(&room, shown).await?.ok_or_else(Fault::no_room)?;
    if !speak::is_client_id(&line.client_id) {
        return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "client_id must be 1 to 64 letters, digits, dashes or underscores."));
    }
    let (author, name) = if owner {
        if caller != Caller::Owner {
            return Err(Fault::new(StatusCode::FORBIDDEN, "Speaking as the owner takes the token of the owner's file."));
        }
        (id, "Owner".to_owned())
    } else {
        let name = names::allowed(&line.speaker, &facts.policy.members)?;
        let now = app.reader.now();
        if !app.names.holds(&room, &name, &id, now) {
            app.names.claim(&room, &name, &id, &app.reader.names(&room).await?, now)?;
        }
        (id, name)
    };
    app.limits.take(&author, "act", limit::ACTS, app.reader.now()).map_err(speak::too_fast)?;
    let reply_to = line.reply_to.as_deref().map(speak::platform_id).transpose()?;
    let what = HeardKind::Message { text: speak::text(&line.text)?, reply_to };
    Ok(app.intake.post(Heard { room, author, name, owner, client_id: line.client_id, what }).await?)
}

pub(super) fn caller(app: &App, headers: &HeaderMap) -> Result<Caller, Fault> {
    let presented = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).and_then(|v| v.strip_prefix("Bearer "));
    presented.and_then(|token| app.keys.caller(token)).ok_or_else(|| {
        Fault::new(
            StatusCode::UNAUTHORIZED,
            "A token is needed: the state folder of `parlor dev` holds it in a file that only its user can read.",
        )
    })
}
