//! The report for a browser: one page for the figures, one for each room with its decisions. Files that need nothing else: no
//! script, no asset, nothing from elsewhere; a policy in each page forbids the rest.
//!
//! Everything that an archive says of itself (names of rooms, people and lines) goes through the escaping of the templates, and
//! texts are in the pages only where they were asked for.

mod chart;
mod index;
mod owed;
mod room;
mod scene;
mod timeline;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::{ReplayError, Report, intake::Taken, report::Ran};
pub(super) use index::Cover;
pub(super) use room::RoomEntry;

const STYLE: &str = include_str!("html/report.css");
/// Stands in every page of ours, so that an earlier report may be written over and nothing else.
const MARK: &str = "<meta name=\"generator\" content=\"parlor replay\">";

/// Allows the one style of the page and nothing besides; the icon is empty, and named so that nobody asks for one.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    format!("default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'")
});

/// The folder of a report.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder, or empties that of an earlier report. Done before anything is read: a replay may take an hour.
    pub(super) fn open(path: &Path) -> Result<Self, ReplayError> {
        let fault = |source| ReplayError::Report { path: path.to_owned(), source };
        fs::create_dir_all(path).map_err(fault)?;
        let held: Vec<PathBuf> =
            fs::read_dir(path).map_err(fault)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>().map_err(fault)?;
        if !held.is_empty() && !fs::read_to_string(path.join("index.html")).is_ok_and(|page| page.contains(MARK)) {
            return Err(ReplayError::ReportTaken(path.to_owned()));
        }
        for file in held.iter().filter(|f| is_ours(f)) {
            fs::remove_file(file).map_err(fault)?;
        }
        // Whether it can be written shows now.
        let folder = Self(path.to_owned());
        let content =
            html! { main { h1 { "This report is not finished" } p { "The replay is still running, or it ended with an error." } } };
        folder.write("index.html", &document("Not finished", &content))?;
        Ok(folder)
    }

    /// The pages of the rooms, and what the first page says of them.
    pub(super) fn rooms<R: Ran>(&self, taken: &Taken<R>, report: &Report, draft_ms: i64) -> Result<Vec<RoomEntry>, ReplayError> {
        let pages = taken.rooms.iter().filter(|r| r.listener.diary().is_some()).count();
        let mut entries = Vec::new();
        for ((n, room), counts) in taken.rooms.iter().enumerate().zip(&report.by_room) {
            if let Some(diary) = room.listener.diary() {
                self.write(&room_file(n), &document(&room.name, &room::page(room, diary, counts, n, pages, draft_ms)))?;
            }
            entries.push(RoomEntry::of(n, room, counts));
        }
        Ok(entries)
    }

    /// The first page.
    pub(super) fn index(&self, cover: &Cover<'_>, report: &Report, rooms: &[RoomEntry]) -> Result<(), ReplayError> {
        self.write("index.html", &document(cover.title, &index::page(cover, report, rooms)))
    }

    fn write(&self, name: &str, page: &str) -> Result<(), ReplayError> {
        let path = self.0.join(name);
        fs::write(&path, page).map_err(|source| ReplayError::Report { path, source })
    }
}

fn room_file(n: usize) -> String {
    format!("room-{:03}.html", n + 1)
}

/// Whether a file is a page of an earlier report.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let number = name.strip_prefix("room-").and_then(|n| n.strip_suffix(".html"));
    name == "index.html" || number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn document(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(*POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                (PreEscaped(MARK))
                title { (title) " \u{b7} Parlor" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body { (content) }
        }
    };
    page.into_string()
}

/// Time of day in UTC.
fn clock(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |t| t.strftime("%H:%M:%S").to_string())
}

/// Day and time in UTC.
pub(super) fn moment(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |t| t.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// A length of time as people say it.
fn span(ms: i64) -> String {
    match ms {
        ..0 => format!("-{}", span(-ms)),
        0..10_000 => format!("{:.1} s", ms as f64 / 1_000.0),
        10_000..120_000 => format!("{} s", ms / 1_000),
        120_000..7_200_000 => format!("{}:{:02} min", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h", ms / 3_600_000),
    }
}
