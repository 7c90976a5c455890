//! The ids that this platform mints. Everything about an event that must not happen twice hangs on them, so they are made
//! from what stays the same when a client or a sender repeats itself.

use sha2::{Digest, Sha256};

/// Hex digits kept of a digest: 96 bits, so that two of a room's events meet by chance once in 10^14 rooms of a million.
const KEPT: usize = 24;

/// Names what a client did once, whatever it was: the same author with the same client id gives the same name.
pub(super) fn once(author: &str, client_id: &str) -> String {
    let mut hash = Sha256::new();
    // The length keeps ("ab", "c") and ("a", "bc") apart.
    hash.update((author.len() as u64).to_be_bytes());
    hash.update(author);
    hash.update(client_id);
    let mut hex = hex::encode(hash.finalize());
    hex.truncate(KEPT);
    hex
}

/// Platform id of a person's message. Own posts have their outbox nonce `p<stream>.<n>` as platform id, which none of these
/// can be.
pub(super) fn message_id(once: &str) -> String {
    format!("c{once}")
}

pub(super) fn message_key(platform_id: &str) -> String {
    format!("m:{platform_id}")
}

/// An edit is named by what the client did, where other surfaces have the platform's edit time: a repeat is one edit.
pub(super) fn edit_key(of: &str, once: &str) -> String {
    format!("e:{of}:{once}")
}

pub(super) fn delete_key(of: &str) -> String {
    format!("d:{of}")
}

/// A change of a reaction is named by what the client did, or by the nonce of the row that asked for it: a late repeat of "on"
/// cannot undo the "off" that followed it.
pub(super) fn reaction_key(of: &str, reactor: &str, emoji: &str, once: &str) -> String {
    format!("r:{of}:{reactor}:{emoji}:{once}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_client_id_names_the_same_event_per_author() {
        assert_eq!(once("ada", "1"), once("ada", "1"));
        assert_ne!(once("ada", "1"), once("ada", "2"));
        assert_ne!(once("ada", "1"), once("bob", "1"));
        assert_ne!(once("ab", "c"), once("a", "bc"));
        assert_eq!(once("ada", "1").len(), KEPT);
    }
}
