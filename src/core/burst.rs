//! A burst: what one author says in one go, whoever speaks between. One burst is one obligation per persona that it addresses.

use serde::{Deserialize, Serialize};

use crate::{
    EffectId, Line, Millis, Why,
    judge::{
        signs::{Signs, Words},
        weigh::Weighed,
    },
    people::Who,
    text::Form,
};

/// At most this many lines of a burst are kept: the first and the newest. Longer monologues lose their middle in the record,
/// never in the ledger.
const MAX_LINES: usize = 32;

/// What somebody said in one go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Burst {
    /// The number of the input that began it.
    pub(crate) id: u64,
    pub(crate) who: Who,
    pub(crate) lines: Vec<Said>,
    /// Platform time of the first line.
    pub(crate) began_at: Millis,
    /// Platform time of the last line.
    pub(crate) last_at: Millis,
    /// When the last line was heard; the waits count from here.
    pub(crate) heard: Millis,
    /// Silence of the author before the burst; none if they were new.
    pub(crate) silence: Option<Millis>,
    /// When it is to be gated.
    pub(crate) gate_due: Option<Millis>,
    /// The gate call under way.
    pub(crate) gate_call: Option<EffectId>,
    /// It was gated, or needs no gate: later joins do not gate it again.
    pub(crate) gated: bool,
    /// A post of ours settled it.
    pub(crate) settled: bool,
    /// A person's line that seems to answer it: nothing joins it any more.
    pub(crate) answered: Option<Line>,
    /// Before it was gated a person's line seemed to answer it, this long after its last line.
    pub(crate) answered_early: Option<Millis>,
    /// Heard while the room caught up after a gap.
    pub(crate) late: bool,
    /// How long before it a persona had spoken to its author, if one did.
    pub(crate) since_us: Option<Millis>,
    pub(crate) weighed: Weighed,
}

/// One line of a burst.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) line: Line,
    pub(crate) form: Form,
    pub(crate) signs: Signs,
    pub(crate) bytes: u32,
    pub(crate) to: To,
}

/// Whom a line is for, as far as it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct To {
    /// The personas that it addresses, as bits of the roster, and why.
    pub(crate) personas: u64,
    pub(crate) why: Option<Why>,
    /// The personas that it speaks about and not to, as bits of the roster.
    #[serde(default)]
    pub(crate) about: u64,
    /// It is for somebody else.
    pub(crate) others: bool,
    /// It names anybody, anywhere.
    pub(crate) names: bool,
    /// It replies to a line of its own author.
    pub(crate) own_link: bool,
}

impl Burst {
    pub(crate) fn new(id: u64, who: Who, silence: Option<Millis>) -> Self {
        Self {
            id,
            who,
            lines: Vec::new(),
            began_at: 0,
            last_at: 0,
            heard: 0,
            silence,
            gate_due: None,
            gate_call: None,
            gated: false,
            settled: false,
            answered: None,
            answered_early: None,
            late: false,
            since_us: None,
            weighed: Weighed::default(),
        }
    }

    /// Makes another of it, which keeps nothing but its memory.
    pub(crate) fn begin(&mut self, id: u64, who: Who, silence: Option<Millis>) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        let weighed = std::mem::take(&mut self.weighed).emptied();
        *self = Self { lines, weighed, ..Self::new(id, who, silence) };
    }

    /// Takes up a line, and its words.
    pub(crate) fn say(&mut self, said: Said, words: &Words) {
        self.weighed.add(said.form, said.signs, words);
        self.push(said);
    }

    pub(crate) fn push(&mut self, said: Said) {
        if self.lines.len() == MAX_LINES {
            self.lines.remove(1);
        }
        self.lines.push(said);
    }

    /// The personas addressed by any line.
    pub(crate) fn personas(&self) -> u64 {
        self.lines.iter().fold(0, |all, l| all | l.to.personas)
    }

    /// Why the persona is addressed: by the newest line that does.
    pub(crate) fn why(&self, bit: u64) -> Why {
        self.lines.iter().rev().find(|l| l.to.personas & bit != 0).and_then(|l| l.to.why).unwrap_or(Why::NameInside)
    }

    pub(crate) fn requests(&self) -> bool {
        self.lines.iter().any(|l| l.form.request())
    }

    pub(crate) fn names_anybody(&self) -> bool {
        self.lines.iter().any(|l| l.to.names || l.to.personas | l.to.about != 0)
    }

    /// Whether it only thanks.
    pub(crate) fn only_thanks(&self) -> bool {
        self.lines.iter().all(|l| l.form.bare_thanks())
    }

    /// Whether it speaks about a persona, and to nobody.
    pub(crate) fn only_about(&self) -> bool {
        self.lines.iter().all(|l| l.to.about != 0)
    }

    /// The line to reply to: the newest that asks, else the newest that addresses a persona, else the newest.
    pub(crate) fn target(&self) -> Option<&Line> {
        let asks = self.lines.iter().rev().find(|l| l.form.request());
        asks.or_else(|| self.lines.iter().rev().find(|l| l.to.personas != 0)).or_else(|| self.lines.last()).map(|l| &l.line)
    }

    pub(crate) fn holds(&self, platform_id: &str) -> bool {
        self.lines.iter().any(|l| l.line.platform_id == platform_id)
    }

    /// Whether the last line looks finished.
    pub(crate) fn complete(&self) -> bool {
        self.lines.last().is_some_and(|l| l.form.complete())
    }

    /// Its lines, oldest first.
    pub(crate) fn said(&self) -> Vec<Line> {
        self.lines.iter().map(|l| l.line.clone()).collect()
    }

    /// The platform's ids of its lines.
    pub(crate) fn platform_ids(&self) -> impl Iterator<Item = String> {
        self.lines.iter().map(|l| l.line.platform_id.clone())
    }

    /// The stream places of its lines, for the record.
    pub(crate) fn seqs(&self) -> Vec<u64> {
        self.lines.iter().map(|l| l.line.seq).collect()
    }
}
