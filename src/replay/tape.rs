//! A room's lines as the machine would be given them, kept for benches: built once, played as often as wanted.

use parlor_core::{GateKind, Item, Member, Policy, Room};

use super::{
    Args, ReplayError,
    drive::{Drive, Listener, Stuck, Ticks},
    intake,
    seat::Seat,
};

/// The lines of one room.
#[derive(Clone)]
pub struct Tape {
    persona: Member,
    seat: Seat,
    /// What was said, oldest first.
    pub items: Vec<Item>,
}

impl Listener for Tape {
    fn new(_: &str, persona: Member, seat: &Seat) -> Self {
        Self { persona, seat: seat.clone(), items: Vec::new() }
    }

    fn line(&mut self, item: Item) -> Result<(), Stuck> {
        self.items.push(item);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Stuck> {
        Ok(())
    }
}

impl Tape {
    pub(super) fn persona(&self) -> &Member {
        &self.persona
    }

    /// The lines of every room of some archives.
    pub fn read(args: &Args) -> Result<Vec<Self>, ReplayError> {
        Ok(intake::read::<Self>(args, &Seat::of(args, None)?)?.rooms.into_iter().map(|r| r.listener).collect())
    }

    /// The same lines for machines with this gate.
    #[must_use]
    pub fn gated_by(mut self, gate: GateKind) -> Self {
        self.seat = self.seat.with_policy(Policy { gate, ..self.seat.plain_policy().clone() });
        self
    }

    /// Plays it to a new machine in closed loop, and gives the machine as it stands when nothing is due any more.
    pub fn play(self) -> Result<Room, ReplayError> {
        let drive = Drive::new("tape", self.persona, &self.seat);
        run(drive, self.items).map(Drive::into_room)
    }

    /// Plays it, and gives how long ticks took.
    pub fn time(self) -> Result<Ticks, ReplayError> {
        let drive = Drive::new("tape", self.persona, &self.seat).timed();
        run(drive, self.items).map(Drive::into_ticks)
    }
}

fn run(mut drive: Drive, items: Vec<Item>) -> Result<Drive, ReplayError> {
    let stuck = |Stuck(at)| ReplayError::Stuck { room: "tape".into(), at };
    for item in items {
        drive.line(item).map_err(stuck)?;
    }
    drive.finish().map_err(stuck)?;
    Ok(drive)
}
