//! The rules of the house that no compiler checks: who may import whom, sizes and names of files, crates that must not come in,
//! and docs that keep up with the codes.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use parlor_core::{Judge, What, Why};

/// Most lines of a source file: what one can still hold in mind.
const LINES: usize = 450;

/// Who may name whom inside `src/`. A module that is not listed here has no place yet, and the test says so.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("ports", &[]),
    ("telemetry", &[]),
    ("api", &["ports"]),
    ("ledger", &["ports", "telemetry"]),
    ("actor", &["api", "ledger", "ports", "telemetry"]),
    ("gateway", &["api", "ledger", "ports", "telemetry"]),
    ("broker", &["api", "ledger", "ports", "telemetry"]),
    ("console", &["api", "ledger", "ports", "telemetry"]),
    ("replay", &["api", "ledger", "ports", "telemetry"]),
    ("cli", &["api", "ledger", "ports", "telemetry"]),
    ("dev", &["actor", "api", "broker", "cli", "console", "gateway", "ledger", "ports", "replay", "telemetry"]),
    ("bench", &["actor", "api", "broker", "cli", "console", "dev", "gateway", "ledger", "ports", "replay", "telemetry"]),
    // It drives the real actor on a real ledger, and owes its dice to replay.
    ("sim", &["actor", "dev", "ledger", "ports", "replay"]),
];

/// Crates that must not come in, by whatever way: they bring a second TLS stack.
const BANNED: [&str; 5] = ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls"];
/// Crates that our own code must not use: `jiff` is our clock face.
const BANNED_DIRECT: [&str; 1] = ["chrono"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of the checkout that is ours, with its path from the root.
fn files() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let ours = !name.starts_with('.') || matches!(name.as_str(), ".ci" | ".gitignore");
            if path.is_dir() {
                if ours && name != "target" {
                    folders.push(path);
                }
            } else if ours {
                found.push((path.strip_prefix(root()).unwrap().to_string_lossy().into_owned(), path));
            }
        }
    }
    found.sort();
    assert!(found.iter().any(|(name, _)| name == "src/lib.rs"), "the checkout was not found");
    found
}

/// Name and text of every Rust file of ours.
fn sources() -> Vec<(String, String)> {
    let rust = |name: &String| Path::new(name).extension().is_some_and(|e| e == "rs");
    files().into_iter().filter(|(name, _)| rust(name)).map(|(name, path)| (name, fs::read_to_string(path).unwrap())).collect()
}

fn nothing(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The modules that a source names by `crate::`, with the line.
fn named(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices("crate::") {
        let line = text[..start].lines().count().max(1);
        let after = &text[start + "crate::".len()..];
        // `use crate::{actor::{x, y}, api}` names what stands at the first level of the braces.
        let (mut depth, mut word, mut heads) = (0_usize, String::new(), Vec::new());
        for c in after.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                'a'..='z' | '_' => word.push(c),
                _ if depth == 1 && c.is_whitespace() && word.is_empty() => {}
                _ => word.push(' '),
            }
            let ended = matches!(c, ',' | '}') || (depth == 0 && !(c.is_ascii_lowercase() || c == '_'));
            if ended && depth <= 1 {
                heads.push(std::mem::take(&mut word));
            }
            if ended && depth == 0 {
                break;
            }
        }
        heads.retain(|h| !h.trim().is_empty());
        found.extend(heads.iter().filter_map(|h| h.split(' ').next()).filter(|h| !h.is_empty()).map(|h| (line, h.to_owned())));
    }
    found
}

#[test]
fn modules_import_only_downwards() {
    let known: BTreeSet<&str> = MAY_NAME.iter().map(|(m, _)| *m).collect();
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        let Some(inside) = file.strip_prefix("src/") else { continue };
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if matches!(module, "core" | "twin" | "main" | "lib") {
            continue;
        }
        let Some((_, may)) = MAY_NAME.iter().find(|(m, _)| *m == module) else {
            wrong.push(format!("{file}: module {module} has no place in the order of modules; give it one in tests/it/tidy.rs"));
            continue;
        };
        for (line, other) in named(&text) {
            if other != module && known.contains(other.as_str()) && !may.contains(&other.as_str()) {
                wrong.push(format!(
                    "{file}:{line}: {module} must not name {other}; put a trait into ports, or the code into the lower module"
                ));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn the_order_of_modules_is_seen_in_each_form() {
    let text = "use crate::actor::Mind;\nuse crate::{\n    api::{Room, tree::Node},\n    ledger,\n};\nfn x(y: crate::broker::Call) {}\n";
    let names: Vec<(usize, String)> = named(text);
    let want = [(1, "actor"), (2, "api"), (2, "ledger"), (6, "broker")].map(|(line, name)| (line, name.to_owned()));
    assert_eq!(names, want);
}

#[test]
fn the_core_depends_on_nothing_that_could_do_io() {
    let text = fs::read_to_string(root().join("src/core/Cargo.toml")).unwrap();
    let section = text.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names: Vec<&str> = section.lines().filter_map(|l| l.split(['.', ' ', '=']).next()).filter(|n| !n.is_empty()).collect();
    assert_eq!(names, ["serde", "serde_json", "thiserror"]);
    let wrong: Vec<String> = sources()
        .into_iter()
        .filter(|(file, _)| file.starts_with("src/core/"))
        .flat_map(|(file, text)| {
            ["std::time", "std::fs", "std::net", "std::thread", "std::env", "HashMap", "HashSet"]
                .into_iter()
                .filter(|word| text.split("#[cfg(test)]").next().unwrap_or_default().contains(word) && !file.contains("test"))
                .map(|word| format!("{file}: holds {word}: the core has no clock, no I/O and ordered maps only"))
                .collect::<Vec<_>>()
        })
        .collect();
    nothing(&wrong);
}

#[test]
fn banned_crates_are_not_in_the_tree() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let mut wrong: Vec<String> = BANNED
        .iter()
        .filter(|c| lock.contains(&format!("name = \"{c}\"")))
        .map(|c| format!("Cargo.lock: {c} came in; see cargo tree -i {c}"))
        .collect();
    for (file, path) in files().into_iter().filter(|(name, _)| name.ends_with("Cargo.toml")) {
        let text = fs::read_to_string(path).unwrap();
        for banned in BANNED.iter().chain(&BANNED_DIRECT) {
            if text.lines().any(|l| l.split(['=', '.', ' ']).next() == Some(banned)) {
                wrong.push(format!("{file}: {banned} must not be a dependency"));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn files_have_a_size_and_a_name() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        let lines = text.lines().count();
        if lines > LINES {
            wrong.push(format!("{file}: {lines} lines, at most {LINES}"));
        }
        let stem = Path::new(&file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // `tests/it/main.rs` and the roots of crates have the names that cargo wants.
        if matches!(stem.as_str(), "mod" | "util" | "utils" | "helper" | "helpers" | "common" | "manager") {
            wrong.push(format!("{file}: name it after what it is for"));
        }
        for (i, line) in text.lines().enumerate() {
            if line.trim_start().starts_with(concat!("#[", "allow(")) || line.trim_start().starts_with(concat!("#![", "allow(")) {
                wrong.push(format!("{file}:{}: use #[expect(.., reason = \"..\")]", i + 1));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn no_file_names_a_machine() {
    // Written in pieces, so that this file does not hold them.
    let places = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("..", "/shared"), concat!("/Us", "ers/")];
    let mut wrong = Vec::new();
    for (file, path) in files() {
        let Ok(text) = fs::read_to_string(path) else { continue };
        for (i, line) in text.lines().enumerate() {
            if let Some(place) = places.iter().find(|p| line.contains(*p)) {
                wrong.push(format!("{file}:{}: names a place of one machine: {place}", i + 1));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn the_docs_list_every_code_of_a_decision() {
    let docs = fs::read_to_string(root().join("docs/decisions.md")).unwrap();
    let rows = What::ALL.iter().map(|c| (c.code(), c.meaning())).chain(Why::ALL.iter().map(|c| (c.code(), c.meaning())));
    let wrong: Vec<String> = rows
        .map(|(code, meaning)| format!("| `{code}` | {meaning}"))
        .filter(|row| !docs.lines().any(|l| l.starts_with(row.as_str())))
        .map(|row| format!("docs/decisions.md lacks the row: {row} |"))
        .collect();
    nothing(&wrong);
    let rows = docs.lines().filter(|l| l.starts_with("| `")).count();
    assert_eq!(rows, What::ALL.len() + Why::ALL.len(), "docs/decisions.md has a row for a code that is gone");
}

#[test]
fn every_link_between_docs_leads_somewhere() {
    let mut wrong = Vec::new();
    for (file, path) in files().into_iter().filter(|(_, path)| path.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !path.parent().unwrap().join(target).exists() {
                wrong.push(format!("{file}: the link {link} leads nowhere"));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn the_docs_explain_every_number_of_the_models() {
    let docs = fs::read_to_string(root().join("docs/judgement.md")).unwrap();
    let rows = Judge::ALL.into_iter().flat_map(Judge::numbers).map(|(name, meaning)| format!("| `{name}` | {meaning} |"));
    let wrong: Vec<String> = rows.filter(|row| !docs.contains(row)).map(|row| format!("docs/judgement.md lacks the row: {row}")).collect();
    nothing(&wrong);
}
