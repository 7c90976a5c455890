use parlor_core::ObligationId;

use super::*;

const EVERY: [WaitingFor; 12] = [
    WaitingFor::Nothing,
    WaitingFor::AskerQuiet,
    WaitingFor::TurnEnd,
    WaitingFor::Typing,
    WaitingFor::People,
    WaitingFor::Lull,
    WaitingFor::Burst,
    WaitingFor::Model,
    WaitingFor::Platform,
    WaitingFor::Cooldown,
    WaitingFor::Retry,
    WaitingFor::Unmute,
];

fn view(phase: Phase, waiting_for: WaitingFor) -> View {
    let owed = |n, asker: &str, ripe_at, state| ObligationView {
        id: ObligationId { input: n, index: 0 },
        kind: ObligationKind::Direct,
        state,
        persona: Some("wren".into()),
        asker: asker.into(),
        lines: vec![],
        ripe_at,
        drafts: 0,
        answered: false,
    };
    View {
        now: 1_000,
        phase,
        since: 500,
        until: Some(3_100),
        waiting_for,
        persona: Some("wren".into()),
        effect: None,
        obligations: vec![owed(1, "late", 9_000, ObligationState::Open), owed(2, "1", 3_100, ObligationState::Open)],
        muted: false,
        shadow: false,
        room_wait_ms: 100_000,
        cursor: 4,
    }
}

fn called() -> Called {
    Called([("1", "Ada"), ("wren", "Wren")].map(|(id, name)| (id.to_owned(), name.to_owned())).into())
}

#[test]
fn the_wait_names_who_it_is_for() {
    let said = floor(&view(Phase::Waiting, WaitingFor::AskerQuiet), &called());
    assert_eq!(said.now, "Waiting for Ada to finish");
    assert_eq!(said.clock, Clock::Until(3_100));
    let said = floor(&view(Phase::Validating, WaitingFor::TurnEnd), &called());
    assert_eq!(said.now, "Draft ready; posts when Ada's turn looks over");
    assert_eq!(floor(&view(Phase::Drafting, WaitingFor::Model), &called()).clock, Clock::Since(500));
}

#[test]
fn a_mute_goes_before_everything() {
    let mut muted = view(Phase::Waiting, WaitingFor::AskerQuiet);
    muted.muted = true;
    assert_eq!(floor(&muted, &called()).now, "Muted; 2 open");
}

#[test]
fn every_wait_has_words_of_its_own_and_one_reason() {
    let mut seen = std::collections::BTreeSet::new();
    for waiting_for in EVERY {
        let said = floor(&view(Phase::Waiting, waiting_for), &called());
        assert!(said.why.ends_with('.') && said.why.len() > 20, "{waiting_for:?}: {}", said.why);
        assert!(seen.insert(said.now.clone()), "{waiting_for:?} says the same as another: {}", said.now);
    }
}

#[test]
fn a_random_id_is_never_shown() {
    assert_eq!(Called::default().name("0123456789abcdef0123456789abcdef"), "Somebody");
    assert_eq!(Called::default().name("owner"), "Owner");
    assert_eq!(Called::default().name("wren"), "wren");
}

#[test]
fn times_read_as_people_write_them() {
    for (ms, text) in [(-5, "any moment"), (2_149, "2.1 s"), (83_400, "83 s"), (125_000, "2:05 min")] {
        assert_eq!(left(ms), text);
    }
}
