//! `parlor say`: one line into a room, through the console's intake like any visitor's.

use std::time::Duration;

use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;

use super::{CliError, Common, Running, out};
use crate::ports::Posted;

/// How long the console may take to answer one try.
const ANSWER: Duration = Duration::from_secs(10);
/// Tries while the console says that it cannot store now, or does not answer; the line has one id, so it is stored once.
const TRIES: u32 = 10;
/// Wait between tries.
const PAUSE: Duration = Duration::from_secs(1);

/// Says something in a room.
#[derive(Debug, clap::Args)]
pub struct Say {
    #[command(flatten)]
    common: Common,
    /// What is said.
    text: String,
    /// Under which name, or `owner`. Default: the name of your account.
    #[arg(long = "as", value_name = "NAME")]
    speaker: Option<String>,
    /// Platform id of the message that it answers.
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
}

#[derive(Deserialize)]
struct Fault {
    error: String,
    /// Whether the same line may be sent again.
    #[serde(default)]
    again: bool,
}

impl Say {
    /// Says it and prints where it ended up.
    pub async fn run(self) -> Result<(), CliError> {
        let running = self.common.running()?;
        let account = || std::env::var("USER").ok().filter(|u| !u.is_empty()).unwrap_or_else(|| "guest".to_owned());
        let speaker = self.speaker.clone().unwrap_or_else(account);
        let posted = self.post(&running, &speaker).await?;
        let line = if self.common.json {
            json!({ "seq": posted.seq, "platform_id": posted.platform_id }).to_string()
        } else {
            format!("said as {} in {}, line {}", out::plain(&speaker, 0), self.common.room, posted.seq)
        };
        out::print(&[line])?;
        Ok(())
    }

    async fn post(&self, running: &Running, speaker: &str) -> Result<Posted, CliError> {
        let token = running.token(speaker == "owner")?;
        let silent = |reason: &str| CliError::Silent { address: running.console.clone(), reason: reason.to_owned() };
        let address = address(&running.console, &self.common.room).ok_or_else(|| silent("it is no address"))?;
        let client = reqwest::Client::builder().no_proxy().timeout(ANSWER).build().map_err(|_| silent("no client could be made"))?;
        let body = json!({ "as": speaker, "text": self.text, "client_id": uuid::Uuid::new_v4().to_string(), "reply_to": self.reply_to });
        let mut last = silent("no answer");
        for _ in 0..TRIES {
            let sent = client.post(address.clone()).bearer_auth(token.expose_secret()).json(&body).send().await;
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
}

fn address(console: &str, room: &str) -> Option<reqwest::Url> {
    let mut address = reqwest::Url::parse(console).ok()?;
    address.path_segments_mut().ok()?.extend(["api", "rooms", room, "lines"]);
    Some(address)
}
