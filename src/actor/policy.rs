//! The policy as the database holds it, as the machine takes it. What cannot be read hushes the room.

use parlor_core::{Mode, Policy};
use serde_json::Value;

use crate::ledger::PolicyRead;

/// What a room may do about which nobody has said anything: nothing. It is stopped besides muted, since the end of a chat mute
/// says that a room is not muted and must not open one whose policy cannot be read.
pub(super) fn closed() -> Policy {
    let mut policy = Policy::new(Vec::new());
    policy.revision = 0;
    policy.mode = Mode::Shadow;
    policy.muted = true;
    policy.stopped = true;
    policy
}

/// The policy in force. `muted` is what counts of mutes by the resource and in the chat.
pub(super) fn read(room: &str, stored: PolicyRead, muted: bool) -> Policy {
    let revision = super::feed::unsigned(stored.revision);
    let mut value = stored.value;
    if let Value::Object(fields) = &mut value {
        fields.insert("revision".into(), revision.into());
        fields.insert("muted".into(), muted.into());
        fields.insert("stopped".into(), stored.stopped.into());
        fields.insert("mode".into(), serde_json::to_value(stored.mode).unwrap_or(Value::Null));
    }
    serde_json::from_value(value).unwrap_or_else(|error| {
        tracing::error!(room, revision, %error, "the room's policy cannot be read, so the room is hushed; write it again with this version");
        let mut policy = closed();
        policy.revision = revision;
        policy
    })
}

#[cfg(test)]
mod tests {
    use parlor_core::{GateKind, Member};
    use serde_json::json;

    use super::*;

    fn stored(value: Value) -> PolicyRead {
        PolicyRead { revision: 7, muted: false, mode: Mode::Active, stopped: false, value }
    }

    #[test]
    fn the_columns_win_over_the_value() {
        let mut written = Policy::new(vec![Member { id: "wren".into(), name: "Wren".into(), aliases: vec![] }]);
        written.mode = Mode::Shadow;
        written.muted = true;
        let policy = read("kiln", stored(serde_json::to_value(&written).unwrap()), false);
        assert_eq!((policy.revision, policy.mode, policy.muted, policy.stopped), (7, Mode::Active, false, false));
        assert_eq!(policy.members, written.members);
        assert_eq!(policy.gate, GateKind::Embedded);
        assert!(read("kiln", stored(serde_json::to_value(&written).unwrap()), true).muted);
    }

    #[test]
    fn what_cannot_be_read_hushes_the_room() {
        for value in [json!({}), json!(null), json!({"members": "everybody"})] {
            let policy = read("kiln", stored(value), false);
            assert!(policy.muted && policy.stopped && policy.members.is_empty() && policy.revision == 7);
        }
    }
}
