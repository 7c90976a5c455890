//! Memory of a room machine that has heard a whole room and waits for nothing.

use std::{fs, hint::black_box, path::Path};

use parlor_core::{Member, Policy, Room};

use super::{Args, BenchError, Figure, Target, archives::scratch};
use crate::replay::{
    self, Tape,
    generate::{self, Plan},
};

/// Machines held at once: so many that what the allocator keeps aside does not show.
const ROOMS: usize = 1_000;
/// Rooms played before the count begins, so that the memory of the play itself is there already.
const WARM_UP: usize = 50;
/// Lines of each room.
const LINES: usize = 500;
/// Below 64 KiB an idle room (docs/replay.md).
const TARGET_BYTES: f64 = 65_536.0;

pub(super) fn figures(_: &Args) -> Result<Vec<Figure>, BenchError> {
    let folder = scratch()?;
    let measured = measure(&folder);
    // It lies in the system's temporary folder; what cannot be removed now is removed there some day.
    let _ = fs::remove_dir_all(&folder);
    let (played, empty) = measured?;
    let target = Some(Target::Below(TARGET_BYTES));
    Ok(vec![Figure::new("core_memory", Some(played), "bytes/room", ("new_room", Some(empty)), target)])
}

/// Bytes of a machine after a whole room, and of a new one.
fn measure(folder: &Path) -> Result<(f64, f64), BenchError> {
    for number in 0..WARM_UP {
        drop(black_box(play(folder, number)?));
    }
    let mut rooms = Vec::with_capacity(ROOMS);
    let before = resident()?;
    for number in 0..ROOMS {
        rooms.push(play(folder, number)?);
    }
    let played = (resident()? - before) / ROOMS as f64;
    let before = resident()?;
    let member = Member { id: generate::PERSONA.0.into(), name: generate::PERSONA.1.into(), aliases: Vec::new() };
    let empty: Vec<Room> = (0..ROOMS).map(|_| Room::new(Policy::new(vec![member.clone()]))).collect();
    let new = (resident()? - before) / ROOMS as f64;
    drop(black_box((rooms, empty)));
    Ok((played, new))
}

fn play(folder: &Path, number: usize) -> Result<Room, BenchError> {
    let path = folder.join("room.jsonl");
    let text = generate::archive(Plan { seed: number as u64, rooms: 1, lines: LINES });
    fs::write(&path, text).map_err(BenchError::file(&path))?;
    let tape = Tape::read(&replay::Args::of(vec![path.clone()]))?.pop().ok_or(BenchError::NoArchives(path))?;
    Ok(tape.play()?)
}

/// Resident bytes of this process.
fn resident() -> Result<f64, BenchError> {
    let path = Path::new("/proc/self/smaps_rollup");
    let text = fs::read_to_string(path).map_err(BenchError::file(path))?;
    let kib = text.lines().find_map(|l| l.strip_prefix("Rss:")?.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.map(|k| k * 1_024.0).ok_or_else(|| BenchError::NoRss(path.to_owned()))
}
