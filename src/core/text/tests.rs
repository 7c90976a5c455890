use super::*;

#[test]
fn forms() {
    // text, question, request, bare thanks, complete
    for (text, question, request, thanks, complete) in [
        ("how do i fire this?", true, true, false, false),
        ("what temperature does cone 6 reach?", true, true, false, true),
        ("ada: which glaze is that", true, true, false, false),
        ("hi all, anyone here", true, true, false, false),
        ("@everyone who took the long tongs?", true, true, false, true),
        ("I'm trying to load the kiln", false, true, false, false),
        ("it doesn't work at all", false, true, false, false),
        ("the wheel is not working", false, true, false, false),
        ("see https://example.org/a?b=c for more", false, false, false, false),
        ("https://example.org/a?b=c", false, false, false, false),
        ("HTTPS://example.org/a?b=c is it", false, false, false, false),
        ("https: is it on?", true, true, false, false),
        ("can't say", true, true, false, false),
        ("isn't it nice", false, false, false, false),
        ("thanks, that works!", false, false, true, false),
        ("thank you wren", false, false, true, false),
        ("thanks, but which one?", true, true, false, true),
        ("cone 6 is about 1222 C.", false, false, false, true),
        ("nice", false, false, false, false),
        ("", false, false, false, false),
        ("\u{1f389}\u{1f389}", false, false, false, false),
        ("\u{5df2}\u{7ecf}\u{53ef}\u{4ee5}\u{4e86}\u{5417}\u{ff1f}", true, true, false, false),
        ("what\u{2019}s up", true, true, false, false),
    ] {
        let f = crate::reading::Reading::of(text).form;
        assert_eq!((f.question(), f.request(), f.bare_thanks(), f.complete()), (question, request, thanks, complete), "{text:?}");
    }
}

#[test]
fn taking_back_is_the_whole_line() {
    let name = |w: &str| w == "wren";
    for (text, want) in [
        ("never mind", true),
        ("Nevermind!", true),
        ("wren, never mind", true),
        ("ok nvm", true),
        ("solved it", true),
        ("never mind the glaze, how hot?", false),
        ("I never mind rain", false),
        ("", false),
    ] {
        assert_eq!(takes_back(text, name), want, "{text:?}");
    }
}

#[test]
fn a_greeting_or_a_name_alone_is_complete() {
    let name = |w: &str| w == "wren";
    for (text, want) in [("hi wren", true), ("wren?", true), ("good morning, Wren!", true), ("hi wren how hot", false), ("", false)] {
        assert_eq!(greets(text, name), want, "{text:?}");
    }
}

#[test]
fn words_of_any_script_end_where_their_letters_end() {
    assert_eq!(next_word("what\u{2026} now"), ("", "what", "\u{2026} now"));
    assert_eq!(next_word("\u{201c}wren\u{201d}"), ("\u{201c}", "wren", "\u{201d}"));
    assert_eq!(next_word("\u{5e9}\u{5dc}\u{5d5}\u{5dd}!"), ("", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}", "!"));
    assert_eq!(next_word("\u{1f389}"), ("\u{1f389}", "", ""));
}
