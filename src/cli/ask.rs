//! What the terminal asks of a running `parlor dev`: over its console's interface for programs, with a token of the state folder.

use std::time::Duration;

use secrecy::ExposeSecret;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{CliError, Running, out};

/// How long the console may take to answer one try.
const ANSWER: Duration = Duration::from_secs(10);
/// Tries while the console says that it cannot store now, or does not answer; what is asked may be asked twice.
const TRIES: u32 = 10;
/// Wait between tries.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Fault {
    error: String,
    /// Whether the same may be asked again.
    #[serde(default)]
    again: bool,
}

/// Asks `what` about a room, as the owner or as anybody who can read the state folder.
pub(super) async fn ask<T: DeserializeOwned>(running: &Running, owner: bool, room: &str, what: &str, body: &Value) -> Result<T, CliError> {
    let token = running.token(owner)?;
    let silent = |reason: &str| CliError::Silent { address: running.console.clone(), reason: reason.to_owned() };
    let address = address(&running.console, room, what).ok_or_else(|| silent("it is no address"))?;
    let client = reqwest::Client::builder().no_proxy().timeout(ANSWER).build().map_err(|_| silent("no client could be made"))?;
    let mut last = silent("no answer");
    for _ in 0..TRIES {
        let sent = client.post(address.clone()).bearer_auth(token.expose_secret()).json(body).send().await;
        let answer = match sent {
            Ok(answer) => answer,
            Err(e) if e.is_connect() => return Err(silent("no connection")),
            Err(_) => continue,
        };
        let status = answer.status();
        let Ok(bytes) = answer.bytes().await else { continue };
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|_| silent("its answer makes no sense; is it of another version?"));
        }
        let fault = serde_json::from_slice::<Fault>(&bytes)
            .unwrap_or_else(|_| Fault { error: format!("the console answered {status}"), again: status.is_server_error() });
        last = CliError::Refused(out::plain(&fault.error, 0));
        if !fault.again {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(last)
}

fn address(console: &str, room: &str, what: &str) -> Option<reqwest::Url> {
    let mut address = reqwest::Url::parse(console).ok()?;
    address.path_segments_mut().ok()?.extend(["api", "rooms", room, what]);
    Some(address)
}
