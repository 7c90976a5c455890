//! Rooms with truth out of nothing: people who ask by name, ask the room, follow up, chat with each other and talk in bursts, with
//! what each line replies to. The same seed gives the same bytes, so tests and benches need no archive of anybody's talk.

use serde_json::{Value, json};

use super::random::Random;

/// Start of every generated room, ms: a fixed morning, so that bytes depend on the seed alone.
const START_MS: i64 = 1_700_000_000_000;
/// Mean time between lines of a room, ms; about the pace of a busy help channel.
const PACE_MS: i64 = 15_000;
/// The persona's id and name in every generated room.
pub const PERSONA: (&str, &str) = ("p-wren", "Wren");

const PEOPLE: &[(&str, &str)] = &[
    ("u1", "Ada"),
    ("u2", "Bram"),
    ("u3", "Chidi"),
    ("u4", "Dalia"),
    ("u5", "Emre"),
    ("u6", "Fumiko"),
    ("u7", "Goran"),
    ("u8", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}"),
];
const THINGS: &[&str] =
    &["the small kiln", "this glaze", "a stoneware bowl", "the wedging table", "cone six", "the slab roller", "my test tile"];
const ASKS: &[&str] =
    &["how hot does {} get?", "why is {} cracking", "what should I do with {}?", "is {} ready yet?", "how do I clean {}?"];
const SAYS: &[&str] = &[
    "{} came out well today.",
    "I left {} by the window",
    "{} needs another coat, it looked thin in the morning light and it ran a little at the foot",
    "\u{1f525}\u{1f3fa}",
    "\u{5d4}\u{5ea}\u{5e0}\u{5d5}\u{5e8} \u{5d7}\u{5dd} \u{5d4}\u{5d9}\u{5d5}\u{5dd}",
    "look at https://kiln.example/{} when you have a minute",
];
const ANSWERS: &[&str] =
    &["about twelve hundred for {}.", "leave {} until it is cold", "it depends on {}, try a tile first.", "yes, {} is done."];

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed of everything.
    pub seed: u64,
    /// Rooms.
    pub rooms: usize,
    /// Lines a room, about.
    pub lines: usize,
}

struct Said {
    ts: i64,
    author: (&'static str, &'static str),
    text: String,
    mentions: Vec<(&'static str, &'static str)>,
    /// The lines of the same scene that it replies to.
    replies: Vec<usize>,
    bot: bool,
}

/// What happens between a few people, oldest line first.
struct Scene {
    said: Vec<Said>,
}

impl Scene {
    fn say(&mut self, ts: i64, author: (&'static str, &'static str), text: String, replies: &[usize]) -> usize {
        self.said.push(Said { ts, author, text, mentions: Vec::new(), replies: replies.to_vec(), bot: false });
        self.said.len() - 1
    }

    /// Says it to somebody by name, at the start of the line.
    fn say_to(
        &mut self,
        ts: i64,
        author: (&'static str, &'static str),
        to: (&'static str, &'static str),
        text: &str,
        replies: &[usize],
    ) -> usize {
        let at = self.say(ts, author, format!("{}: {text}", to.1), replies);
        if let Some(said) = self.said.last_mut() {
            said.mentions.push((to.0, "open"));
        }
        at
    }
}

/// The archive as JSON lines: for each room a header row, then its lines in order of time.
pub fn archive(plan: Plan) -> String {
    let mut out = String::new();
    for number in 0..plan.rooms {
        for row in room(plan, number) {
            out.push_str(&row.to_string());
            out.push('\n');
        }
    }
    out
}

/// The header and the rows of one room.
pub fn room(plan: Plan, number: usize) -> Vec<Value> {
    let name = format!("room-{number}");
    let mut random = Random::new(plan.seed, &name);
    let span = plan.lines as i64 * PACE_MS;
    let mut scenes: Vec<Scene> = Vec::new();
    let mut lines = 0;
    while lines < plan.lines {
        let scene = play(&mut random, START_MS + random_start(plan, &name, scenes.len(), span));
        lines += scene.said.len();
        scenes.push(scene);
    }
    let mut order: Vec<(i64, usize, usize)> =
        scenes.iter().enumerate().flat_map(|(s, scene)| scene.said.iter().enumerate().map(move |(k, said)| (said.ts, s, k))).collect();
    order.sort_unstable();
    let id_of = |scene: usize, line: usize| format!("{name}:{scene}.{line}");
    let mut rows = vec![json!({"room": name, "persona_id": PERSONA.0, "persona_name": PERSONA.1, "ts_res": "ms"})];
    for (_, s, k) in order {
        let Some(said) = scenes.get(s).and_then(|scene| scene.said.get(k)) else { continue };
        let mentions: Vec<Value> = said.mentions.iter().map(|(who, pos)| json!({"author_id": who, "pos": pos})).collect();
        let reply_to: Vec<String> = said.replies.iter().map(|r| id_of(s, *r)).collect();
        rows.push(json!({
            "room": name, "id": id_of(s, k), "ts": said.ts, "author_id": said.author.0, "author_name": said.author.1, "bot": said.bot,
            "content": said.text, "reply_to": (!said.bot).then_some(reply_to), "mentions": mentions,
        }));
    }
    rows
}

fn random_start(plan: Plan, room: &str, scene: usize, span: i64) -> i64 {
    Random::new(plan.seed, &format!("{room} scene {scene}")).between(0, span)
}

fn play(random: &mut Random, at: i64) -> Scene {
    let mut scene = Scene { said: Vec::new() };
    match random.below(20) {
        0..=4 => asks_persona(random, &mut scene, at),
        5..=9 => asks_room(random, &mut scene, at),
        10..=13 => side_talk(random, &mut scene, at),
        14..=16 => burst(random, &mut scene, at),
        17 => {
            scene.say(at, ("b1", "kilnbot"), "firing started".into(), &[]);
            if let Some(said) = scene.said.last_mut() {
                said.bot = true;
            }
        }
        _ => {
            let who = person(random);
            let text = filled(random, SAYS);
            scene.say(at, who, text, &[]);
        }
    }
    scene
}

fn person(random: &mut Random) -> (&'static str, &'static str) {
    random.pick(PEOPLE).copied().unwrap_or(PERSONA)
}

fn other(random: &mut Random, than: (&'static str, &'static str)) -> (&'static str, &'static str) {
    let rest: Vec<_> = PEOPLE.iter().copied().filter(|p| *p != than).collect();
    random.pick(&rest).copied().unwrap_or(PERSONA)
}

fn filled(random: &mut Random, from: &[&str]) -> String {
    let thing = random.pick(THINGS).copied().unwrap_or_default();
    random.pick(from).copied().unwrap_or_default().replace("{}", thing)
}

/// A question by name, sometimes in halves; the persona's answer; sometimes a follow-up without a name, and thanks.
fn asks_persona(random: &mut Random, scene: &mut Scene, at: i64) {
    let asker = person(random);
    let text = filled(random, ASKS);
    let mut last = scene.say_to(at, asker, PERSONA, &text, &[]);
    let mut ts = at;
    if random.chance(0.3) {
        ts += random.between(1_500, 20_000);
        let more = filled(random, SAYS);
        last = scene.say(ts, asker, more, &[last]);
    }
    if random.chance(0.85) {
        ts += random.between(10_000, 120_000);
        let text = filled(random, ANSWERS);
        let answer = scene.say_to(ts, PERSONA, asker, &text, &[last]);
        match random.below(4) {
            0 | 1 => {
                ts += random.between(15_000, 90_000);
                let text = format!("and {}", filled(random, ASKS));
                let again = scene.say(ts, asker, text, &[answer]);
                ts += random.between(10_000, 60_000);
                let text = filled(random, ANSWERS);
                scene.say(ts, PERSONA, text, &[again]);
            }
            2 => {
                scene.say(ts + random.between(5_000, 60_000), asker, "thanks".into(), &[answer]);
            }
            _ => {}
        }
    }
}

/// A question to whoever is there: answered by one or two people, by the persona, or by nobody.
fn asks_room(random: &mut Random, scene: &mut Scene, at: i64) {
    let asker = person(random);
    let text = format!("does anyone know, {}", filled(random, ASKS));
    let question = scene.say(at, asker, text, &[]);
    let first = at + random.between(10_000, 240_000);
    match random.below(10) {
        0..=4 => {
            let helper = other(random, asker);
            let text = filled(random, ANSWERS);
            if random.chance(0.5) {
                scene.say_to(first, helper, asker, &text, &[question]);
            } else {
                scene.say(first, helper, text, &[question]);
            }
        }
        5..=7 => {
            let text = filled(random, ANSWERS);
            scene.say_to(first, PERSONA, asker, &text, &[question]);
        }
        _ => {}
    }
}

/// Two people who talk with each other by name.
fn side_talk(random: &mut Random, scene: &mut Scene, at: i64) {
    let mut speaker = person(random);
    let mut listener = other(random, speaker);
    let mut ts = at;
    let mut replies: Vec<usize> = Vec::new();
    for _ in 0..random.between(2, 6) {
        let text = filled(random, SAYS);
        replies = vec![scene.say_to(ts, speaker, listener, &text, &replies)];
        ts += random.between(3_000, 60_000);
        (speaker, listener) = (listener, speaker);
    }
}

/// One person who says a thought in several lines.
fn burst(random: &mut Random, scene: &mut Scene, at: i64) {
    let who = person(random);
    let mut ts = at;
    let mut replies: Vec<usize> = Vec::new();
    for _ in 0..random.between(2, 5) {
        let text = filled(random, SAYS);
        replies = vec![scene.say(ts, who, text, &replies)];
        ts += random.between(500, 15_000);
    }
}
