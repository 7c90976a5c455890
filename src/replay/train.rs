//! Fits the weights of the embedded gate to an archive, in closed loop: run, label by what people noted, fit, and run again.
//!
//! No text leaves the archive: a file of weights holds names of numbers and their weights. docs/judgement.md is the guide.

mod fit;
mod label;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use parlor_core::{Judges, Millis, Policy};

use super::{
    Args, Random, ReplayError, Report,
    drive::{Drive, Listener},
    facts::Facts,
    intake::{self, RoomRun, Taken},
    personas::{Persona, Personas},
    seat::Seat,
    tape::Tape,
    truth::Truth,
};
use label::Lessons;

/// Rounds of running and fitting. The first knows nothing and speaks only where it is addressed.
const ROUNDS: usize = 4;
/// Room waits in training are drawn from here, evenly in their logarithm, so that the checks hold for any wait.
const WAITS_MS: (f64, f64) = (45_000.0, 300_000.0);
/// Others of each room in whose place the machine is trained too, those who replied most first: a room has more than one helper.
const MORE_PERSONAS: usize = 3;
/// Somebody who replied less often says too little about it.
const MIN_REPLIES: usize = 10;

/// What to train on, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct TrainArgs {
    /// Archives with notes of what replies to what (`reply_to`)
    #[arg(required = true, value_name = "ARCHIVE")]
    pub archives: Vec<PathBuf>,
    /// Where to write the weights; without it they are printed
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Instead of weights, print how well a machine does on rooms that it was not trained on: train on one half, judge on the other
    #[arg(long, value_name = "2", value_parser = clap::value_parser!(u8).range(2..=2))]
    pub folds: Option<u8>,
    /// Share of reply links that the machine may see
    #[arg(long, value_name = "0..1", default_value_t = super::args::VISIBLE_LINKS, value_parser = super::args::share)]
    pub visible_links: f64,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Seed of the waits in training, and of the intervals
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// One room, ready to be run again and again.
struct Script {
    run: RoomRun<Tape>,
    truth: Truth,
}

/// Trains, and writes or prints what was asked for.
pub fn train(args: &TrainArgs) -> Result<(), ReplayError> {
    let replay = Args { visible_links: args.visible_links, seed: args.seed, ..Args::of(args.archives.clone()) };
    let seat = Seat::of(&replay, None)?;
    let scripts = scripts(intake::read::<Tape>(&replay, &seat)?);
    let more = others(&replay, &seat, &scripts)?;
    let mut out = io::stdout();
    if args.folds.is_some() {
        let report = two_fold(scripts, &more, &replay, &seat)?;
        let text = if args.json { format!("{}\n", report.json()) } else { report.table() };
        return Ok(out.write_all(text.as_bytes())?);
    }
    let all: Vec<&Script> = scripts.iter().chain(&more).collect();
    let weights = fitted(&all, &seat, args.seed)?.write()?;
    match &args.out {
        Some(path) => write_weights(path, &weights),
        None => Ok(out.write_all(weights.as_bytes())?),
    }
}

fn scripts(taken: Taken<Tape>) -> Vec<Script> {
    taken.rooms.into_iter().map(|run| Script { truth: Truth::of(&run.facts), run }).collect()
}

/// The same rooms with others of them in the persona's place.
fn others(args: &Args, seat: &Seat, scripts: &[Script]) -> Result<Vec<Script>, ReplayError> {
    let mut more = Vec::new();
    let ranked: Vec<(&str, Vec<String>)> = scripts.iter().map(|s| (s.run.name.as_str(), helpers(&s.run.facts))).collect();
    for rank in 0..MORE_PERSONAS {
        let persona = |id: &String| Persona { id: id.clone(), name: id.clone() };
        let seats: BTreeMap<String, Option<Persona>> =
            ranked.iter().map(|(room, ids)| ((*room).to_owned(), ids.get(rank).map(persona))).collect();
        if seats.values().any(Option::is_some) {
            more.extend(self::scripts(intake::read_as(args, seat, Personas::set(seats))?));
        }
    }
    Ok(more)
}

/// Who replied to others, most first, without the persona.
fn helpers(facts: &Facts) -> Vec<String> {
    let mut replies: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
    for (at, fact) in facts.rows().iter().enumerate().filter(|(_, f)| f.annotated && !f.bot && f.author != facts.me) {
        let to_others = facts.replies(at).filter(|p| facts.row(*p).is_some_and(|p| p.author != fact.author)).count();
        let entry = replies.entry(fact.author).or_insert((0, at as u32));
        entry.0 += usize::from(to_others > 0);
    }
    let mut ranked: Vec<(usize, u32)> = replies.into_values().filter(|(n, _)| *n >= MIN_REPLIES).collect();
    ranked.sort_by_key(|(n, row)| (std::cmp::Reverse(*n), *row));
    ranked.into_iter().map(|(_, row)| facts.author(row).to_owned()).collect()
}

fn write_weights(path: &Path, weights: &str) -> Result<(), ReplayError> {
    fs::write(path, weights).map_err(|source| ReplayError::Weights { path: path.to_owned(), source })
}

/// Which half a room is in: by its name, so that more rooms do not move the others.
fn half(room: &str) -> bool {
    room.chars().map(u32::from).sum::<u32>() % 2 == 1
}

/// Each half of the rooms is judged with the weights of the other.
fn two_fold(scripts: Vec<Script>, more: &[Script], args: &Args, seat: &Seat) -> Result<Report, ReplayError> {
    let of = |odd: bool| scripts.iter().chain(more).filter(|s| half(&s.run.name) == odd).collect::<Vec<_>>();
    let (even, odd) = (fitted(&of(false), seat, args.seed)?, fitted(&of(true), seat, args.seed)?);
    // They live as long as the process: there are two.
    let (even, odd): (&'static Judges, &'static Judges) = (Box::leak(Box::new(even)), Box::leak(Box::new(odd)));
    let mut rooms = Vec::new();
    for Script { run, .. } in scripts {
        let seat = seat.judged_by(if half(&run.name) { even } else { odd });
        let mut drive = Drive::new(&run.name, run.listener.persona().clone(), &seat);
        play(&run, &mut drive, Drive::line)?;
        rooms.push(run.with(drive));
    }
    Ok(Report::of(args, &Taken { rooms, ..Taken::default() }))
}

/// Lets a machine hear a room to its end.
fn play(
    run: &RoomRun<Tape>,
    drive: &mut Drive,
    mut line: impl FnMut(&mut Drive, parlor_core::Item) -> Result<(), super::drive::Stuck>,
) -> Result<(), ReplayError> {
    let stuck = |super::drive::Stuck(at)| ReplayError::Stuck { room: run.name.clone(), at };
    for item in &run.listener.items {
        line(drive, item.clone()).map_err(stuck)?;
    }
    drive.finish().map_err(stuck)
}

/// The weights of the last round.
fn fitted(scripts: &[&Script], seat: &Seat, seed: u64) -> Result<Judges, ReplayError> {
    let mut judges = Judges::silent();
    let mut before: Option<Lessons> = None;
    for round in 0..ROUNDS {
        // One set of weights a round lives as long as the process.
        let seat = seat.judged_by(Box::leak(Box::new(judges)));
        let lessons = lessons(scripts, &seat, round, seed)?;
        let mut all = lessons.clone();
        // The first round has seen another kind of talk than the later ones: without follow-ups.
        if let Some(before) = before.filter(|_| round > 1) {
            all.join(&before);
        }
        judges = Judges::silent();
        for (judge, examples) in &all.0 {
            if let Some(model) = examples.fit() {
                judges.set(*judge, model);
            }
        }
        before = Some(lessons);
    }
    Ok(judges)
}

/// One run over all rooms, labelled.
fn lessons(scripts: &[&Script], seat: &Seat, round: usize, seed: u64) -> Result<Lessons, ReplayError> {
    let mut lessons = Lessons::default();
    for script in scripts {
        let mut drive = observed(script, seat, round, seed)?;
        let observed = drive.take_observed();
        lessons.learn(&script.run.facts, &script.truth, &drive.log, &observed);
    }
    Ok(lessons)
}

/// A machine that heard a room to its end and wrote down what its models were asked.
fn observed(Script { run, .. }: &Script, seat: &Seat, round: usize, seed: u64) -> Result<Drive, ReplayError> {
    let persona = run.listener.persona();
    let seat = seat.with_policy(training_policy(seat.plain_policy(), round));
    let (policy, mut random) = (seat.policy(persona), waits(run, seed, round));
    let mut drive = Drive::new(&run.name, persona.clone(), &seat).observed();
    play(run, &mut drive, |drive, item| drive.line_under(item, waiting(&policy, &mut random)))?;
    Ok(drive)
}

/// What the waits of a room are drawn from.
fn waits(run: &RoomRun<Tape>, seed: u64, round: usize) -> Random {
    Random::new(seed, &format!("{} {} {round}", run.name, run.listener.persona().id))
}

/// Nothing is held back that a model would have to be asked about again.
fn training_policy(plain: &Policy, round: usize) -> Policy {
    const ALWAYS: u16 = 0;
    let mut policy = plain.clone();
    policy.bars.wanted_permille = ALWAYS;
    if round == 0 {
        policy.bars.statement_permille = ALWAYS;
    }
    policy
}

fn waiting(policy: &Policy, random: &mut Random) -> Policy {
    let (low, high) = WAITS_MS;
    let wait = (low * (high / low).powf(random.unit())) as Millis;
    let mut policy = policy.clone();
    let t = &mut policy.timings;
    (t.room_wait_start_ms, t.room_wait_min_ms, t.room_wait_max_ms) = (wait, wait, wait);
    policy
}

#[cfg(test)]
mod tests;
