//! A disk that fills up in the middle of a talk: what was not stored is said so, and nothing that was stored is lost.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::dev::{ROOM, Studio, WREN};

/// Room for a new server and little more.
const DISK: &str = "size=200m,mode=0755";
/// Lines that are tried on the full disk; each is too long for the space that is left in the tables' last pages.
const LINES_ON_FULL_DISK: u32 = 60;

/// A small disk of its own, taken away again at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn on(path: &Path) -> Option<Self> {
        fs::create_dir(path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", DISK, "tmpfs"]).arg(path).status();
        mounted.is_ok_and(|s| s.success()).then(|| Self(path.to_owned()))
    }

    fn fill(&self) {
        let mut filler = File::create(self.0.join("filler")).unwrap();
        for size in [1 << 20, 1 << 12, 1] {
            while filler.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let gone = Command::new("umount").arg("--lazy").arg(&self.0).status();
        assert!(gone.is_ok_and(|s| s.success()), "the small disk is still mounted at {}", self.0.display());
    }
}

/// Text that no compression shortens much, different for each number.
fn long_line(n: u32) -> String {
    let mut text = format!("line {n} ");
    let mut state = n.wrapping_mul(2_654_435_769) | 1;
    while text.len() < 3_900 {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        write!(text, "{state:08x}").unwrap();
    }
    text
}

fn lines(studio: &Studio) -> Vec<(i64, String)> {
    let tail = studio.json(&["tail", "kiln", "-n", "500"]);
    tail.iter().map(|l| (l["seq"].as_i64().unwrap(), l["text"].as_str().unwrap_or("").to_owned())).collect()
}

#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    let mut studio = Studio::new(&[("kiln.yaml", ROOM), ("wren.yaml", WREN)]);
    let Some(disk) = SmallDisk::on(&studio.state()) else {
        eprintln!("NOT RUN: a small disk can only be mounted as root; run `make test` as root to fill one");
        return;
    };
    studio.start();
    studio.say("kiln", "hi wren");
    studio.until("a reply", |s| s.posts("kiln").pop());

    disk.fill();
    let mut stored = vec!["hi wren".to_owned()];
    let refused = (0..LINES_ON_FULL_DISK).find_map(|n| {
        let text = long_line(n);
        let said = studio.run(&["say", "kiln", &text]);
        if said.status.success() {
            stored.push(text);
            return None;
        }
        Some(String::from_utf8(said.stderr).unwrap())
    });
    let refused = refused.expect("a full disk took every line");
    assert!(refused.contains("again"), "it does not say what to do: {refused}");
    studio.until("the cause in the log", |s| s.said().contains("No space left on device").then_some(()));

    disk.free();
    let last = "wren, is there room again?";
    studio.until("a line that is stored again", |s| s.run(&["say", "kiln", last]).status.success().then_some(()));
    stored.push(last.to_owned());
    studio.until("an answer to it", |s| s.decisions("kiln").last().is_some_and(|d| d == "settled row_posted").then_some(()));
    let lines = lines(&studio);
    assert!(
        lines.iter().enumerate().all(|(i, (seq, _))| *seq == i as i64 + 1),
        "numbers are missing: {:?}",
        lines.iter().map(|l| l.0).collect::<Vec<_>>()
    );
    for text in &stored {
        assert_eq!(lines.iter().filter(|(_, t)| t == text).count(), 1, "stored lines are there once");
    }
    assert!(studio.stop(), "it ends well: {}", studio.said());
    drop(disk);
}
