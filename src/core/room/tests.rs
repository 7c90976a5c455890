//! The machine on scripted rooms, on a virtual clock.

mod stage;

use stage::{Stage, Talk};

#[test]
fn a_greeting_in_a_room_of_one_is_answered_within_five_seconds() {
    let mut s = Stage::new();
    s.says("ada", "hi wren");
    s.run_for(6_000);
    assert_eq!(s.posts().len(), 1);
    assert!(s.posts()[0].at <= 5_000, "{:?}", s.posts());
}
