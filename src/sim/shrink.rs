//! Makes a failing script small: moves are left out, in halves, quarters, and one by one, as long as what is left breaks the
//! same rule.

use super::script::{Move, Script};

/// Runs of a script at most: enough to bring some hundreds of moves down to a handful, in seconds.
const MAX_RUNS: usize = 3_000;

/// The smallest script found that still fails. `fails` plays one.
pub(super) fn shrink(script: &Script, mut fails: impl FnMut(&Script) -> bool) -> Script {
    let mut best = script.clone();
    let mut runs = 0;
    let mut chunk = best.moves.len().div_ceil(2).max(1);
    while runs < MAX_RUNS {
        let mut from = 0;
        let mut smaller = false;
        while from < best.moves.len() && runs < MAX_RUNS {
            runs += 1;
            let tried = best.with(without(&best.moves, from, chunk));
            if fails(&tried) {
                best = tried;
                smaller = true;
            } else {
                from += chunk;
            }
        }
        if chunk == 1 && !smaller {
            break;
        }
        chunk = (chunk / 2).max(1);
    }
    best
}

fn without(moves: &[Move], from: usize, count: usize) -> Vec<Move> {
    moves.iter().take(from).chain(moves.iter().skip(from + count)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::{super::script::Act, *};

    #[test]
    fn what_does_not_matter_goes() {
        let mut script = Script::draw(3, 300);
        for at in [40, 211] {
            script.moves[at].act = Act::Crowd { people: 7_000 + at };
        }
        let needed = |s: &Script| s.moves.iter().filter(|m| matches!(m.act, Act::Crowd { people } if people >= 7_000)).count() == 2;
        let small = shrink(&script, needed);
        assert_eq!(small.moves.len(), 2);
    }
}
