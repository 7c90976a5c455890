use super::*;

fn members() -> Vec<Member> {
    vec![Member { id: "wren".into(), name: "Wren".into(), aliases: vec!["Little Bird".into()] }]
}

#[test]
fn a_name_is_cut_at_its_outer_spaces_and_counted_in_characters() {
    assert_eq!(clean("  Ada   Lovelace\u{a0}").unwrap(), "Ada Lovelace");
    assert_eq!(clean("\u{3000}李小龍\u{2003}").unwrap(), "李小龍");
    assert_eq!(clean(&"ä".repeat(40)).unwrap().chars().count(), 40);
    assert_eq!(clean(&"ä".repeat(41)), Err(NameError::Long));
}

#[test]
fn names_that_cannot_be_seen_or_that_draw_over_others_are_refused() {
    for typed in ["", "   ", "\u{3164}", "\u{2800}\u{2800}", "...", "🦊"] {
        assert_eq!(clean(typed), Err(NameError::Empty), "{typed:?}");
    }
    for typed in ["Ada\u{200b}", "\u{202e}adA", "A\u{0}da", "@Ada", "<b>Ada</b>", "Ada\u{fe0f}", "A\u{ad}da"] {
        assert_eq!(clean(typed), Err(NameError::Characters), "{typed:?}");
    }
}

#[test]
fn what_people_would_take_for_a_persona_or_the_room_is_refused() {
    for typed in ["wren", "WREN", " Wren ", "W r e n", "Wrеn", "ＷＲＥＮ", "Wren.", "little  bird", "LittleBird", "Wre\u{301}n"] {
        assert_eq!(allowed(typed, &members()), Err(NameError::Persona), "{typed:?}");
    }
    for typed in ["room", "Owner", "OPERATOR", "every one", "Оwner", "0wner", "System:"] {
        assert_eq!(allowed(typed, &members()), Err(NameError::Reserved), "{typed:?}");
    }
    for typed in ["Ada", "Wrenna", "Roomie", "Зоя", "مريم", "李"] {
        assert_eq!(allowed(typed, &members()).unwrap(), typed);
    }
}

#[test]
fn a_name_is_given_once_in_a_room() {
    let names = Names::default();
    names.claim("kiln", "Ada", "1", &[], 0).unwrap();
    assert_eq!(names.claim("kiln", "ADA ", "2", &[], 1), Err(NameError::Taken));
    names.claim("kiln", "Ada", "1", &[], 2).unwrap();
    names.claim("loom", "Ada", "2", &[], 3).unwrap();
    assert!(names.holds("kiln", "ada", "1", 4));
    assert!(!names.holds("kiln", "ada", "2", 4));
    assert_eq!(names.name_of("kiln", "1").as_deref(), Some("Ada"));
}

#[test]
fn a_name_that_spoke_is_kept_and_one_that_only_looked_in_is_free_again() {
    let names = Names::default();
    let spoken = vec![("1".to_owned(), "Ada".to_owned())];
    assert_eq!(names.claim("kiln", "ada", "2", &spoken, 0), Err(NameError::Taken), "the ledger knows it from before a restart");
    names.claim("kiln", "Ada", "1", &spoken, 0).unwrap();
    names.claim("kiln", "Ben", "3", &[], 0).unwrap();
    let later = HOLD_MS + 1;
    assert_eq!(names.claim("kiln", "Ada", "2", &[], later), Err(NameError::Taken));
    names.claim("kiln", "Ben", "2", &[], later).unwrap();
}

#[test]
fn the_table_of_a_room_is_bounded() {
    let names = Names::default();
    for n in 0..HOLDS_MAX {
        names.claim("kiln", &format!("p{n}x"), &n.to_string(), &[], 0).unwrap();
    }
    assert_eq!(names.claim("kiln", "late", "x", &[], 0), Err(NameError::Full));
    names.claim("kiln", "late", "x", &[], HOLD_MS + 1).unwrap();
}
