//! Who is in the rooms of a simulation, and what they say: asking, answering, thanking, taking back, talking beside; and what
//! people paste.

use parlor_core::{AuthorKind, Member};

/// Id, display name and kind. The first few talk most.
pub(super) const PEOPLE: &[(&str, &str, AuthorKind)] = &[
    ("u1", "Ada", AuthorKind::Human),
    ("u2", "Bram", AuthorKind::Human),
    ("u3", "Chidi", AuthorKind::Owner),
    ("u4", "Will", AuthorKind::Human),
    ("u5", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}", AuthorKind::Human),
    ("u6", "Ann", AuthorKind::Human),
    ("u7", "", AuthorKind::Human),
    ("b1", "kilnbot", AuthorKind::Bot),
    ("h1", "Wren", AuthorKind::Webhook),
];

/// The personas in turn order; a room has the first one, two or three.
const PERSONAS: [(&str, &str, &str); 3] = [("wren", "Wren", "kiln keeper"), ("lark", "Lark", "lark of the hill"), ("moss", "Moss", "will")];

/// What people say.
pub(super) const LINES: &[&str] = &[
    "wren, how hot does cone 6 have to be?",
    "lark: who has the tongs?",
    "@moss are you there",
    "does anyone know when the kiln is free?",
    "can somebody help me with the slab roller?",
    "why is this glaze cracking?",
    "and how long?",
    "what about the small one?",
    "never mind",
    "nvm wren",
    "forget it",
    "thanks!",
    "thank you wren",
    "thanks Ada",
    "Bram: at noon",
    "Ada: about 1222 degrees, I think.",
    "Chidi, did you see that?",
    "Will: yes",
    "it is about twelve hundred.",
    "leave it until it is cold",
    "yes, that is done.",
    "it rains",
    "@wren @lark both of you?",
    "@everyone who took the long tongs?",
    "@here wren?",
    "hi wren",
    "Wren",
    "kiln keeper, is it on?",
    "I asked wren about it yesterday and she said no",
    "hello all",
    "good morning",
    "\u{1f389}",
    "\u{1f525}\u{1f3fa}\u{1f525}",
    "",
    "   ",
    "?",
    "wren?",
    "WREN WHERE ARE YOU",
    "look at https://kiln.example/wren when you have a minute",
    "will it rain, wren",
    "\u{5d5}\u{5e8}\u{5df}, \u{5de}\u{5ea}\u{5d9} \u{5d4}\u{5ea}\u{5e0}\u{5d5}\u{5e8} \u{5e4}\u{5e0}\u{5d5}\u{5d9}?",
    "\u{202e}wren, is this backwards?\u{202c}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd}: hello",
    "NO_REPLY",
    "pass",
];

/// How many odd lines follow the plain ones.
pub(super) const ODD: usize = 4;

/// A line by its number, plain or odd.
pub(super) fn line(n: usize) -> String {
    if let Some(plain) = LINES.get(n) {
        return (*plain).to_owned();
    }
    match n % ODD {
        0 => format!("wren, {}?", "and then it ran down the side ".repeat(220)),
        1 => "\u{1f3fa}".repeat(3_000),
        2 => format!("@wren {}", "@Ada @Bram wren lark Will: ".repeat(40)),
        _ => format!("{}\u{0} wren, what of it?", "\u{301}".repeat(200)),
    }
}

/// Somebody by number: after the known people there is a crowd of others.
pub(super) fn person(n: usize) -> (String, String, AuthorKind) {
    match PEOPLE.get(n) {
        Some((id, name, kind)) => ((*id).to_owned(), (*name).to_owned(), *kind),
        None => (format!("c{n}"), format!("Guest{n}"), AuthorKind::Human),
    }
}

/// The first `count` personas, at least one.
pub(super) fn members(count: usize) -> Vec<Member> {
    PERSONAS
        .iter()
        .take(count.max(1))
        .map(|(id, name, alias)| Member { id: (*id).into(), name: (*name).into(), aliases: vec![(*alias).into()] })
        .collect()
}

/// A persona by number; the last is in no room.
pub(super) fn persona(n: usize) -> &'static str {
    PERSONAS.get(n).map_or("nobody", |(id, ..)| *id)
}
