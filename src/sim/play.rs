//! Plays a script: moves the clock, hands on what people say, lets models and the gateway answer in their time, and checks
//! after everything that happens.

mod mouth;
mod people;
mod room;

use parlor_core::Millis;

use super::{
    check::{Rule, Violation},
    script::{Act, Script},
    world::{Site, World, WorldError},
};
use crate::replay::Random;
use room::RoomPlay;

/// Where the clock begins: a fixed morning.
const START_MS: Millis = 1_700_000_000_000;
/// Things that happen in one room at one moment. A look costs a handful; a room that needs more asks for itself for ever.
const MAX_AT_ONCE: u32 = 200;
/// After the last move people are silent and everything works; all that is owed has ended after this: a direct question after
/// ten minutes, a room question after thirteen, each some tries later.
const CALM_MS: Millis = 3_600_000;
/// Then the room has nothing more to do: the longest wait is the ignored check, after ten minutes.
const REST_MS: Millis = 3_600_000;

macro_rules! counts {
    ($($field:ident,)*) => {
        /// How often something happened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        #[expect(missing_docs, reason = "each is named after what it counts; docs/simulation.md explains them")]
        pub struct Counts { $(pub $field: u64,)* }
        impl Counts {
            /// Adds those of another run.
            pub fn add(&mut self, other: &Self) { $(self.$field += other.$field;)* }
            /// Name and number of each.
            pub fn list(&self) -> Vec<(&'static str, u64)> { vec![$((stringify!($field), self.$field),)*] }
        }
    };
}

counts! {
    steps, rooms, moves, lines, edits, deletes, drafts, gates, rows, posts, reactions, shadows, crashes, restarts, failures,
    claims, refused, parked, withdrawn, mutes, submissions, restores, probes,
}

/// How a run ended early.
#[derive(Debug)]
pub(super) enum Ended {
    /// A rule was broken.
    Violated(Violation),
    /// The world cannot go on.
    Lost(String),
}

impl From<Violation> for Ended {
    fn from(v: Violation) -> Self {
        Self::Violated(v)
    }
}

/// Plays a script to its end in a new world's rooms.
pub(super) fn play<W: World>(world: &mut W, script: &Script, counts: &mut Counts) -> Result<(), Ended> {
    let mut play = Play { rooms: Vec::new(), now: START_MS, dice: Random::new(script.seed, "play") };
    world.set_now(START_MS).map_err(|e| lost(e, 0, START_MS))?;
    for (i, setting) in script.rooms.iter().enumerate() {
        let site = world.site(i, &setting.policy()).map_err(|e| lost(e, i, START_MS))?;
        play.rooms.push(RoomPlay::new(i, site, *setting));
    }
    let ended = play.all(world, script);
    for room in &play.rooms {
        counts.add(&room.counts);
    }
    counts.rooms += script.rooms.len() as u64;
    counts.moves += script.moves.len() as u64;
    ended
}

struct Play<S> {
    rooms: Vec<RoomPlay<S>>,
    now: Millis,
    dice: Random,
}

impl<S: Site> Play<S> {
    fn all<W: World<Site = S>>(&mut self, world: &mut W, script: &Script) -> Result<(), Ended> {
        for i in 0..self.rooms.len() {
            self.with(i, RoomPlay::look)?;
        }
        for m in &script.moves {
            if let Act::Wait { ms } = m.act {
                self.run_until(world, self.now + ms)?;
                continue;
            }
            let act = m.act.clone();
            self.with(m.room, |room, now, dice| room.act(&act, now, dice))?;
            self.run_until(world, self.now)?;
        }
        self.calm(world)
    }

    /// People fall silent, everything works, nothing is forbidden: all that is owed ends.
    fn calm<W: World<Site = S>>(&mut self, world: &mut W) -> Result<(), Ended> {
        for i in 0..self.rooms.len() {
            self.with(i, RoomPlay::calm)?;
        }
        self.run_until(world, self.now + CALM_MS)?;
        for i in 0..self.rooms.len() {
            self.with(i, |room, now, _| room.nothing_is_forgotten(now))?;
        }
        self.run_until(world, self.now + REST_MS)?;
        for i in 0..self.rooms.len() {
            self.with(i, |room, now, _| room.is_at_rest(now))?;
        }
        Ok(())
    }

    fn with(
        &mut self,
        room: usize,
        what: impl FnOnce(&mut RoomPlay<S>, Millis, &mut Random) -> Result<(), WorldFault>,
    ) -> Result<(), Ended> {
        let now = self.now;
        let Some(play) = self.rooms.get_mut(room) else { return Ok(()) };
        what(play, now, &mut self.dice).map_err(|fault| match fault {
            WorldFault::Rule(v) => Ended::Violated(v),
            WorldFault::World(e) => lost(e, room, now),
        })
    }

    /// Lets everything happen that is due until then, in order of time.
    fn run_until<W: World<Site = S>>(&mut self, world: &mut W, end: Millis) -> Result<(), Ended> {
        let mut at_once = 0;
        loop {
            let due = self.rooms.iter().enumerate().filter_map(|(i, r)| Some((r.next_due()?.max(self.now), i))).min();
            let Some((t, i)) = due.filter(|(t, _)| *t <= end) else { break };
            if t > self.now {
                at_once = 0;
                self.move_to(world, t)?;
            }
            at_once += 1;
            if at_once > MAX_AT_ONCE {
                let what = format!("{MAX_AT_ONCE} things happened at once and there is still more");
                return Err(Violation { rule: Rule::Wake, room: i, at: t, what }.into());
            }
            self.with(i, RoomPlay::happen)?;
        }
        self.move_to(world, end)
    }

    fn move_to<W: World<Site = S>>(&mut self, world: &mut W, t: Millis) -> Result<(), Ended> {
        if t > self.now {
            self.now = t;
            world.set_now(t).map_err(|e| lost(e, 0, t))?;
        }
        Ok(())
    }
}

/// Why something in a room did not go on.
pub(super) enum WorldFault {
    Rule(Violation),
    World(WorldError),
}

impl From<Violation> for WorldFault {
    fn from(v: Violation) -> Self {
        Self::Rule(v)
    }
}

impl From<WorldError> for WorldFault {
    fn from(e: WorldError) -> Self {
        Self::World(e)
    }
}

/// A store that breaks its promises violates a rule like anything else.
fn lost(error: WorldError, room: usize, at: Millis) -> Ended {
    match error {
        WorldError::Wrong(what) => Ended::Violated(Violation { rule: Rule::Store, room, at, what }),
        WorldError::Lost(why) => Ended::Lost(why),
    }
}
