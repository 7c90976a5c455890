//! Archives of other programs in `parlor replay`: what is read of them, what is refused, and that each gives the rooms it holds.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use parlor::replay::{Args, Format, Report, replay};
use serde_json::{Value, json};
use tempfile::TempDir;

fn args(archives: &[&Path]) -> Args {
    let persona = Some("Wren".to_owned());
    Args { persona, visible_links: 1.0, ..Args::of(archives.iter().map(|p| p.to_path_buf()).collect()) }
}

fn file(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// The report without the speed, which no two runs share.
fn figures(report: &Report) -> Value {
    let mut json = report.json();
    json.as_object_mut().unwrap().remove("lines_per_second");
    json
}

/// When the machine spoke, in seconds, and to which lines.
fn sends(dir: &TempDir, args: Args) -> Vec<(String, i64, Vec<String>)> {
    let path = dir.path().join("sends.out");
    replay(&Args { sends: Some(path.clone()), ..args }).unwrap();
    let send = |line: &str| {
        let v: Value = serde_json::from_str(line).unwrap();
        let ids = v["settles"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        (v["room"].as_str().unwrap().to_owned(), v["ts"].as_i64().unwrap() / 1_000, ids)
    };
    fs::read_to_string(path).unwrap().lines().map(send).collect()
}

/// A message as DiscordChatExporter writes it.
fn discord(id: u64, second: u32, author: (&str, &str, &str), text: &str, reply: Option<u64>) -> Value {
    let (user, name, nickname) = author;
    let mut message = json!({
        "id": id.to_string(), "type": if reply.is_some() { "Reply" } else { "Default" },
        "timestamp": format!("2026-01-31T21:{:02}:{:02}.25+01:00", second / 60, second % 60), "timestampEdited": null,
        "callEndedTimestamp": null, "isPinned": false, "content": text,
        "author": {"id": user, "name": name, "discriminator": "0000", "nickname": nickname, "color": null, "isBot": false,
                   "roles": [], "avatarUrl": "https://cdn.example/0.png"},
        "attachments": [], "embeds": [], "stickers": [], "reactions": [], "mentions": [], "inlineEmojis": []
    });
    if let Some(to) = reply {
        message["reference"] = json!({"messageId": to.to_string(), "channelId": "20", "guildId": "10"});
    }
    message
}

const ADA: (&str, &str, &str) = ("1", "ada.l", "Ada");
const BOB: (&str, &str, &str) = ("2", "bob", "Bob");
const WREN: (&str, &str, &str) = ("9", "wren.potter", "Wren");

fn channel(id: &str, messages: &[Value]) -> String {
    let export = json!({
        "guild": {"id": "10", "name": "Potters", "iconUrl": "https://cdn.example/g.png"},
        "channel": {"id": id, "type": "GuildTextChat", "categoryId": "5", "category": "Talk", "name": "kiln", "topic": null},
        "dateRange": {"after": null, "before": null}, "exportedAt": "2026-02-01T00:00:00+00:00",
    });
    // The order of members is that of the exporter, which no map of ours keeps.
    let member = |name: &str| format!("  \"{name}\": {:#}", export[name]);
    let head = ["guild", "channel", "dateRange", "exportedAt"].map(member).join(",\n");
    format!("{{\n{head},\n  \"messages\": {:#},\n  \"messageCount\": {}\n}}", Value::from(messages.to_vec()), messages.len())
}

#[test]
fn a_discord_export_is_a_room() {
    let dir = TempDir::new().unwrap();
    let mut bot = discord(103, 20, ("7", "clock", "clock"), "Wren: ding", None);
    bot["author"]["isBot"] = true.into();
    let mut join = discord(104, 25, ("3", "cy", "Cy"), "Joined the server.", None);
    join["type"] = "GuildMemberJoin".into();
    let mut raw = discord(105, 90, BOB, "<@9> how hot is cone 6?", None);
    raw["mentions"] = json!([{"id": "9", "name": "wren.potter", "nickname": "Wren", "isBot": false}]);
    let messages = [
        discord(100, 0, WREN, "good morning", None),
        discord(101, 5, ADA, "the handle came off", Some(100)),
        discord(102, 15, BOB, "lunch", None),
        bot,
        join,
        raw,
        discord(106, 600, ADA, "end", None),
    ];
    let path = file(&dir, "kiln.json", &channel("20", &messages));
    let report = replay(&args(&[&path])).unwrap();
    assert_eq!((report.rooms, report.lines, report.bad_rows), (1, 6, 0));
    let said = sends(&dir, args(&[&path]));
    let rooms: Vec<&str> = said.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(rooms, ["Potters #kiln"; 2]);
    assert_eq!(said.iter().map(|s| s.2.clone()).collect::<Vec<_>>(), [["101"], ["105"]]);
    // 21:00:05+01:00.
    assert!(said[0].1 > 1_769_889_605 && said[0].1 < 1_769_889_605 + 60, "{said:?}");
    // By user name and by id it is the same persona; packed it is the same archive.
    let want = figures(&report);
    for name in ["wren.potter", "9"] {
        assert_eq!(figures(&replay(&Args { persona: Some(name.into()), ..args(&[&path]) }).unwrap()), want, "{name}");
    }
    let packed = dir.path().join("kiln.json.gz");
    let mut gz = flate2::write::GzEncoder::new(fs::File::create(&packed).unwrap(), flate2::Compression::default());
    gz.write_all(fs::read_to_string(&path).unwrap().as_bytes()).unwrap();
    gz.finish().unwrap();
    assert_eq!(figures(&replay(&args(&[&packed])).unwrap()), want);
    // Parts of one channel are one room, another channel of that name is another.
    let parts = [
        file(&dir, "kiln-1.json", &channel("20", &messages[..3])),
        file(&dir, "kiln-2.json", &format!("\u{feff}{}", channel("20", &messages[3..]))),
        file(&dir, "other.json", &channel("21", &messages)),
    ];
    let split = replay(&args(&[&parts[0], &parts[1]])).unwrap();
    assert_eq!(figures(&split), want);
    assert_eq!(replay(&args(&[&parts[0], &parts[1], &parts[2]])).unwrap().rooms, 2);
}

#[test]
fn a_link_alone_is_no_truth_about_other_lines() {
    let dir = TempDir::new().unwrap();
    let mut messages = Vec::new();
    for n in 0..30_u32 {
        let (id, at) = (1_000 + u64::from(n) * 10, n * 100);
        messages.extend([
            discord(id, at, WREN, "the glaze is ready", None),
            discord(id + 1, at + 5, ADA, "how hot is it?", Some(id)),
            discord(id + 2, at + 40, WREN, "1240", Some(id + 1)),
            discord(id + 3, at + 60, BOB, "I say so too", Some(id + 1)),
            discord(id + 4, at + 70, BOB, "where is the cone chart?", Some(7)),
            discord(id + 5, at + 75, ADA, "anyone?", None),
        ]);
    }
    let path = file(&dir, "kiln.json", &channel("20", &messages));
    let report = figures(&replay(&args(&[&path])).unwrap());
    assert_eq!((&report["truth"], &report["ts_res"]), (&"links".into(), &Value::Null));
    let (judged, parlor) = (&report["judged"], &report["policies"]["parlor"]);
    // A line without a link, or with one to a line that is not here, may be anything: no question is claimed from it.
    assert_eq!(judged["room_questions"], 0, "{judged}");
    assert!(judged["direct_questions"].as_u64().unwrap() >= 20, "{judged}");
    for name in
        ["already_answered_rate", "preempt_rate", "missed_orphan_rate", "cut_off_rate", "cut_off_rate_low", "balanced_accuracy", "fir"]
    {
        assert_eq!(parlor[name], Value::Null, "{name}");
    }
    for name in ["duplicate_rate", "missed_direct_rate", "butt_in_rate", "mir", "latency_direct_p50_ms", "sends"] {
        assert!(parlor[name].is_number(), "{name}: {parlor}");
    }
    // Cost is per line of everybody, not of the linked alone.
    let queue = report["policies"]["request_queue"]["sends"].as_f64().unwrap();
    assert!((queue - 100.0).abs() < 1e-9, "{queue}");
}

#[test]
fn what_is_wrong_in_an_export_is_told_by_its_place_and_the_rest_is_read() {
    let dir = TempDir::new().unwrap();
    let long = "wren, \u{5e9} ".repeat(12_000);
    let mut messages = vec![
        discord(1, 10, ADA, &long, None),
        discord(2, 5, BOB, "earlier", None),
        discord(1, 11, BOB, "secret", None),
        json!({"id": 3, "type": "Default", "timestamp": "secret", "content": "secret", "author": {"id": "1", "name": "x"}}),
        json!({"id": 4, "type": "Default", "content": "secret"}),
        json!("secret"),
        discord(5, 12, ADA, "\u{1f525}", None),
    ];
    messages[6]["author"]["nickname"] = Value::Null;
    let text = channel("20", &messages);
    let path = file(&dir, "kiln.json", &text);
    let report = replay(&args(&[&path])).unwrap();
    assert_eq!((report.lines, report.bad_rows, figures(&report)["late_rows"].as_u64()), (3, 4, Some(1)));
    let shown = report.bad_examples.join("\n");
    for (at, reason) in [(3, "used before"), (4, "`timestamp` is no time"), (5, "missing field"), (6, "wrong value")] {
        assert!(shown.contains(&format!("kiln.json:{at}: ")) && shown.contains(reason), "{shown}");
    }
    assert!(!shown.contains("secret"), "{shown}");
    let strict = replay(&Args { strict: true, ..args(&[&path]) }).unwrap_err().to_string();
    assert!(strict.contains("kiln.json:3: "), "{strict}");

    // Cut in the middle: what was read counts, and the rest is told.
    let cut = file(&dir, "cut.json", &text[..text.find("earlier").unwrap()]);
    let report = replay(&args(&[&cut])).unwrap();
    assert_eq!((report.lines, report.bad_rows), (1, 1));
    assert!(report.bad_examples[0].contains("cut.json:2: EOF") && report.bad_examples[0].contains("not read"), "{:?}", report.bad_examples);

    // One element without an end costs no more than its bound.
    let endless = text.replace("earlier", &"x".repeat(9 << 20));
    let report = replay(&args(&[&file(&dir, "endless.json", &endless)])).unwrap();
    assert_eq!((report.lines, report.bad_rows), (1, 1));
    assert!(report.bad_examples[0].contains("longer than 8 MiB"), "{:?}", report.bad_examples);
}

fn slack(ts: &str, user: &str, text: &str) -> Value {
    json!({"type": "message", "user": user, "text": text, "ts": ts, "client_msg_id": "x", "team": "T1", "blocks": []})
}

fn slack_folder(dir: &TempDir) -> PathBuf {
    let users = json!([
        {"id": "U1", "name": "ada", "real_name": "Ada Lovelace", "is_bot": false, "profile": {"display_name": "Ada", "real_name": "Ada Lovelace"}},
        {"id": "U2", "name": "bob", "deleted": true, "profile": {"display_name": "", "real_name": "Bob"}},
        {"id": "U9", "name": "wren", "profile": {"display_name": "Wren"}},
        {"id": "U8", "name": "robot", "is_bot": true, "profile": {}},
    ]);
    file(dir, "slack/users.json", &users.to_string());
    file(dir, "slack/channels.json", &json!([{"id": "C1", "name": "kiln", "members": ["U1"]}]).to_string());
    file(dir, "slack/integration_logs.json", "[]");
    let mut join = slack("1769889600.000100", "U2", "<@U2> has joined the channel");
    join["subtype"] = "channel_join".into();
    let mut thread = slack("1769889700.000400", "U1", "in which oven?");
    thread["thread_ts"] = "1769889610.000200".into();
    let mut bot = slack("1769889800.000500", "", "Wren: build done");
    bot["subtype"] = "bot_message".into();
    bot["user"] = Value::Null;
    (bot["bot_id"], bot["username"]) = ("B1".into(), "ci".into());
    let day = json!([join, slack("1769889610.000200", "U9", "cone 6 it is"), thread, bot]);
    file(dir, "slack/kiln/2026-01-31.json", &day.to_string());
    let day = json!([
        slack("1769950000.000100", "U2", "<@U9> how hot is &lt;cone 6&gt;?"),
        slack("1769950900.000100", "U2", "bye"),
        slack("x", "U2", "?")
    ]);
    file(dir, "slack/kiln/2026-02-01.json", &day.to_string());
    file(dir, "slack/kiln/canvas_in_the_conversation.json", "{}");
    file(dir, "slack/random/2026-02-01.json", &json!([slack("1769950000.000100", "U1", "Wren, are you there?")]).to_string());
    dir.path().join("slack")
}

#[test]
fn a_slack_export_is_a_room_a_channel() {
    let dir = TempDir::new().unwrap();
    let folder = slack_folder(&dir);
    let report = replay(&args(&[&folder])).unwrap();
    assert_eq!((report.rooms, report.lines, report.bad_rows), (2, 6, 1));
    assert!(report.bad_examples[0].contains("2026-02-01.json:3: `ts` is no time"), "{:?}", report.bad_examples);
    assert_eq!(figures(&report)["truth"], "links");
    let said: Vec<(String, Vec<String>)> = sends(&dir, args(&[&folder])).into_iter().map(|(room, _, ids)| (room, ids)).collect();
    let one = |room: &str, id: &str| (room.to_owned(), vec![id.to_owned()]);
    assert_eq!(
        said,
        [one("kiln", "1769889700.000400"), one("kiln", "1769950000.000100"), one("random", "1769950000.000100")],
        "a reply in the persona's thread, and two lines that name it; not the bot's"
    );
    assert_eq!(figures(&replay(&Args { persona: Some("U9".into()), ..args(&[&folder]) }).unwrap()), figures(&report));
    let other = dir.path().join("slack/kiln");
    let told = replay(&args(&[&other])).unwrap_err().to_string();
    assert!(told.contains("no Slack export"), "{told}");
    let zip = file(&dir, "export.zip", "PK\u{3}\u{4}rest");
    assert!(replay(&args(&[&zip])).unwrap_err().to_string().contains("unpack it"));
}

#[test]
fn logs_of_irc_are_rooms() {
    let dir = TempDir::new().unwrap();
    let irssi = "--- Log opened Sat Jan 31 20:00:00 2026\n20:00 -!- ada [a@h] has joined #kiln\n20:00 < ada> wren: how hot is cone 6?\n\
                 20:15 <@bob> no idea\n20:16 nonsense\n--- Day changed Sun Feb 01 2026\n00:10 < ada> wren, are you there?\n";
    let path = file(&dir, "#kiln.log", irssi);
    let report = replay(&args(&[&path])).unwrap();
    assert_eq!((report.rooms, report.lines, report.bad_rows), (1, 3, 1));
    assert!(report.bad_examples[0].contains("#kiln.log:5: no line of an IRC log"), "{:?}", report.bad_examples);
    let json = figures(&report);
    assert_eq!(
        (&json["truth"], &json["ts_res"], &json["policies"]["parlor"]["butt_in_rate"]),
        (&"nothing".into(), &"minute".into(), &Value::Null)
    );
    let said = sends(&dir, args(&[&path]));
    assert_eq!(said.iter().map(|s| s.2[0].as_str()).collect::<Vec<_>>(), ["#kiln:3", "#kiln:7"]);
    // The first line of a minute alone stands in the middle of it; 2026-01-31T20:00:30Z.
    assert!(said[0].1 > 1_769_889_630 && said[0].1 < 1_769_889_630 + 60, "{said:?}");
    assert!(said[1].1 > 1_769_904_600, "{said:?}");

    // A file a day in a folder a channel; the persona spoke, so its lines are taken out.
    let days = ["2026-01-31", "2026-02-01"].map(|day| {
        let text = "[20:00:01] *** Joins: ada (a@h)\r\n[20:00:05] <ada> Wren: hello?\r\n[20:00:40] <Wren> hi\r\n[20:59:00] * ada waves\r\n";
        file(&dir, &format!("net/#kiln/{day}.log"), text)
    });
    let report = replay(&args(&[&days[0], &days[1]])).unwrap();
    assert_eq!((report.rooms, report.lines, report.bad_rows), (1, 6, 0));
    assert_eq!(figures(&report)["ts_res"], "second");
    assert_eq!(sends(&dir, args(&[&days[0], &days[1]])).len(), 2);
}

#[test]
fn a_format_may_be_forced_and_a_big_export_is_read_in_pieces() {
    let dir = TempDir::new().unwrap();
    let path = file(&dir, "talk.log", "20:00 <ada> wren: hello?\n");
    let forced = replay(&Args { format: Format::Jsonl, ..args(&[&path]) }).unwrap_err().to_string();
    assert!(forced.contains("1 rows cannot be used"), "{forced}");
    let messages: Vec<Value> = (0..3_000).map(|n| discord(n, n as u32, ADA, &"word ".repeat(400), None)).collect();
    let path = file(&dir, "big.json", &channel("20", &messages));
    assert!(path.metadata().unwrap().len() > 6 << 20);
    assert_eq!(replay(&args(&[&path])).unwrap().lines, 3_000);
}
