//! A failing script as an archive that `parlor replay` loads (docs/replay.md): the lines that people say, at the times when
//! they say them. What an archive cannot tell (crashes, models, the operator) stands in a field of the header that replay passes
//! over and `parlor sim --script` plays again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use parlor_core::AuthorKind;
use serde_json::{Value, json};

use super::{
    check::Violation,
    script::{Act, Script},
    words,
};

/// Time of the first line, ms.
const START_MS: i64 = 1_700_000_000_000;

/// Writes the script; the path of the file.
pub(super) fn write(folder: &Path, script: &Script, violation: &Violation) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}-{:016x}.jsonl", violation.rule.code(), script.seed));
    let rows = rows(script, violation);
    let text: Vec<String> = rows.iter().map(Value::to_string).collect();
    fs::write(&path, text.join("\n") + "\n")?;
    Ok(path)
}

/// The script of an archive that was written here.
pub(super) fn read(path: &Path) -> io::Result<Script> {
    let text = fs::read_to_string(path)?;
    let first: Value = serde_json::from_str(text.lines().next().unwrap_or_default())?;
    let script = first.pointer("/sim/script").ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its first row holds no script"))?;
    Ok(serde_json::from_value(script.clone())?)
}

fn rows(script: &Script, violation: &Violation) -> Vec<Value> {
    let persona = words::members(1);
    let persona = persona.first();
    let mut rows: Vec<Value> = (0..script.rooms.len())
        .map(|room| {
            json!({
                "room": name(room), "persona_id": persona.map(|p| &p.id), "persona_name": persona.map(|p| &p.name), "ts_res": "ms",
                "sim": if room == 0 { json!({ "script": script, "violation": violation }) } else { Value::Null },
            })
        })
        .collect();
    let mut ts = START_MS;
    let mut said: Vec<Vec<usize>> = vec![Vec::new(); script.rooms.len()];
    for m in &script.moves {
        match &m.act {
            Act::Wait { ms } => ts += ms,
            Act::Say { who, line, reply } => {
                let Some(lines) = said.get_mut(m.room) else { continue };
                let to = reply.and_then(|n| lines.iter().rev().nth(n)).and_then(|at| rows.get(*at)).and_then(|r| r.get("id").cloned());
                let (id, author, kind) = words::person(*who);
                let bot = !matches!(kind, AuthorKind::Human | AuthorKind::Owner);
                let number = format!("m{}", lines.len() + 1);
                lines.push(rows.len());
                rows.push(json!({
                    "room": name(m.room), "id": number, "ts": ts, "author_id": id, "author_name": author, "bot": bot,
                    "content": words::line(*line), "reply_to": to,
                }));
            }
            // The file does not say when: such a line is kept from the machine.
            Act::Delete { back } => {
                let at = said.get(m.room).and_then(|lines| lines.iter().rev().nth(*back));
                if let Some(row) = at.and_then(|at| rows.get_mut(*at)).and_then(Value::as_object_mut) {
                    row.insert("deleted".into(), true.into());
                }
            }
            _ => {}
        }
    }
    rows
}

fn name(room: usize) -> String {
    format!("sim-{room}")
}
