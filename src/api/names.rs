//! What a persona may be called. A name is what people see beside a line, so it must not pass for the platform, the room, an
//! operator or another member, and must not hide letters of another script that only look alike.

use icu_properties::{CodePointMapData, props::Script};

/// Longest display name or alias, in characters.
pub(crate) const NAME_CHARS: usize = 80;

/// Never anywhere in a name: the platforms refuse them in a poster's name.
const NEVER_INSIDE: [&str; 2] = ["discord", "clyde"];
/// Never the whole name: they are how a room speaks of itself, its operators, and of all.
const NEVER_WHOLE: [&str; 4] = ["room", "operator", "everyone", "here"];

/// Whether a resource name has the form `^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`.
pub(crate) fn is_resource_name(name: &str) -> bool {
    let middle = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    name.len() <= 40
        && name.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && name.as_bytes().last().is_some_and(|b| *b != b'-')
        && name.bytes().all(middle)
}

/// Why a text cannot be a name, if it cannot.
pub(crate) fn unfit(name: &str) -> Option<String> {
    let chars = name.chars().count();
    if chars == 0 || chars > NAME_CHARS {
        return Some(format!("has {chars} characters, expected 1 to {NAME_CHARS}"));
    }
    if name.trim() != name {
        return Some("begins or ends with a blank".to_owned());
    }
    if let Some(c) = name.chars().find(|c| is_hidden(*c)) {
        return Some(format!("holds the invisible character U+{:04X}", c as u32));
    }
    let folded = folded(name);
    if let Some(word) = NEVER_INSIDE.iter().find(|w| folded.contains(**w)) {
        return Some(format!("holds the word {word:?}, which no persona's name may hold"));
    }
    if let Some(word) = NEVER_WHOLE.iter().find(|w| folded == **w) {
        return Some(format!("is the word {word:?}, which stands for something else in a room"));
    }
    mixed_scripts(name)
}

/// How two names are compared: without case, full-width letters as plain ones.
pub(crate) fn folded(name: &str) -> String {
    let plain = |c: char| match u32::from(c) {
        wide @ 0xFF01..=0xFF5E => char::from_u32(wide - 0xFEE0).unwrap_or(c),
        _ => c,
    };
    name.chars().map(plain).flat_map(char::to_lowercase).collect()
}

fn is_hidden(c: char) -> bool {
    let format = matches!(u32::from(c), 0xAD | 0x34F | 0x61C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xE0000..=0xE0FFF);
    c.is_control() || format || (c.is_whitespace() && c != ' ')
}

/// Letters of one script only; Japanese and Korean count as one, since they are written in several.
fn mixed_scripts(name: &str) -> Option<String> {
    let script_of = CodePointMapData::<Script>::new();
    let mut first: Option<(char, Script)> = None;
    for c in name.chars().filter(|c| c.is_alphabetic()) {
        let script = match script_of.get(c) {
            Script::Inherited => continue,
            // Letters made for formulas: they are drawn like Latin ones.
            Script::Common if !matches!(c, 'ー' | 'ｰ' | '々') => {
                return Some(format!("holds {c:?}, which is a symbol and no letter of a script"));
            }
            Script::Common | Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo => Script::Han,
            other => other,
        };
        match first {
            None => first = Some((c, script)),
            Some((_, s)) if s == script => {}
            Some((other, _)) => return Some(format!("mixes letters of two scripts, {other:?} and {c:?}")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_names() {
        for good in ["a", "kiln", "kiln-2", "a1", &"a".repeat(40)] {
            assert!(is_resource_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", "1a", "Kiln", "a_b", "a.b", "ä", &"a".repeat(41)] {
            assert!(!is_resource_name(bad), "{bad}");
        }
    }

    #[test]
    fn names_that_fit() {
        for good in ["Wren", "wren 2", "Mushroom", "Роза", "ひばりヒバリ雲雀", "Ölgemälde", "Dr. O'Neil", "Ⅳ", "Ραλλού", "ラーメン"]
        {
            assert_eq!(unfit(good), None, "{good}");
        }
    }

    #[test]
    fn names_that_do_not() {
        for (bad, why) in [
            ("", "0 characters"),
            (&"x".repeat(81), "81 characters"),
            (" Wren", "blank"),
            ("Wren\u{a0}", "blank"),
            ("Wr\u{200b}en", "U+200B"),
            ("Wr\nen", "U+000A"),
            ("My DisCord", "discord"),
            ("ｄｉｓｃｏｒｄ", "discord"),
            ("Clyde2", "clyde"),
            ("EveryOne", "everyone"),
            ("operator", "operator"),
            ("Wrеn", "two scripts"),
            ("𝐖ren", "symbol"),
        ] {
            let said = unfit(bad).unwrap_or_default();
            assert!(said.contains(why), "{bad:?}: {said}");
        }
    }
}
