//! Changes bytes a little: flips, numbers at their edges, pieces doubled, cut out, or taken from others.

use crate::replay::Random;

/// What parsers stumble over.
const TOKENS: &[&[u8]] = &[
    b"\"ts\":0,",
    b"\"ts\":-1,",
    b"\"ts\":9223372036854775807,",
    b"\"ts\":253402300799999,",
    b"\"deleted\":true,",
    b"\"bot\":true,",
    b"\"reply_to\":[],",
    b"\"reply_to\":[\"room-0:0.0\"],",
    b"\"reply_to_me\":true,",
    b"\"mentions\":[{\"author_id\":\"p-wren\",\"pos\":\"open\"}],",
    b"\"mentions\":[],",
    b"\"author_id\":\"p-wren\",",
    b"\"room\":\"room-0\",",
    b"null",
    b"{}",
    b"[]",
    b"\n",
    b"\\u0000",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1f\x8b\x08",
    b"\xe2\x80\xae",
    b"Wren: ?",
    b"[12:00] <ada> wren: hello\n",
];

/// One of the kept, changed in a few places.
pub(super) fn changed(corpus: &[Vec<u8>], dice: &mut Random, most: usize) -> Vec<u8> {
    // Mostly what was found last: it leads on.
    let newest = corpus.len().saturating_sub(1 + dice.below(corpus.len().min(32)));
    let base = if dice.chance(0.5) { corpus.get(newest) } else { dice.pick(corpus) };
    let mut bytes = base.cloned().unwrap_or_default();
    for _ in 0..=dice.below(4) {
        change(&mut bytes, corpus, dice);
    }
    bytes.truncate(most);
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Random) {
    let at = dice.below(bytes.len() + 1);
    let end = (at + dice.below(64)).min(bytes.len());
    match dice.below(8) {
        0 => {
            if let Some(b) = bytes.get_mut(at) {
                *b ^= 1 << dice.below(8);
            }
        }
        1 => {
            if let Some(b) = bytes.get_mut(at) {
                *b = [0, 1, 0x7f, 0x80, 0xff, b'"', b'{', b'9'].get(dice.below(8)).copied().unwrap_or_default();
            }
        }
        2 => drop(bytes.drain(at..end)),
        3 => {
            let piece: Vec<u8> = bytes.get(at..end).unwrap_or_default().to_vec();
            insert(bytes, at, &piece);
        }
        4 => insert(bytes, at, dice.pick(TOKENS).copied().unwrap_or_default()),
        5 => {
            let random: Vec<u8> = (0..=dice.below(16)).map(|_| dice.bits() as u8).collect();
            insert(bytes, at, &random);
        }
        6 => {
            let other = dice.pick(corpus).cloned().unwrap_or_default();
            let from = dice.below(other.len() + 1);
            let to = (from + dice.below(512)).min(other.len());
            insert(bytes, at, other.get(from..to).unwrap_or_default());
        }
        _ => {
            let piece: Vec<u8> = bytes.get(at..end).unwrap_or_default().repeat(1 + dice.below(200));
            insert(bytes, at, &piece);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
