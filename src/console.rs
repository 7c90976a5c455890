//! The web page of a room.
