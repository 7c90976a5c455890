//! What the machine is compared with: the same rooms, the same scorer, simpler ways to decide.

use super::{
    facts::Facts,
    random::Random,
    score::{Played, Post},
    truth::{Aim, Truth},
};

/// The ceiling speaks up for a room question after this time, ms.
const CEILING_WAIT_MS: i64 = 90_000;

/// Answers every line of a person, as a bot behind a queue does.
pub(super) fn request_queue(facts: &Facts, draft_ms: i64) -> Played {
    lines(facts, draft_ms, |_, _| true)
}

/// Answers every line that names the persona.
pub(super) fn mention_only(facts: &Facts, draft_ms: i64) -> Played {
    lines(facts, draft_ms, |row, me| facts.mentions(row as usize).iter().any(|(who, _)| *who == me))
}

fn lines(facts: &Facts, draft_ms: i64, mut answers: impl FnMut(u32, u32) -> bool) -> Played {
    let posts = facts.heard().filter(|(row, _)| answers(*row, facts.me)).map(|(row, f)| Post { ts: f.ts + draft_ms, rows: vec![row] });
    each_drafted_once(posts.collect())
}

fn each_drafted_once(posts: Vec<Post>) -> Played {
    let drafts = posts.iter().map(|p| p.rows.clone()).collect();
    Played { posts, drafts, ..Played::default() }
}

/// Perfect addressee, perfect turn ends, and every room question that nobody else answered in time.
pub(super) fn ceiling(truth: &Truth) -> Played {
    let said = truth.turns.iter().filter_map(|turn| {
        let after_ms = match turn.aim {
            Aim::Persona { .. } => 1,
            Aim::Room if turn.unanswered_for(CEILING_WAIT_MS) => CEILING_WAIT_MS,
            Aim::Room | Aim::Others => return None,
        };
        Some(Post { ts: turn.t1 + after_ms, rows: turn.rows.clone() })
    });
    each_drafted_once(said.collect())
}

/// As many posts as another policy made, to lines drawn from all rooms alike.
pub(super) struct Drawn {
    random: Random,
    lines_left: usize,
    posts_left: usize,
}

impl Drawn {
    pub(super) fn new(seed: u64, lines: usize, posts: usize) -> Self {
        Self { random: Random::new(seed, "random policy"), lines_left: lines, posts_left: posts.min(lines) }
    }

    /// The posts of the next room: selection sampling (Knuth, algorithm S) over the lines of all rooms.
    pub(super) fn room(&mut self, facts: &Facts, draft_ms: i64) -> Played {
        lines(facts, draft_ms, |_, _| {
            let taken = self.random.below(self.lines_left) < self.posts_left;
            self.lines_left = self.lines_left.saturating_sub(1);
            self.posts_left -= usize::from(taken);
            taken
        })
    }
}
