//! Muting a room and unmuting it, for programs that hold the owner's token. Who asks is the owner by the token alone; what a mute is
//! and how it holds is not decided here.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State, rejection::JsonRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use parlor_core::Millis;
use serde::Deserialize;

use super::{App, Caller, fault::Fault, limit, program, speak};
use crate::ports::{MUTE_MOST_MS, MUTE_REASON_MOST};

/// Authenticated id of who holds the owner's token.
const OWNER: &str = "owner";

/// How a room is to be muted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// How long, ms; none: until it is unmuted.
    for_ms: Option<Millis>,
    #[serde(default)]
    reason: String,
}

/// There is nothing to say about an unmute.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

pub(super) async fn mute(
    State(app): State<Arc<App>>,
    Path(room): Path<String>,
    headers: HeaderMap,
    wanted: Result<Json<Wanted>, JsonRejection>,
) -> Response {
    let done = async {
        owner(&app, &headers)?;
        let Json(wanted) = wanted?;
        if wanted.for_ms.is_some_and(|ms| !(1..=MUTE_MOST_MS).contains(&ms)) {
            return Err(refused("A mute lasts at most 28 days. Leave the time out for one that lasts until it is lifted."));
        }
        if wanted.reason.chars().count() > MUTE_REASON_MOST || wanted.reason.chars().any(char::is_control) {
            return Err(refused("A reason is one line of at most 500 characters."));
        }
        Ok(app.mutes.mute(&room, OWNER, wanted.reason.trim(), wanted.for_ms).await?)
    };
    done.await.map_or_else(|fault: Fault| fault.answer(true), |muted| Json(muted).into_response())
}

pub(super) async fn unmute(
    State(app): State<Arc<App>>,
    Path(room): Path<String>,
    headers: HeaderMap,
    nothing: Result<Json<Nothing>, JsonRejection>,
) -> Response {
    let done = async {
        owner(&app, &headers)?;
        let Json(Nothing {}) = nothing?;
        Ok(app.mutes.unmute(&room, OWNER).await?)
    };
    done.await.map_or_else(|fault: Fault| fault.answer(true), |unmuted| Json(unmuted).into_response())
}

fn owner(app: &App, headers: &HeaderMap) -> Result<(), Fault> {
    if program::caller(app, headers)? != Caller::Owner {
        return Err(Fault::new(StatusCode::FORBIDDEN, "Muting and unmuting take the token of the owner's file."));
    }
    app.limits.take(OWNER, "act", limit::ACTS, app.reader.now()).map_err(speak::too_fast)
}

fn refused(why: &'static str) -> Fault {
    Fault::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}
