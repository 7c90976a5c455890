//! Who has spoken in the room, and how each stands to the personas. Bounded; a seat is named by its number.

use serde::{Deserialize, Serialize};

use crate::{AuthorKind, Millis, burst::Burst, hash::hash, judge::talk::Standing};

/// At most this many people are remembered; who was silent longest goes first (names of floor.md 1 have the same bound).
const MAX_PEOPLE: usize = 512;

/// The seat of somebody. Stable while they are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Who(pub(crate) u16);

/// A persona by its place in the room's roster, which only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PersonaNo(pub(crate) u8);

/// Somebody who spoke, or was named.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Person {
    pub(crate) id: String,
    pub(crate) kind: AuthorKind,
    /// Platform time of the last line; none yet if only named.
    pub(crate) last_at: Option<Millis>,
    /// When typing was last seen, unless a line came since.
    pub(crate) typing: Option<Millis>,
    /// Typing of theirs was ever seen: the surface reports it.
    pub(crate) types: bool,
    /// The last other person who spoke to them, platform time.
    pub(crate) helped_at: Option<Millis>,
    /// How they stand to the others.
    pub(crate) standing: Standing,
    /// Their last burst, where it is neither owed nor waiting for a gate.
    pub(crate) rest: Option<Box<Burst>>,
    /// Counts touches, for forgetting the one silent longest.
    touched: u64,
}

/// Everybody remembered.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct People {
    seats: Vec<Person>,
    /// Hash of the id and seat, sorted: a lookup compares numbers.
    index: Vec<(u64, u16)>,
    touches: u64,
    humans: u32,
}

impl People {
    pub(crate) fn find(&self, id: &str) -> Option<Who> {
        let h = hash(id);
        let from = self.index.partition_point(|(k, _)| *k < h);
        let at = self.index.get(from..)?.iter().take_while(|(k, _)| *k == h);
        at.map(|(_, seat)| Who(*seat)).find(|w| self.get(*w).is_some_and(|p| p.id == id))
    }

    pub(crate) fn get(&self, who: Who) -> Option<&Person> {
        self.seats.get(usize::from(who.0))
    }

    pub(crate) fn get_mut(&mut self, who: Who) -> Option<&mut Person> {
        self.seats.get_mut(usize::from(who.0))
    }

    /// The id of a seat; empty if nobody sits there, which does not happen for a seat in use.
    pub(crate) fn id(&self, who: Who) -> &str {
        self.get(who).map_or("", |p| p.id.as_str())
    }

    /// Finds or seats somebody. `busy` tells seats that must be kept.
    pub(crate) fn seat(&mut self, id: &str, kind: AuthorKind, busy: impl Fn(Who) -> bool) -> Who {
        self.touches += 1;
        let touched = self.touches;
        if let Some(who) = self.find(id) {
            if let Some(p) = self.get_mut(who) {
                p.touched = touched;
            }
            return who;
        }
        let person = Person {
            id: id.to_owned(),
            kind,
            last_at: None,
            typing: None,
            types: false,
            helped_at: None,
            standing: Standing::default(),
            rest: None,
            touched,
        };
        let seat = if self.seats.len() < MAX_PEOPLE { self.seats.len() } else { self.oldest(busy) };
        if let Some(old) = self.seats.get_mut(seat) {
            let gone = std::mem::replace(old, person);
            self.humans -= u32::from(gone.kind.is_person() && gone.last_at.is_some());
            self.index.retain(|(_, s)| usize::from(*s) != seat);
        } else {
            self.seats.push(person);
        }
        let h = hash(id);
        let at = self.index.partition_point(|(k, _)| *k < h);
        self.index.insert(at, (h, seat as u16));
        Who(seat as u16)
    }

    fn oldest(&self, busy: impl Fn(Who) -> bool) -> usize {
        let free = self.seats.iter().enumerate().filter(|(i, _)| !busy(Who(*i as u16)));
        // Obligations and open bursts are bounded far below the seats, so somebody is always free.
        free.min_by_key(|(_, p)| p.touched).map_or(0, |(i, _)| i)
    }

    /// Notes a line of somebody.
    pub(crate) fn spoke(&mut self, who: Who, at: Millis, kind: AuthorKind) {
        let Some(p) = self.seats.get_mut(usize::from(who.0)) else { return };
        let counted = p.kind.is_person() && p.last_at.is_some();
        p.kind = kind;
        p.last_at = Some(p.last_at.map_or(at, |l| l.max(at)));
        p.typing = None;
        self.humans = self.humans - u32::from(counted) + u32::from(kind.is_person());
    }

    /// Forgets who talked with whom; what the personas said to them stays.
    pub(crate) fn forget_talk(&mut self) {
        self.seats.iter_mut().for_each(|p| p.standing.forget_talk());
    }

    /// How many people have spoken.
    pub(crate) fn humans(&self) -> u32 {
        self.humans
    }
}
