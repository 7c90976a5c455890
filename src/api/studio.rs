//! A folder of documents becomes rooms. Everything that is wrong is reported at once; a room with a problem in it, or in one of
//! its personas, is broken, the others are not touched by it.

mod lone;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use super::{
    API_VERSION, check,
    decode::{Fault, decode, expected_one_of},
    grant::{self, GrantConfig, GrantSpec, PrivacyGrant},
    not_yet::{self, Kind},
    persona::{Persona, PersonaSpec},
    problem::{At, Problem, Problems},
    resolve::{PersonaConfig, RoomConfig, between},
    room::{Metadata, Room, RoomSpec},
    tree::{self, Node, Step, join, split},
};

/// Most files of a folder. A studio has tens; this is where somebody has named a wrong folder.
const FILES: usize = 1_000;
/// Most bytes of a file; an etcd object has 1.5 MB at most.
const FILE_BYTES: u64 = 1024 * 1024;
/// Deepest folder below the one that was named.
const DEPTH: usize = 8;

/// What was read from a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Studio {
    /// The rooms that could be named, by name.
    pub rooms: BTreeMap<String, Loaded>,
    /// The grants that fit, by name. One that cannot be read is none: it is taken back.
    pub grants: BTreeMap<String, GrantConfig>,
    /// Everything that is wrong.
    pub problems: Problems,
    /// Files that may hold more rooms than could be read from them. A room that was in one of these is not gone.
    pub(crate) unsure: BTreeSet<PathBuf>,
    /// Whether the folder itself could not be read whole.
    pub(crate) folder_unsure: bool,
}

/// A room of the folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The file it is in.
    pub file: PathBuf,
    /// The room, or its first problem.
    pub room: Result<Box<RoomConfig>, String>,
}

impl Studio {
    /// Reads every `*.yaml` and `*.yml` below `dir`.
    #[must_use]
    pub fn load(dir: &Path) -> Self {
        let mut reading = Reading::default();
        match files(dir) {
            Ok(files) => {
                for file in files {
                    reading.file(&file);
                }
                if reading.rooms.is_empty() && reading.problems.is_empty() {
                    let message = "holds no Room document (*.yaml, *.yml); deploy/samples of the checkout shows one";
                    reading.problems.push(Problem::new(dir, At::default(), "", message));
                }
            }
            Err(problem) => {
                reading.folder_unsure = true;
                reading.problems.push(problem);
            }
        }
        reading.finish()
    }
}

/// The documents' files, sorted, or why they cannot be listed.
pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>, Problem> {
    let mut found = Vec::new();
    let mut folders = vec![(dir.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let fault = |e: &std::io::Error| Problem::new(&folder, At::default(), "", format!("the folder cannot be read: {e}"));
        for entry in fs::read_dir(&folder).map_err(|e| fault(&e))? {
            let path = entry.map_err(|e| fault(&e))?.path();
            let hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
            if hidden {
                continue;
            }
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir());
            if is_folder && depth < DEPTH {
                folders.push((path, depth + 1));
            } else if is_folder {
                return Err(Problem::new(&path, At::default(), "", format!("is more than {DEPTH} folders deep")));
            } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
                found.push(path);
            }
            if found.len() > FILES || folders.len() > FILES {
                return Err(Problem::new(
                    dir,
                    At::default(),
                    "",
                    format!("holds more than {FILES} files or folders; name the folder of the rooms"),
                ));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The documents' files right in a folder, where it can be read; no more than a studio may have.
fn files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.filter_map(Result::ok).map(|e| e.path());
    let yaml = |p: &PathBuf| p.extension().is_some_and(|e| e == "yaml" || e == "yml") && p.is_file();
    let hidden = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
    Ok(entries.filter(|p| yaml(p) && !hidden(p)).take(FILES).collect())
}

fn read(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let open = fs::File::open(file).map_err(|e| format!("cannot be read: {e}"))?;
    open.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| format!("cannot be read: {e}"))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(format!("is larger than {FILE_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|e| format!("is not UTF-8 at byte {}", e.utf8_error().valid_up_to()))
}

/// A document whose kind and name are known.
struct Doc<T> {
    file: PathBuf,
    node: Node,
    spec: Option<T>,
    /// What was reported of it so far, by path; nothing more is said of these places.
    reported: Vec<Vec<Step>>,
    first: Option<String>,
}

#[derive(Default)]
struct Reading {
    rooms: BTreeMap<String, Doc<RoomSpec>>,
    personas: BTreeMap<String, Doc<PersonaSpec>>,
    grants: BTreeMap<String, Doc<GrantSpec>>,
    namespace: Option<(String, String)>,
    problems: Vec<Problem>,
    unsure: BTreeSet<PathBuf>,
    folder_unsure: bool,
    /// A persona without a document is left out of its room.
    personas_may_miss: bool,
}

impl Reading {
    fn file(&mut self, file: &Path) {
        let documents = match read(file) {
            Ok(text) => tree::parse(&text),
            Err(message) => Err((At::default(), message)),
        };
        match documents {
            Ok(documents) => {
                for node in documents {
                    self.document(file, node);
                }
            }
            Err((at, message)) => {
                self.unsure.insert(file.to_owned());
                self.problems.push(Problem::new(file, at, "", message));
            }
        }
    }

    fn document(&mut self, file: &Path, mut node: Node) {
        let kind = match kind_of(&node) {
            Ok(kind) => kind,
            Err((path, message)) => {
                self.unsure.insert(file.to_owned());
                self.problems.push(Problem::new(file, node.locate(&split(path)), path, message));
                return;
            }
        };
        let faults = not_yet::take_out(kind, &mut node);
        match kind {
            Kind::Room => {
                let (room, faults) = decode::<Room>(&node, faults);
                let parts = room.map(|r| (r.metadata, r.spec));
                if let Some((name, doc)) = self.keep(file, node, parts, faults, check::room) {
                    add("Room", name, doc, &mut self.rooms, &mut self.problems);
                }
            }
            Kind::PrivacyGrant => {
                let (grant, faults) = decode::<PrivacyGrant>(&node, faults);
                let parts = grant.map(|g| (g.metadata, g.spec));
                if let Some((name, doc)) = self.keep(file, node, parts, faults, grant::check) {
                    add("PrivacyGrant", name, doc, &mut self.grants, &mut self.problems);
                }
            }
            Kind::Persona => {
                let (persona, faults) = decode::<Persona>(&node, faults);
                let parts = persona.map(|p| (p.metadata, p.spec));
                if let Some((name, doc)) = self.keep(file, node, parts, faults, check::persona) {
                    add("Persona", name, doc, &mut self.personas, &mut self.problems);
                }
            }
        }
    }

    /// Reports a document's own problems; gives it back under its name, if it has one.
    fn keep<T>(
        &mut self,
        file: &Path,
        node: Node,
        parts: Option<(Metadata, T)>,
        faults: Vec<Fault>,
        rules: fn(&T) -> Vec<check::Found>,
    ) -> Option<(String, Doc<T>)> {
        let mut doc = Doc { file: file.to_owned(), node, spec: None, reported: Vec::new(), first: None };
        for fault in faults {
            let problem = Problem::new(file, fault.at, join(&fault.path), fault.message);
            doc.first.get_or_insert_with(|| problem.short());
            doc.reported.push(fault.path);
            self.problems.push(problem);
        }
        if let Some((metadata, spec)) = parts {
            for found in check::metadata(&metadata).into_iter().chain(rules(&spec)) {
                self.report(&mut doc, found);
            }
            if let Some(found) = self.same_namespace(file, metadata.namespace) {
                self.report(&mut doc, found);
            }
            doc.spec = Some(spec);
        }
        let Some(name) = doc.node.text("metadata.name").map(str::to_owned) else {
            self.unsure.insert(file.to_owned());
            return None;
        };
        Some((name, doc))
    }

    fn report<T>(&mut self, doc: &mut Doc<T>, (path, message): check::Found) {
        let steps = split(&path);
        // What was taken out as wrong is missing now; that is no second problem.
        if doc.reported.iter().any(|r| r.starts_with(&steps) || steps.starts_with(r)) {
            return;
        }
        let problem = Problem::new(&doc.file, doc.node.locate(&steps), path, message);
        doc.first.get_or_insert_with(|| problem.short());
        doc.reported.push(steps);
        self.problems.push(problem);
    }

    /// A folder is one namespace: members are looked for in their room's own.
    fn same_namespace(&mut self, file: &Path, namespace: Option<String>) -> Option<check::Found> {
        let namespace = namespace?;
        match &self.namespace {
            None => {
                self.namespace = Some((namespace, file.display().to_string()));
                None
            }
            Some((first, _)) if *first == namespace => None,
            Some((first, place)) => {
                Some(("metadata.namespace".to_owned(), format!("is {namespace:?}, but {place} is in {first:?}; a folder is one namespace")))
            }
        }
    }

    fn finish(mut self) -> Studio {
        let mut rooms = std::mem::take(&mut self.rooms);
        let mut loaded = BTreeMap::new();
        for (name, doc) in &mut rooms {
            let room = self.resolve(name, doc);
            loaded.insert(name.clone(), Loaded { file: doc.file.clone(), room });
        }
        let grants = self.grants(&loaded);
        Studio { rooms: loaded, grants, problems: Problems::sorted(self.problems), unsure: self.unsure, folder_unsure: self.folder_unsure }
    }

    /// The grants between rooms of the folder.
    fn grants(&mut self, rooms: &BTreeMap<String, Loaded>) -> BTreeMap<String, GrantConfig> {
        let mut fit = BTreeMap::new();
        for (name, mut doc) in std::mem::take(&mut self.grants) {
            let Some(spec) = doc.spec.take() else { continue };
            let rooms_named = [("spec.from.roomRef.name", spec.from.room_ref.as_ref()), ("spec.to.roomRef.name", Some(&spec.to.room_ref))];
            for (path, room) in rooms_named {
                if let Some(room) = room.filter(|r| !rooms.contains_key(&r.name)) {
                    let names: Vec<&str> = rooms.keys().take(12).map(String::as_str).collect();
                    let message = format!("there is no Room {:?}, {}", room.name, expected_one_of(&room.name, &names));
                    self.report(&mut doc, (path.to_owned(), message));
                }
            }
            if doc.first.is_none() {
                fit.insert(name.clone(), GrantConfig { name, spec });
            }
        }
        fit
    }

    fn resolve(&mut self, name: &str, doc: &mut Doc<RoomSpec>) -> Result<Box<RoomConfig>, String> {
        let Some(spec) = doc.spec.take() else { return Err(doc.first.clone().unwrap_or_default()) };
        let personas = std::mem::take(&mut self.personas);
        let mut members = BTreeMap::new();
        let mut broken = None;
        for (i, member) in spec.members.iter().enumerate() {
            match personas.get_key_value(&member.persona) {
                Some((id, Doc { spec: Some(spec), first: None, .. })) => {
                    members.insert(i, (id.as_str(), spec));
                }
                // Its own problem is reported where it is.
                Some((_, persona)) => broken = persona.first.clone().or(broken),
                None if self.personas_may_miss => {}
                None => {
                    let names: Vec<&str> = personas.keys().take(12).map(String::as_str).collect();
                    let message = format!("there is no Persona {:?}, {}", member.persona, expected_one_of(&member.persona, &names));
                    self.report(doc, (format!("spec.members[{i}].persona"), message));
                }
            }
        }
        for found in between(&spec, &members) {
            self.report(doc, found);
        }
        let configs = members.values().map(|(id, spec)| PersonaConfig::new(id, spec)).collect();
        self.personas = personas;
        match doc.first.clone().or(broken) {
            Some(first) => Err(first),
            None => Ok(Box::new(RoomConfig::new(name, &doc.file, &spec, configs))),
        }
    }
}

/// Two documents of one kind and name: both files are named, and neither is used.
fn add<T>(kind: &str, name: String, mut doc: Doc<T>, docs: &mut BTreeMap<String, Doc<T>>, problems: &mut Vec<Problem>) {
    let steps = split("metadata.name");
    let Some(first) = docs.get_mut(&name) else {
        docs.insert(name, doc);
        return;
    };
    let at = first.node.locate(&steps);
    let message = format!("there is a {kind} {name:?} in {}:{} already; rename or remove one", first.file.display(), at.line);
    let problem = Problem::new(&doc.file, doc.node.locate(&steps), "metadata.name", message);
    first.first.get_or_insert_with(|| problem.short());
    doc.first.get_or_insert_with(|| problem.short());
    problems.push(problem);
}

fn kind_of(node: &Node) -> Result<Kind, (&'static str, String)> {
    match node.text("apiVersion") {
        Some(API_VERSION) => {}
        Some(other) => return Err(("apiVersion", format!("is {other:?}, expected {API_VERSION}"))),
        None => return Err(("apiVersion", format!("is required: {API_VERSION}"))),
    }
    match node.text("kind") {
        Some("Room") => Ok(Kind::Room),
        Some("Persona") => Ok(Kind::Persona),
        Some("PrivacyGrant") => Ok(Kind::PrivacyGrant),
        Some(other) => Err(("kind", format!("{other:?} is not known, {}", expected_one_of(other, &["Room", "Persona", "PrivacyGrant"])))),
        None => Err(("kind", "is required: Room, Persona or PrivacyGrant".to_owned())),
    }
}
