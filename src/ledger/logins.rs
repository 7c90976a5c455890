//! The logins of the ledger: one for each process, and one for each incarnation of a room. Who holds a login may call the functions
//! that the database grants it, and nothing else.

use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use secrecy::{ExposeSecret, SecretString};

use super::{Admin, Books, Ear, Ledger, LedgerError, Mouth, Reader, pool::connect_options};

/// Connections of a process's login. A call takes a millisecond or two, so these carry thousands a second.
const CONNECTIONS: u32 = 4;
/// Connections of a room's login; the server allows it four.
const ROOM_CONNECTIONS: u32 = 3;

/// A process's login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// The gateway's ear.
    Ingest,
    /// The gateway's mouth.
    Gateway,
    /// The controller.
    Controller,
    /// The broker.
    Broker,
    /// The console and the terminal.
    Console,
}

impl Login {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Ingest, Self::Gateway, Self::Controller, Self::Broker, Self::Console];

    /// Its name in the database.
    #[must_use]
    pub fn role(self) -> &'static str {
        match self {
            Self::Ingest => "parlor_ingest",
            Self::Gateway => "parlor_gateway",
            Self::Controller => "parlor_controller",
            Self::Broker => "parlor_broker",
            Self::Console => "parlor_console",
        }
    }
}

/// The passwords of the five logins, each made from one secret, so that processes which share the secret need not tell each other.
#[derive(Debug)]
pub struct Passwords {
    key: hmac::Key,
}

impl Passwords {
    /// Made from the password in an installer's URL; from nothing that anybody could know where it has none, so that they are
    /// other ones at each start.
    pub fn of(url: &SecretString) -> Result<Self, LedgerError> {
        // The driver does not give the password back, so it is taken from the text between the user's name and the host.
        let text = url.expose_secret();
        let authority = text.split_once("://").map_or(text, |(_, rest)| rest).split(['/', '?']).next().unwrap_or_default();
        let secret = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':')).map(|(_, password)| password.to_owned());
        let secret = match secret {
            Some(secret) if !secret.is_empty() => secret,
            _ => random_hex(32)?,
        };
        Ok(Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()) })
    }

    /// The password of a login.
    #[must_use]
    pub fn password(&self, login: Login) -> SecretString {
        let tag = hmac::sign(&self.key, format!("parlor login {}", login.role()).as_bytes());
        SecretString::from(hex::encode(tag))
    }
}

/// The login of a room's incarnation.
#[derive(Clone, Debug)]
pub struct RoomLogin {
    /// Its name in the database, which tells nothing of the room.
    pub role: String,
    /// Its password.
    pub password: SecretString,
    /// Which incarnation of the room it is, from 1.
    pub incarnation: i32,
}

/// The connections of every login, for a process that is all of them.
#[derive(Clone, Debug)]
pub struct Logins {
    /// The gateway's ear.
    pub ingest: Ledger,
    /// The gateway's mouth.
    pub gateway: Ledger,
    /// The controller.
    pub controller: Ledger,
    /// The broker.
    pub broker: Ledger,
    /// The console.
    pub console: Ledger,
}

impl Logins {
    /// Prepares connections for each login to the database of `url`, whose user and password are left out. `name` is what the
    /// server shows for them.
    pub fn connect(url: &SecretString, passwords: &Passwords, name: &str) -> Result<Self, LedgerError> {
        let place = connect_options(url)?;
        let of = |login: Login| {
            Ledger::with(place.clone().username(login.role()).password(passwords.password(login).expose_secret()), name, CONNECTIONS)
        };
        Ok(Self {
            ingest: of(Login::Ingest),
            gateway: of(Login::Gateway),
            controller: of(Login::Controller),
            broker: of(Login::Broker),
            console: of(Login::Console),
        })
    }

    /// Connections for a room's login, to the same database.
    #[must_use]
    pub fn room(&self, login: &RoomLogin) -> Ledger {
        Ledger::with(
            self.controller.place().username(&login.role).password(login.password.expose_secret()),
            "parlor-actor",
            ROOM_CONNECTIONS,
        )
    }

    /// What the controller may do.
    #[must_use]
    pub fn admin(&self) -> Admin {
        self.controller.admin()
    }

    /// What the gateway's ear may do.
    #[must_use]
    pub fn ear(&self) -> Ear {
        self.ingest.ear()
    }

    /// What the gateway's mouth may do.
    #[must_use]
    pub fn mouth(&self) -> Mouth {
        self.gateway.mouth()
    }

    /// What the broker may do.
    #[must_use]
    pub fn books(&self) -> Books {
        self.broker.books()
    }

    /// What the console and the terminal may read.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.console.reader()
    }

    /// Closes the connections; calls under way end first.
    pub async fn close(&self) {
        for ledger in [&self.ingest, &self.gateway, &self.controller, &self.broker, &self.console] {
            ledger.close().await;
        }
    }
}

/// That many random bytes, in hexadecimal.
pub(super) fn random_hex(bytes: usize) -> Result<String, LedgerError> {
    let mut random = vec![0; bytes];
    SystemRandom::new().fill(&mut random).map_err(|_| LedgerError::Other("the system gives no random numbers".into()))?;
    Ok(hex::encode(random))
}
