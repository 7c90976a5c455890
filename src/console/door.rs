//! The door: of the rooms that there are, those that somebody may know of.
//!
//! A room of one person is there for that person alone. For everybody else it is no room at all: it is in no list, and all its
//! addresses answer as those of a room that never was. Nothing else in the console asks the reader which rooms there are.

use super::{
    App, Door, ReadError, RoomFacts,
    fault::Fault,
    visitors::{Holder, Viewer},
};

impl App {
    /// Whether the room is there for whoever has this authenticated id (none: those who have none yet).
    pub(super) fn admits(&self, room: &str, id: Option<&str>) -> bool {
        match self.reader.door(room) {
            None => false,
            Some(Door::Everybody) => true,
            Some(Door::Only(only)) => id == Some(only.as_str()),
        }
    }

    /// The same, as the answer that those get for whom it is not.
    pub(super) fn admit(&self, room: &str, id: Option<&str>) -> Result<(), Fault> {
        if self.admits(room, id) { Ok(()) } else { Err(Fault::no_room()) }
    }

    /// The room, if it is there for this authenticated id.
    pub(super) async fn room(&self, name: &str, id: Option<&str>) -> Result<Option<RoomFacts>, ReadError> {
        if self.admits(name, id) { self.reader.room(name).await } else { Ok(None) }
    }

    /// The rooms for a browser, each with the one of its people as whom it is entered.
    pub(super) async fn rooms(&self, holder: &Holder, viewer: &Viewer) -> Result<Vec<(RoomFacts, Viewer)>, ReadError> {
        let known = |facts: RoomFacts| self.comes_as(&facts.name, holder, viewer).map(|viewer| (facts, viewer));
        Ok(self.reader.rooms().await?.into_iter().filter_map(known).collect())
    }

    /// As whom somebody comes to a room whose address does not say it.
    pub(super) fn arrival(&self, room: &str, holder: &Holder) -> Viewer {
        let viewer = holder.viewer(None);
        self.comes_as(room, holder, &viewer).unwrap_or(viewer)
    }

    /// As for whom the page speaks; where that is nobody yet, to a room of one of the browser's own people as that person.
    fn comes_as(&self, room: &str, holder: &Holder, viewer: &Viewer) -> Option<Viewer> {
        match self.reader.door(room)? {
            Door::Everybody => Some(viewer.clone()),
            Door::Only(only) if viewer.id() == Some(only.as_str()) => Some(viewer.clone()),
            Door::Only(only) if *viewer == Viewer::Watcher => holder.find(&only),
            Door::Only(_) => None,
        }
    }
}
