//! `parlor mute` and `parlor unmute`: hushes a room at once on its owner's word, and lets it speak again.

use parlor_core::Millis;
use serde_json::json;

use super::{CliError, Common, ask::ask, out};
use crate::{
    api,
    ports::{Hush, MUTE_MOST_MS, MuteNow, Muted, Silence, Unmuted},
};

/// A shorter mute would be over before anybody has read that it began.
const SHORTEST_MS: Millis = 1_000;

/// Mutes a room.
#[derive(Debug, clap::Args)]
pub struct Mute {
    #[command(flatten)]
    common: Common,
    /// How long, such as 30m or 1h30m, at most 672h (28 days). Default: until it is unmuted.
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    length: Option<Millis>,
    /// What for; shown where the room is.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Ends the mutes of people.
#[derive(Debug, clap::Args)]
pub struct Unmute {
    #[command(flatten)]
    common: Common,
}

fn length(text: &str) -> Result<Millis, String> {
    match api::duration(text, MUTE_MOST_MS / 3_600_000)? {
        ms if ms < SHORTEST_MS => Err(format!("{text:?} is shorter than a second")),
        ms => Ok(ms),
    }
}

impl Mute {
    /// Mutes it and prints how it stands.
    pub async fn run(self) -> Result<(), CliError> {
        let Common { room, json, .. } = &self.common;
        let body = json!({ "for_ms": self.length, "reason": self.reason });
        let muted: Muted = ask(&self.common.running()?, true, room, "mute", &body).await?;
        let mut lines = vec![if *json {
            json!({ "type": "muted", "room": room, "refused": muted.refused }).to_string()
        } else {
            format!("{room} is muted; {} waiting to be posted and refused", muted.refused)
        }];
        lines.extend(if *json { as_json(&muted.hush) } else { told(&muted.hush) });
        out::print(&lines)?;
        Ok(())
    }
}

impl Unmute {
    /// Ends them and prints how it stands; a failure if the room is muted still.
    pub async fn run(self) -> Result<(), CliError> {
        let Common { room, json, .. } = &self.common;
        let unmuted: Unmuted = ask(&self.common.running()?, true, room, "unmute", &json!({})).await?;
        let mut lines = match (*json, unmuted.lifted) {
            (true, lifted) => vec![json!({ "type": "unmuted", "room": room, "lifted": lifted, "stays": unmuted.stays }).to_string()],
            (false, 0) => vec![format!("nobody had muted {room}")],
            (false, lifted) => vec![format!("mutes of {room} lifted: {lifted}")],
        };
        lines.extend(if *json { as_json(&unmuted.hush) } else { told(&unmuted.hush) });
        out::print(&lines)?;
        unmuted.stays.map_or(Ok(()), |why| Err(CliError::StillMuted { room: room.clone(), why: out::plain(&why, 0) }))
    }
}

/// Why a room is silent, a sentence each; nothing where it is not.
pub(crate) fn told(hush: &Hush) -> Vec<String> {
    let mut lines: Vec<String> = hush.mutes.iter().map(mute_told).collect();
    lines.extend(hush.why.and_then(|why| meaning(why, hush)).map(str::to_owned));
    lines
}

fn mute_told(mute: &MuteNow) -> String {
    let reason = if mute.reason.is_empty() { String::new() } else { format!(": {}", out::plain(&mute.reason, 0)) };
    let by = mute.by.as_ref().map_or_else(String::new, |by| format!(" by {}", out::plain(by, 0)));
    let since = mute.since_ms.map_or_else(String::new, |ms| format!(" since {}", out::stamp(ms)));
    let until = mute.until_ms.map_or_else(String::new, |ms| format!(" until {}", out::stamp(ms)));
    format!("Muted{reason} ({})", format!("{by}{since}{until}").trim_start())
}

/// What is not told by a mute.
fn meaning(why: Silence, hush: &Hush) -> Option<&'static str> {
    match why {
        Silence::Muted if hush.mutes.is_empty() => Some("Muted"),
        Silence::Muted => None,
        Silence::Stopped => Some("Stopped: its document says replicas: 0"),
        Silence::NoController => Some("Silent: no controller was heard of lately; rooms wait until one is there again"),
        Silence::NoPolicy => Some("Silent: nobody has said what the room may do; its policy is written when `parlor dev` starts"),
        Silence::UnreadablePolicy => {
            Some("Silent: the room's policy makes no sense to this version; start `parlor dev` again, it writes the policy anew")
        }
    }
}

pub(super) fn as_json(hush: &Hush) -> Vec<String> {
    let mute = |m: &MuteNow| {
        json!({
            "type": "mute",
            "by": m.by,
            "reason": m.reason,
            "since": m.since_ms.map(out::stamp),
            "until": m.until_ms.map(out::stamp),
            "of_document": m.of_policy,
        })
    };
    let why = hush.why.map(|why| json!({ "type": "silent", "why": why }));
    why.into_iter().chain(hush.mutes.iter().map(mute)).map(|v| v.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_read_and_bounded() {
        assert_eq!(length("30m"), Ok(1_800_000));
        assert_eq!(length("672h"), Ok(MUTE_MOST_MS));
        assert!(length("672h1s").unwrap_err().contains("longer than 672h"));
        for wrong in ["", "0s", "999ms", "-1m", "1d", "tomorrow"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_silence_is_told_with_who_when_and_why_and_steers_no_terminal() {
        let mute =
            MuteNow { of_policy: false, by: Some("owner".into()), reason: "firing\u{1b}[2J".into(), since_ms: Some(0), until_ms: None };
        let hush = |why, mutes| Hush { why: Some(why), mutes };
        assert_eq!(told(&hush(Silence::Muted, vec![mute.clone()])), ["Muted: firing\u{fffd}[2J (by owner since 1970-01-01T00:00:00Z)"]);
        let whole = MuteNow { reason: String::new(), until_ms: Some(60_000), ..mute };
        let two = told(&hush(Silence::UnreadablePolicy, vec![whole]));
        assert_eq!(two[0], "Muted (by owner since 1970-01-01T00:00:00Z until 1970-01-01T00:01:00Z)");
        assert!(two[1].starts_with("Silent: the room's policy makes no sense"));
        assert!(told(&Hush::default()).is_empty());
        assert_eq!(told(&hush(Silence::Muted, vec![])), ["Muted"]);
    }
}
