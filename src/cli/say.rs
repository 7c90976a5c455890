//! `parlor say`: one line into a room, through the console's intake like any visitor's.

use serde_json::json;

use super::{CliError, Common, ask::ask, out};
use crate::ports::Posted;

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

impl Say {
    /// Says it and prints where it ended up.
    pub async fn run(self) -> Result<(), CliError> {
        let running = self.common.running()?;
        let account = || std::env::var("USER").ok().filter(|u| !u.is_empty()).unwrap_or_else(|| "guest".to_owned());
        let speaker = self.speaker.clone().unwrap_or_else(account);
        // Under one id, so that a line that is sent again is stored once.
        let id = uuid::Uuid::new_v4().to_string();
        let body = json!({ "as": speaker, "text": self.text, "client_id": id, "reply_to": self.reply_to });
        let posted: Posted = ask(&running, speaker == "owner", &self.common.room, "lines", &body).await?;
        let line = if self.common.json {
            json!({ "seq": posted.seq, "platform_id": posted.platform_id }).to_string()
        } else {
            format!("said as {} in {}, line {}", out::plain(&speaker, 0), self.common.room, posted.seq)
        };
        out::print(&[line])?;
        Ok(())
    }
}
