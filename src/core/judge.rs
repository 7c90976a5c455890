//! Judgement: whether a burst is for the persona or for the room, and whether people have answered it.
//!
//! Structure decides, words do not: the models see numbers about who spoke when and to whom, and the forms of lines
//! (docs/judgement.md). Nothing here acts; the room asks, and the room decides.

pub(crate) mod before;
pub(crate) mod model;
pub(crate) mod numbers;
pub(crate) mod observe;
pub(crate) mod signs;
pub(crate) mod talk;
pub(crate) mod weigh;
