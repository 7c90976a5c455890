//! Lines as irssi, weechat, znc and hexchat write them.

use super::*;

fn said(line: &str) -> Option<(i64, bool, &str, &str)> {
    match line_of(line) {
        Line::Said { stamp, nick, text } => Some((stamp.second, stamp.has_seconds, nick, text)),
        _ => None,
    }
}

#[test]
fn lines_of_each_program_are_read() {
    let at = 20 * 3_600 + 15 * 60;
    for (line, want) in [
        ("20:15 < ada> how hot is cone 6?", (at, false, "ada", "how hot is cone 6?")),
        ("20:15 <@ada> <b> is a tag", (at, false, "ada", "<b> is a tag")),
        ("20:15:07 <+ada> ok", (at + 7, true, "ada", "ok")),
        ("20:15  * ada waves", (at, false, "ada", "waves")),
        ("[20:15:07] <ada> ok", (at + 7, true, "ada", "ok")),
        ("[20:15:07] * ada waves", (at + 7, true, "ada", "waves")),
        ("[20:15] <ada>   spaces", (at, false, "ada", "  spaces")),
        ("2026-12-01 20:15:07\tada\tok\tthen", (at + 7, true, "ada", "ok\tthen")),
        ("2026-12-01 20:15:07\t@ada\tok", (at + 7, true, "ada", "ok")),
        ("2026-12-01 20:15:07\t ada\t ok", (at + 7, true, "ada", "ok")),
        ("2026-12-01 20:15:07\t *\tada waves", (at + 7, true, "ada", "waves")),
        ("2026-12-01T20:15:07.250Z <ada> ok", (at + 7, true, "ada", "ok")),
        ("[2026-12-01 20:15:07] <ada> ok", (at + 7, true, "ada", "ok")),
        ("Dec 01 20:15:07 <ada>\tok", (at + 7, true, "ada", "ok")),
        ("Dec  1 20:15:07 *\tada waves", (at + 7, true, "ada", "waves")),
        ("20:15 <ada>", (at, false, "ada", "")),
    ] {
        assert_eq!(said(line), Some(want), "{line}");
    }
}

#[test]
fn what_nobody_said_is_passed_over() {
    for line in [
        "20:15 -!- ada [~a@host] has joined #kiln",
        "20:15 -!- Irssi: #kiln: Total of 3 nicks",
        "20:15 -ada:#kiln- a notice",
        "[20:15:07] *** Joins: ada (a@host)",
        "2026-12-01 20:15:07\t-->\tada (a@host) has joined #kiln",
        "2026-12-01 20:15:07\t<--\tada has quit",
        "2026-12-01 20:15:07\t--\tMode #kiln [+o ada]",
        "2026-12-01 20:15:07\t\tcontinued",
        "Dec 01 20:15:07 *\tada (a@host) has joined",
        "Dec 01 20:15:07 *\tada is now known as adal",
        "--- Log closed",
    ] {
        assert!(matches!(line_of(line), Line::System(_)), "{line}: {:?}", line_of(line));
    }
    for line in ["hello", "", "25:99 <ada> no time", "20:15 words without a nick", "20:15 <a b> no nick", "{\"room\":1}"] {
        assert_eq!(line_of(line), Line::Unknown, "{line}");
    }
}

#[test]
fn days_are_read_from_lines_and_names() {
    let day = |d: i8| Date::constant(2026, 12, d);
    assert_eq!(line_of("--- Log opened Tue Dec 01 01:46:26 2026"), Line::Day(day(1)));
    assert_eq!(line_of("--- Day changed Wed Dec 02 2026"), Line::Day(day(2)));
    assert_eq!(line_of("**** BEGIN LOGGING AT Tue Dec  1 01:46:26 2026"), Line::Day(day(1)));
    assert_eq!(date_in_words("Fri 01 May 2026"), Some(Date::constant(2026, 5, 1)));
    assert_eq!(day_of_name("#kiln-2026-12-01"), ("#kiln", Some(day(1))));
    assert_eq!(day_of_name("net_#kiln_20261201"), ("net_#kiln", Some(day(1))));
    assert_eq!(day_of_name("2026-12-01"), ("", Some(day(1))));
    assert_eq!(day_of_name("#kiln12345678"), ("#kiln12345678", None));
    assert_eq!(day_of_name("#2026"), ("#2026", None));
}

fn rows(name: &str, text: &str) -> Vec<(i64, String, String)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    let mut rows = Vec::new();
    let mut take = |told: Told<'_>| {
        if let Told::Row(row, ..) = told {
            rows.push((row.ts, row.room.into_owned(), row.id.into_owned()));
        }
        Ok(())
    };
    read(&path, &|_| (), &mut take).unwrap();
    rows
}

fn times(name: &str, text: &str) -> Vec<i64> {
    let base = 1_796_083_200_000; // 2026-12-01T00:00:00Z
    rows(name, text).into_iter().map(|(ts, ..)| (ts - base) / 1_000).collect()
}

#[test]
fn a_day_goes_on_where_the_clock_begins_anew() {
    let day = 86_400;
    let log =
        "23:59:00 <a> x\n00:01:00 <a> y\n00:00:30 <a> a clock that was set\n09:00:00 <a> z\n08:30:00 <a> summer time\n07:00:00 <a> w\n";
    let want = [day - 60, day + 60, day + 30, day + 32_400, day + 30_600, 2 * day + 25_200];
    assert_eq!(times("#kiln-2026-12-01.log", log), want);
    // A line that says the day is believed.
    let log = "--- Log opened Tue Dec 01 10:00:00 2026\n10:00:01 <a> x\n--- Day changed Wed Dec 02 2026\n10:00:02 <a> y\n09:59:59 <a> z\n";
    assert_eq!(times("#kiln.log", log), [36_001, day + 36_002, day + 35_999]);
    // Without a year, from the line that began the log; after December comes January.
    let log = "**** BEGIN LOGGING AT Tue Dec  1 00:00:00 2026\nDec 31 23:00:00 <a> x\nJan 01 01:00:00 <a> y\n";
    assert_eq!(times("#kiln.log", log), [30 * day + 82_800, 31 * day + 3_600]);
    assert_eq!(times("x.log", "2026-12-01T02:00:00+02:00 <a> x\n2026-12-01T00:00:01Z <a> y\n"), [0, 1]);
}

#[test]
fn lines_of_a_minute_are_spread_over_it() {
    let log = "10:00 <a> 1\n10:00 <b> 2\n10:00 <a> 3\n10:01 <a> 4\n";
    assert_eq!(times("#kiln-2026-12-01.log", log), [36_010, 36_030, 36_050, 36_090]);
}

#[test]
fn rooms_are_named_by_their_file_or_folder() {
    for (name, room) in [
        ("#kiln.log", "#kiln"),
        ("#kiln.2026-12-01.log", "#kiln"),
        ("irc.libera.#kiln.weechatlog", "libera.#kiln"),
        ("libera_#kiln_20261201.log", "libera_#kiln"),
    ] {
        assert_eq!(rows(name, "10:00 <a> 1\n")[0].1, room, "{name}");
    }
    assert!(!rows("2026-12-01.log", "10:00 <a> 1\n")[0].1.is_empty());
    assert_eq!(rows("#kiln.log", "10:00 <a> 1\n\n10:00 <a> 2\n")[1].2, "#kiln:3");
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_line_or_none(time in "(\\[?[0-9T: .+Z-]{0,24}\\]?[ \t])?", text in "\\PC{0,60}", tail in "[<>*@\t -]{0,4}.{0,20}") {
        let _ = line_of(&format!("{time}{tail}{text}"));
        let _ = line_of(&format!("{text}{time}"));
        let _ = date_in_words(&text);
        let _ = day_of_name(&text);
    }

    #[test]
    fn any_log_is_read_to_its_end(lines in proptest::collection::vec("((Dec|Jan) [0-9]{1,2} |[0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}(:[0-9]{2})? (<a> |\\* b |-!- ).{0,9}", 0..40)) {
        let read = rows("#kiln.log", &lines.join("\n"));
        proptest::prop_assert!(read.iter().all(|(ts, ..)| (0..=253_402_300_799_999).contains(ts)));
    }
}
