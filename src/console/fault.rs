//! A request that could not be done: one sentence for people, a status for programs, and whether trying again helps.

use std::borrow::Cow;

use axum::{
    Json,
    extract::rejection::{FormRejection, JsonRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{ReadError, names::NameError, page};
use crate::ports::{IntakeError, MuteError};

/// What went wrong.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    pub(super) message: Cow<'static, str>,
    /// The same request may be sent again after this many seconds.
    pub(super) again_s: Option<i64>,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    again: bool,
}

impl Fault {
    pub(super) fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into(), again_s: None }
    }

    pub(super) fn again(status: StatusCode, message: impl Into<Cow<'static, str>>, seconds: i64) -> Self {
        Self { status, message: message.into(), again_s: Some(seconds) }
    }

    pub(super) fn no_room() -> Self {
        Self::new(StatusCode::NOT_FOUND, "There is no such room here. The list of rooms is on the first page.")
    }

    pub(super) fn broken() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "The console made a mistake and could not answer. Its log says more.")
    }

    pub(super) fn answer(self, json: bool) -> Response {
        let mut response = if json {
            (self.status, Json(Body { error: &self.message, again: self.again_s.is_some() })).into_response()
        } else {
            (self.status, page::notice(&self)).into_response()
        };
        if let Some(seconds) = self.again_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Whether the answer is read by our script or another program instead of being shown.
pub(super) fn wants_json(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|v| v.starts_with("application/json"))
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unavailable => Self::again(
                StatusCode::SERVICE_UNAVAILABLE,
                "The database cannot be reached now. Nothing is lost; try again in a moment.",
                1,
            ),
            ReadError::Broken(reason) => {
                tracing::error!(%reason, "the console could not make sense of what it read from the ledger");
                Self::broken()
            }
        }
    }
}

impl From<IntakeError> for Fault {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::NoRoom(_) => Self::no_room(),
            IntakeError::Refused(why) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, why),
            IntakeError::Unavailable => Self::again(
                StatusCode::SERVICE_UNAVAILABLE,
                "The room's database cannot be reached now, so this was not stored. Send it again in a moment.",
                1,
            ),
        }
    }
}

impl From<MuteError> for Fault {
    fn from(error: MuteError) -> Self {
        match error {
            MuteError::NoRoom(_) => Self::no_room(),
            MuteError::NotOwner => Self::new(StatusCode::FORBIDDEN, "Only an owner of the room may mute and unmute it."),
            MuteError::Unavailable => Self::again(
                StatusCode::SERVICE_UNAVAILABLE,
                "The room's database cannot be reached now, so nobody knows whether this was done. Ask again in a moment.",
                1,
            ),
            MuteError::Failed(reason) => {
                tracing::error!(%reason, "a room could not be muted or unmuted");
                Self::broken()
            }
        }
    }
}

impl From<NameError> for Fault {
    fn from(error: NameError) -> Self {
        let status = match error {
            NameError::Empty | NameError::Long | NameError::Characters => StatusCode::UNPROCESSABLE_ENTITY,
            NameError::Reserved | NameError::Persona | NameError::Taken => StatusCode::CONFLICT,
            NameError::Full => StatusCode::TOO_MANY_REQUESTS,
        };
        Self::new(status, error.to_string())
    }
}

impl From<FormRejection> for Fault {
    fn from(rejection: FormRejection) -> Self {
        unread(rejection.status())
    }
}

impl From<JsonRejection> for Fault {
    fn from(rejection: JsonRejection) -> Self {
        unread(rejection.status())
    }
}

fn unread(status: StatusCode) -> Fault {
    let message = if status == StatusCode::PAYLOAD_TOO_LARGE {
        "That is too much at once: at most 4,000 characters a line."
    } else {
        "The request could not be read: a field is missing, unknown or of the wrong kind."
    };
    Fault::new(status, message)
}
