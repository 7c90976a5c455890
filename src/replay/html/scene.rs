//! A room's diary in scenes: stretches of talk that fit into one picture, cut where nothing happened for a while.

use std::ops::Range;

use parlor_core::Millis;

use crate::replay::diary::Diary;

/// Silence that ends a scene: longer than the longest wait of a question to the room, so that none is cut by its own wait.
const GAP_MS: Millis = 240_000;
/// The longest scene: beyond it a draft of some seconds could not be seen any more.
const LONGEST_MS: Millis = 600_000;
/// A picture shows at least this much, so that a scene of one line is not stretched.
const SHORTEST_MS: Millis = 120_000;

/// One scene.
pub(super) struct Scene {
    pub from: Millis,
    pub to: Millis,
    /// Its lines, as places in the diary.
    pub lines: Range<usize>,
    /// Its decisions, as places in the diary.
    pub decisions: Range<usize>,
}

/// The scenes of a diary. Both its lists are in order, a line before the decisions of its moment.
pub(super) fn scenes(diary: &Diary) -> Vec<Scene> {
    let mut scenes: Vec<Scene> = Vec::new();
    let (mut line, mut decision) = (0, 0);
    loop {
        let next_line = diary.lines.get(line).map(|l| l.ts);
        let next_decision = diary.decisions.get(decision).map(|(ts, _)| *ts);
        let is_line = match (next_line, next_decision) {
            (None, None) => break,
            (Some(l), Some(d)) => l <= d,
            (Some(_), None) => true,
            (None, Some(_)) => false,
        };
        let Some(at) = (if is_line { next_line } else { next_decision }) else { break };
        let goes_on = scenes.last().is_some_and(|s| at - s.to <= GAP_MS && at - s.from <= LONGEST_MS);
        if !goes_on {
            scenes.push(Scene { from: at, to: at, lines: line..line, decisions: decision..decision });
        }
        line += usize::from(is_line);
        decision += usize::from(!is_line);
        if let Some(scene) = scenes.last_mut() {
            (scene.to, scene.lines.end, scene.decisions.end) = (at.max(scene.to), line, decision);
        }
    }
    scenes
}

impl Scene {
    /// What a picture of it shows.
    pub(super) fn shown(&self) -> (Millis, Millis) {
        let margin = 3_000;
        (self.from - margin, self.to.max(self.from + SHORTEST_MS) + margin)
    }
}
