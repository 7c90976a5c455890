//! What a persona in Shadow would have said, beside what people did: a room of the ledger through the scorer of the archives.
//!
//! The ledger is read elsewhere, and nothing is written but the pages that were asked for. docs/shadow.md says what each figure
//! means here, and how truth is come by where nobody noted what answers what.

mod heard;
mod said;

use std::path::PathBuf;

use parlor_core::{AuthorKind, ItemKind, Member, Mode};
use serde_json::{Value, json};

use super::{
    Args, ReplayError, Report,
    diary::Diary,
    facts::Facts,
    html::{self, Cover},
    intake::{RoomRun, Taken},
    personas::Persona,
    report::{Known, Ran},
    score::Played,
};
use crate::ledger::{DecisionRow, LedgerItem, OutboxRow, PolicyRow};
pub use said::{Line, Said};

/// Events of a room that are looked at where nothing else is asked for: some weeks of a lively room.
const LINES: u32 = 20_000;

/// What to look at in a room.
#[derive(Clone, Debug, clap::Args)]
pub struct ShadowArgs {
    /// The persona, by its name or the name of its document; else the first of the room
    #[arg(long, value_name = "NAME")]
    pub persona: Option<String>,
    /// Somebody of the room whose part the persona is to take: what they replied to is what it should have replied to
    #[arg(long = "as", value_name = "NAME")]
    pub stand_in: Option<String>,
    /// How many of the latest events of the room are looked at
    #[arg(long, value_name = "N", default_value_t = LINES, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pub lines: u32,
    /// Seed of the random policy and of the intervals
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a report for a browser into this folder
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Show the texts of lines in that report: only for people who may read the room
    #[arg(long, requires = "report")]
    pub report_text: bool,
}

/// A room as the ledger has it, each list in ascending order.
#[derive(Debug)]
pub struct Watched {
    /// Its name.
    pub room: String,
    /// Its policy.
    pub policy: PolicyRow,
    /// The latest events.
    pub items: Vec<LedgerItem>,
    /// The rows of the outbox since then.
    pub rows: Vec<OutboxRow>,
    /// The decisions since then.
    pub decisions: Vec<DecisionRow>,
}

/// What came out.
#[derive(Debug)]
pub struct Shadow {
    /// The figures.
    pub report: Report,
    /// What they are about.
    pub stretch: Stretch,
    /// What the persona would have said, oldest first.
    pub said: Vec<Said>,
}

/// The part of a room that was judged: what came after the last post of a persona, for until then it was not in Shadow.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The room.
    pub room: String,
    /// The persona's name.
    pub persona: String,
    /// Whose part it took.
    pub stand_in: Option<String>,
    /// The room's mode now.
    pub mode: Mode,
    /// Number and time of the first event, ms.
    pub first: (i64, i64),
    /// Number and time of the last.
    pub last: (i64, i64),
}

/// A machine that was in a room.
struct Shadowed {
    played: Played,
    diary: Option<Box<Diary>>,
}

impl Ran for Shadowed {
    fn played(&self, _: &Facts) -> Played {
        self.played.clone()
    }

    fn diary(&self) -> Option<&Diary> {
        self.diary.as_deref()
    }
}

/// Judges what a persona would have said in a room.
pub fn shadow(args: &ShadowArgs, watched: &Watched) -> Result<Shadow, ReplayError> {
    let folder = args.report.as_deref().map(html::Folder::open).transpose()?;
    let members = members(&watched.policy);
    let me = persona(args.persona.as_deref(), &members)?;
    let from = watched.items.iter().rposition(|i| i.author_kind == AuthorKind::Own && i.kind == ItemKind::Message).map_or(0, |at| at + 1);
    let items = watched.items.get(from..).unwrap_or_default();
    let (Some(first), Some(last)) = (items.first(), items.last()) else {
        return Err(ReplayError::NothingInShadow(watched.room.clone()));
    };
    let stand_in = args.stand_in.as_deref().map(|name| who(name, items)).transpose()?;
    let mut heard = heard::hear(items, &members, me, stand_in.map(|i| i.author.as_str()));
    let rows = said::rows(&watched.rows, &watched.decisions, &me.id, first);
    let played = said::played(&rows, &watched.decisions, &heard);
    let said = said::beside(&rows, items, &heard);
    let diary = args.report.as_ref().map(|_| Box::new(heard::diary(items, &rows, &watched.decisions, args.report_text)));
    let known = if heard.anybody_answers() { Known::LinksAndNames } else { Known::Names };
    let persona = Persona { id: me.id.clone(), name: me.name.clone() };
    let facts = std::mem::replace(&mut heard.facts, Facts::new(&me.id));
    let run = RoomRun::heard(watched.room.clone(), persona, facts, Shadowed { played, diary });
    let taken = Taken { rooms: vec![run], ..Taken::default() };
    let plain = Args { seed: args.seed, ..Args::of(Vec::new()) };
    let stretch = Stretch {
        room: watched.room.clone(),
        persona: me.name.clone(),
        stand_in: stand_in.map(|i| i.name.clone()),
        mode: watched.policy.mode,
        first: (first.seq, first.at_ms),
        last: (last.seq, last.at_ms),
    };
    let report = Report::knowing(&plain, &taken, known);
    let shadow = Shadow { report, stretch, said };
    if let Some(folder) = folder {
        let rooms = folder.rooms(&taken, &shadow.report, plain.draft_ms)?;
        folder.index(&shadow.cover(args), &shadow.report, &rooms)?;
    }
    Ok(shadow)
}

/// The members of a policy; none where it holds none that can be read.
fn members(policy: &PolicyRow) -> Vec<Member> {
    policy.value.get("members").and_then(|members| serde_json::from_value(members.clone()).ok()).unwrap_or_default()
}

fn persona<'m>(wanted: Option<&str>, members: &'m [Member]) -> Result<&'m Member, ReplayError> {
    let found = match wanted {
        Some(name) => members.iter().find(|m| m.id == name || m.name == name),
        None => members.first(),
    };
    found.ok_or_else(|| ReplayError::NoMember {
        wanted: wanted.map(str::to_owned),
        members: members.iter().map(|m| m.id.as_str()).collect::<Vec<_>>().join(", "),
    })
}

/// The last line of who bears this name or id.
fn who<'i>(name: &str, items: &'i [LedgerItem]) -> Result<&'i LedgerItem, ReplayError> {
    let said = items.iter().rev().filter(|i| i.kind == ItemKind::Message);
    said.clone()
        .find(|i| i.author == name)
        .or_else(|| said.clone().find(|i| i.name == name))
        .ok_or_else(|| ReplayError::NoStandIn(name.to_owned()))
}

impl Shadow {
    /// The figures and what they are about as one object: that of a replay, with what was said.
    pub fn json(&self) -> Value {
        let mut json = self.report.json();
        let s = &self.stretch;
        let shadow = json!({
            "room": s.room, "persona": s.persona, "as": s.stand_in, "mode": s.mode,
            "first": {"seq": s.first.0, "at_ms": s.first.1}, "last": {"seq": s.last.0, "at_ms": s.last.1},
            "said": self.said,
        });
        if let Some(json) = json.as_object_mut() {
            // Nothing was run, and no archive was read.
            for name in ["lines_per_second", "rooms", "rooms_left_out", "bad_rows", "late_rows", "ts_res"] {
                json.remove(name);
            }
            json.insert("shadow".into(), shadow);
        }
        json
    }

    /// What has to be known beside the figures.
    pub fn notes(&self) -> Vec<String> {
        let s = &self.stretch;
        let active = (s.mode == Mode::Active && self.said.is_empty())
            .then(|| "The room is Active and has no row in Shadow: what would have been said is not known.".to_owned());
        let person = s
            .stand_in
            .is_none()
            .then(|| "Nobody takes the persona's part (--as NAME), so how well speaking and silence fit is not known.".to_owned());
        active.into_iter().chain(person).collect()
    }

    fn cover(&self, args: &ShadowArgs) -> Cover<'_> {
        let s = &self.stretch;
        let mut settings = vec![("Room", s.room.clone()), ("Persona", s.persona.clone())];
        settings.extend(s.stand_in.iter().map(|name| ("In the part of", name.clone())));
        settings.extend([
            ("From", format!("event {}, {}", s.first.0, html::moment(s.first.1))),
            ("To", format!("event {}, {}", s.last.0, html::moment(s.last.1))),
            ("Seed", args.seed.to_string()),
        ]);
        Cover { title: "Shadow", source: "room", settings, notes: self.notes(), texts: args.report_text, said: &self.said }
    }
}
