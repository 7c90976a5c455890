//! The stream of what changes in a room, as server-sent events.
//!
//! Each event holds pieces of the page as the server renders them (a JSON list of HTML, escaped by maud); the page puts each
//! in its place by its id, so that a piece that comes twice changes nothing. The event's id is `<item>.<decision>`, the last
//! ones that it covers. A page that was cut off asks again with the last id that it saw (`Last-Event-ID`) and gets all that
//! came after: nothing is lost, nothing doubled, and no state is kept here for those who are away.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    http::{HeaderMap, StatusCode},
    response::sse::Event,
};
use maud::{Markup, html};
use parlor_core::{Item, ItemKind, Millis, ObligationView};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{
    App, ReadError, RoomFacts,
    fault::Fault,
    fold::Line,
    line::{self, Frame},
    panel::{self, FloorShown},
    room,
    visitors::Viewer,
    words::Called,
};

/// Streams of the whole console: far more tabs than one machine's people open, few enough that their reads stay cheap.
const STREAMS_MAX: usize = 128;
/// Streams of one person; a reload may overlap with the page before it.
const STREAMS_EACH: usize = 6;
/// Streams of all who only watch, since nothing tells them apart.
const STREAMS_WATCHING: usize = 32;
/// Items or decisions of one event.
const BATCH: u32 = 200;
/// A beat tells the page that the line still stands; the page gives up after two that are missing.
const BEAT: Duration = Duration::from_secs(15);
/// At most twenty reads a second for one stream, however often the room changes.
const PACE: Duration = Duration::from_millis(50);
/// How soon an unreachable database is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Counts the open streams.
#[derive(Default)]
pub(super) struct Streams(Mutex<HashMap<String, usize>>);

/// A place among the open streams, given back when it is dropped.
pub(super) struct Place {
    streams: Arc<Streams>,
    who: String,
}

impl Streams {
    /// Takes a place for somebody; `who` is empty for those who only watch.
    pub(super) fn open(self: &Arc<Self>, who: &str) -> Result<Place, Fault> {
        let most = if who.is_empty() { STREAMS_WATCHING } else { STREAMS_EACH };
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = open.get(who).copied().unwrap_or(0);
        if open.values().sum::<usize>() >= STREAMS_MAX || mine >= most {
            return Err(Fault::again(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many pages are open. Close some; this one goes on by itself.",
                5,
            ));
        }
        open.insert(who.to_owned(), mine + 1);
        Ok(Place { streams: Arc::clone(self), who: who.to_owned() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.who) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.who);
            }
        }
    }
}

/// The last item and the last decision that a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct After {
    pub(super) seq: u64,
    pub(super) n: u64,
}

impl After {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (seq, n) = text.split_once('.')?;
        Some(Self { seq: seq.parse().ok()?, n: n.parse().ok()? })
    }

    /// What the browser says after a drop goes before what the page was made with.
    pub(super) fn of(headers: &HeaderMap, asked: Option<&str>) -> Option<Self> {
        let last = headers.get("last-event-id").and_then(|v| v.to_str().ok());
        last.and_then(Self::parse).or_else(|| asked.and_then(Self::parse))
    }
}

/// One open stream.
pub(super) struct Feed {
    app: Arc<App>,
    room: String,
    viewer: Viewer,
    after: After,
    changes: watch::Receiver<u64>,
    called: Called,
    /// The last line that was sent or shown.
    last: Option<Line>,
    sent: Sent,
    begun: bool,
    troubled: bool,
    read_at: Option<Instant>,
    beat_at: Instant,
    _place: Place,
}

/// What the page shows already of the parts that have no number.
#[derive(Default)]
struct Sent {
    floor: Option<FloorShown>,
    open: Option<Vec<ObligationView>>,
    typing: Option<Vec<String>>,
    topic: Option<String>,
}

/// What one look brought.
struct Look {
    pieces: Vec<Markup>,
    /// There is more at once.
    more: bool,
    /// Look again by then even if nobody says that something changed.
    until: Option<Millis>,
}

impl Feed {
    pub(super) fn new(app: Arc<App>, room: String, viewer: Viewer, after: After, place: Place) -> Self {
        let changes = app.reader.changes(&room);
        Self {
            app,
            room,
            viewer,
            after,
            changes,
            called: Called::default(),
            last: None,
            sent: Sent::default(),
            begun: false,
            troubled: false,
            read_at: None,
            beat_at: Instant::now() + BEAT,
            _place: place,
        }
    }

    /// The next event; none when the console stops.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            self.pace().await;
            if self.app.shutdown.is_cancelled() {
                return None;
            }
            // Before the read, so that what changes during it is not missed.
            self.changes.mark_unchanged();
            let wake = match self.look().await {
                Ok(look) if !look.pieces.is_empty() => return Some(self.event(&look.pieces)),
                Ok(look) if look.more => continue,
                Ok(look) => look.until.map(|until| self.instant(until)),
                Err(error) => {
                    if let Some(event) = self.trouble(&error) {
                        return Some(event);
                    }
                    Some(Instant::now() + AGAIN)
                }
            };
            if self.wait(wake).await {
                self.beat_at = Instant::now() + BEAT;
                return Some(Event::default().event("beat").data("-"));
            }
        }
    }

    /// Waits until something changed or is due; true if a beat is due.
    async fn wait(&mut self, wake: Option<Instant>) -> bool {
        let beat_at = self.beat_at;
        let wake = wake.map_or(beat_at, |wake| wake.min(beat_at));
        let shutdown = self.app.shutdown.clone();
        let changed = async {
            if self.changes.changed().await.is_err() {
                // The reader is gone or polls: look once a second.
                sleep_until(Instant::now() + AGAIN).await;
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => false,
            () = changed => false,
            () = sleep_until(wake) => Instant::now() >= beat_at,
        }
    }

    async fn pace(&mut self) {
        if let Some(read_at) = self.read_at {
            sleep_until(read_at + PACE).await;
        }
        self.read_at = Some(Instant::now());
    }

    fn instant(&self, at: Millis) -> Instant {
        let ms = (at - self.app.reader.now()).max(0).unsigned_abs();
        Instant::now() + Duration::from_millis(ms)
    }

    fn event(&mut self, pieces: &[Markup]) -> Event {
        self.beat_at = Instant::now() + BEAT;
        let pieces: Vec<&str> = pieces.iter().map(|piece| piece.0.as_str()).collect();
        let id = format!("{}.{}", self.after.seq, self.after.n);
        // Strings always become JSON.
        let data = serde_json::to_string(&pieces).unwrap_or_default();
        Event::default().event("put").id(id).retry(AGAIN).data(data)
    }

    fn trouble(&mut self, error: &ReadError) -> Option<Event> {
        if std::mem::replace(&mut self.troubled, true) {
            return None;
        }
        let words = match error {
            ReadError::Unavailable => "The database is not reachable; the page catches up when it is back.",
            ReadError::Broken(reason) => {
                tracing::error!(room = %self.room, %reason, "the console could not make sense of what it read of the room");
                "The ledger could not be read. The console's log says why; the page goes on when it can."
            }
        };
        Some(self.event(&[banner(words)]))
    }

    /// Reads what is new and renders it.
    async fn look(&mut self) -> Result<Look, ReadError> {
        let mut pieces = Vec::new();
        let Some(facts) = self.app.room(&self.room, self.viewer.id()).await? else { return Ok(self.gone()) };
        if !self.begun {
            self.begin(&facts).await?;
        }
        let items = self.app.reader.after(&self.room, self.after.seq, BATCH).await?;
        let decisions = self.app.reader.decisions_after(&self.room, self.after.n, BATCH).await?;
        let more = items.len() >= BATCH as usize || decisions.len() >= BATCH as usize;
        let view = self.app.reader.floor(&self.room).await?;
        let (lines, last) = self.lines(&items).await?;
        let (typing, until) = room::typists(&self.app, &self.room, &self.viewer, &self.called).await?;
        // Nothing below can fail: what is counted as sent is sent.
        if std::mem::replace(&mut self.troubled, false) || !self.begun {
            pieces.push(banner(""));
        }
        self.begun = true;
        self.last = last;
        pieces.extend(lines);
        let frame = Frame { room: &self.room, viewer: &self.viewer };
        pieces.extend(decisions.iter().map(|d| panel::decision(&frame, d, &self.called)));
        let now = self.app.reader.now();
        let floor = FloorShown::of(view.as_ref(), &facts.topic, &self.called);
        if self.sent.floor.as_ref() != Some(&floor) {
            pieces.extend(floor.parts(now));
            self.sent.floor = Some(floor);
        }
        let open = view.map(|view| view.obligations).unwrap_or_default();
        if self.sent.open.as_ref() != Some(&open) {
            pieces.push(panel::owed(&frame, &open, &self.called, now));
            self.sent.open = Some(open);
        }
        if self.sent.typing.as_ref() != Some(&typing) {
            pieces.push(panel::typing(&typing));
            self.sent.typing = Some(typing);
        }
        if self.sent.topic.as_ref() != Some(&facts.topic) {
            pieces.push(room::topic(&facts.topic));
            self.sent.topic = Some(facts.topic);
        }
        self.after.seq = items.last().map_or(self.after.seq, |item| item.seq);
        self.after.n = decisions.last().map_or(self.after.n, |d| d.n);
        Ok(Look { pieces, more, until })
    }

    /// The room was taken away while its page is open; it may come back.
    fn gone(&mut self) -> Look {
        let told = std::mem::replace(&mut self.troubled, true);
        let pieces = if told { vec![] } else { vec![banner("This room was taken away. What was said in it is kept.")] };
        Look { pieces, more: false, until: Some(self.app.reader.now() + AGAIN.as_millis() as Millis) }
    }

    async fn begin(&mut self, facts: &RoomFacts) -> Result<(), ReadError> {
        self.called = room::called(&self.app, facts).await?;
        let above = self.app.reader.lines(&self.room, Some(self.after.seq.saturating_add(1)), 1).await?;
        self.last = crate::console::fold::fold(&above).into_values().next();
        Ok(())
    }

    /// Every line that these items begin or change, as it stands now, and the last line of the room.
    async fn lines(&mut self, items: &[Item]) -> Result<(Vec<Markup>, Option<Line>), ReadError> {
        let ids: BTreeSet<&str> = items.iter().map(|item| item.platform_id.as_str()).collect();
        let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
        let all = room::standing(&self.app, &self.room, &ids).await?;
        let mut touched: Vec<&Line> = ids.iter().filter_map(|id| all.get(id)).collect();
        touched.sort_by_key(|line| line.seq);
        let new: BTreeSet<u64> =
            items.iter().filter(|item| matches!(item.kind, ItemKind::Message | ItemKind::System)).map(|item| item.seq).collect();
        for item in items {
            self.called.learn(&item.author.id, &item.author.name);
        }
        let frame = Frame { room: &self.room, viewer: &self.viewer };
        let mut pieces = Vec::new();
        let mut last = self.last.clone();
        for line in touched {
            let quoted = line.reply_to.as_ref().and_then(|id| all.get(id));
            if new.contains(&line.seq) {
                pieces.push(line::line(&frame, line, quoted, last.as_ref()));
                last = Some(line.clone());
            } else {
                pieces.push(line::bare(&frame, line, quoted, false));
            }
        }
        Ok((pieces, last))
    }
}

fn banner(words: &str) -> Markup {
    html! { p #trouble role="alert" data-keep { (words) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_goes_before_the_address_and_nonsense_counts_as_nothing() {
        let mut headers = HeaderMap::new();
        assert_eq!(After::of(&headers, Some("3.4")), Some(After { seq: 3, n: 4 }));
        headers.insert("last-event-id", "7.9".parse().unwrap());
        assert_eq!(After::of(&headers, Some("3.4")), Some(After { seq: 7, n: 9 }));
        headers.insert("last-event-id", "x".parse().unwrap());
        assert_eq!(After::of(&headers, Some("3.4")), Some(After { seq: 3, n: 4 }));
        assert_eq!(After::of(&headers, Some("3")), None);
        assert_eq!(After::parse("99999999999999999999.1"), None);
    }

    #[test]
    fn streams_are_bounded_for_each_and_for_all_and_given_back() {
        let streams = Arc::new(Streams::default());
        let mine: Vec<_> = (0..STREAMS_EACH).map(|_| streams.open("ada").unwrap()).collect();
        assert!(streams.open("ada").is_err());
        let others: Vec<_> = (0..STREAMS_MAX - STREAMS_EACH).map(|n| streams.open(&n.to_string()).unwrap()).collect();
        assert!(streams.open("late").is_err());
        assert!(streams.open("").is_err());
        drop(mine);
        assert!(streams.open("late").is_ok());
        drop(others);
        assert!(streams.0.lock().unwrap().is_empty());
    }
}
