//! Passwords as the server stores them: as SCRAM-SHA-256 verifiers (RFC 5803), made here, since a server that fails to store a
//! password writes the statement into its log.

use std::num::NonZeroU32;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use ring::{digest, hmac, pbkdf2};
use secrecy::{ExposeSecret, SecretString};

/// What Postgres itself uses (`scram_iterations`), and the least that RFC 7677 allows.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4_096).unwrap();
const KEY_BYTES: usize = digest::SHA256_OUTPUT_LEN;

/// The verifier of a password of printable ASCII characters, which need no preparation (RFC 4013), with this salt.
pub(super) fn verifier(password: &SecretString, salt: &[u8]) -> String {
    with_iterations(password, salt, ITERATIONS)
}

/// Whether a stored verifier is of this password.
pub(super) fn is_of(stored: &str, password: &SecretString) -> bool {
    let parsed = || {
        let (head, _) = stored.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        Some((iterations.parse().ok()?, BASE64.decode(salt).ok()?))
    };
    parsed().is_some_and(|(iterations, salt)| with_iterations(password, &salt, iterations) == stored)
}

fn with_iterations(password: &SecretString, salt: &[u8], iterations: NonZeroU32) -> String {
    let mut salted = [0; KEY_BYTES];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt, password.expose_secret().as_bytes(), &mut salted);
    let salted = hmac::Key::new(hmac::HMAC_SHA256, &salted);
    let client = hmac::sign(&salted, b"Client Key");
    let stored = digest::digest(&digest::SHA256, client.as_ref());
    let server = hmac::sign(&salted, b"Server Key");
    format!("SCRAM-SHA-256${iterations}:{}${}:{}", BASE64.encode(salt), BASE64.encode(stored), BASE64.encode(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7677_has_its_verifier() {
        // User "user", password "pencil": the keys by which the exchange of that example can be checked.
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let made = verifier(&SecretString::from("pencil"), &salt);
        assert_eq!(
            made,
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
        assert!(is_of(&made, &SecretString::from("pencil")) && !is_of(&made, &SecretString::from("pen")));
        assert!(!is_of("md5abc", &SecretString::from("pencil")) && !is_of("", &SecretString::from("pencil")));
    }
}
