//! A real `parlor dev` process on a folder of its own, spoken to by the real `parlor say`, `tail` and `why`.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::Value;

/// How long anything may take on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(40);

/// Far longer than any wait of [`ROOM`].
const SILENCE: Duration = Duration::from_millis(1_500);

/// A room whose waits are short, so that a test that proves silence need not wait long.
pub(crate) const ROOM: &str = "apiVersion: parlor.dev/v1alpha1
kind: Room
metadata: { name: kiln }
spec:
  surface: { console: {} }
  audience: Room
  members: [{ persona: wren }]
  mode: Active
  floor: { draftQuiet: 50ms, turnDone: 100ms, turnOpen: 100ms, alone: 100ms, cooldown: 10ms, read: 10ms }
";
/// Its persona, on the stub model.
pub(crate) const WREN: &str = "apiVersion: parlor.dev/v1alpha1
kind: Persona
metadata: { name: wren }
spec:
  displayName: Wren
  identity: You fire the kilns.
";

/// The sample studio with the waits of [`ROOM`].
pub(crate) fn samples() -> Studio {
    let waits = ROOM.split("floor: { ").nth(1).unwrap().trim_end().trim_end_matches(" }");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("deploy/samples");
    let files = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let quick = |text: String| match text.split_once("  floor:\n") {
        Some((before, after)) => format!("{before}  floor:\n    {}\n{after}", waits.replace(", ", "\n    ")),
        None if text.contains("kind: Room") => format!("{text}  floor: {{ {waits} }}\n"),
        None => text,
    };
    let files: Vec<(String, String)> =
        files.map(|f| (f.file_name().unwrap().to_str().unwrap().to_owned(), quick(fs::read_to_string(f).unwrap()))).collect();
    Studio::new(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>())
}

/// A studio folder and a state folder, and the process on them while it runs. The process is killed when this is dropped.
pub(crate) struct Studio {
    folder: tempfile::TempDir,
    child: Option<Child>,
    /// What it printed on standard error so far.
    said: Arc<Mutex<String>>,
    pub(crate) address: Option<SocketAddr>,
}

/// The binary with a clean environment: no variable of the machine reaches it.
pub(crate) fn parlor() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parlor"));
    command.env_clear().env("USER", "ruth").env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    command
}

impl Studio {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("studio")).unwrap();
        let studio = Self { folder, child: None, said: Arc::default(), address: None };
        for (name, text) in files {
            studio.write(name, text);
        }
        studio
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Writes a document's file the way editors do: beside it, then in its place.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join("studio").join(name);
        fs::write(path.with_extension("draft"), text).unwrap();
        fs::rename(path.with_extension("draft"), path).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.folder.path().join("studio").join(name)).unwrap();
    }

    /// The command that `start` runs.
    pub(crate) fn command(&self, listen: &str) -> Command {
        let mut command = parlor();
        command.arg("dev").arg(self.folder.path().join("studio")).arg("--state").arg(self.state()).args(["--listen", listen]);
        command
    }

    /// Starts the process; it is up when it prints the console's address. Gives the time that took.
    pub(crate) fn start(&mut self) -> Duration {
        let began = Instant::now();
        let mut child = self.command("127.0.0.1:0").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        self.child = Some(child);
        let said = Arc::clone(&self.said);
        std::thread::spawn(move || {
            for line in BufReader::new(err).lines().map_while(Result::ok) {
                said.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let address = BufReader::new(out).lines().map_while(Result::ok).find_map(|line| {
            let rest = line.trim().strip_prefix("console")?.trim().to_owned();
            rest.strip_prefix("http://")?.strip_suffix('/')?.parse().ok()
        });
        assert!(address.is_some(), "it did not start: {}", self.said());
        self.address = address;
        began.elapsed()
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// As a power cut would end it.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Asks it to stop and waits until it has. Gives whether it ended well.
    pub(crate) fn stop(&mut self) -> bool {
        let mut child = self.child.take().unwrap();
        assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status.success();
            }
            assert!(began.elapsed() < DEADLINE, "it does not stop: {}", self.said());
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Runs `parlor COMMAND ARGS.. --state ..`.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        parlor().args(args).arg("--state").arg(self.state()).output().unwrap()
    }

    /// Runs a command that has to succeed; each line of its output is a JSON object.
    pub(crate) fn json(&self, args: &[&str]) -> Vec<Value> {
        let output = self.run(&[args, &["--json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }

    /// Says something and gives its number.
    pub(crate) fn say(&self, room: &str, text: &str) -> i64 {
        self.json(&["say", room, text])[0]["seq"].as_i64().unwrap()
    }

    /// What personas posted in a room: number and text.
    pub(crate) fn posts(&self, room: &str) -> Vec<(i64, String)> {
        let own = |line: &Value| line["author_kind"] == "own" && line["kind"] == "message";
        let post = |line: Value| (line["seq"].as_i64().unwrap(), line["text"].as_str().unwrap().to_owned());
        self.json(&["tail", room, "-n", "500"]).into_iter().filter(own).map(post).collect()
    }

    /// `what why` of each decision of a room.
    pub(crate) fn decisions(&self, room: &str) -> Vec<String> {
        let word = |d: &Value| format!("{} {}", d["what"].as_str().unwrap(), d["why"].as_str().unwrap());
        self.json(&["why", room, "-n", "500"]).iter().filter(|d| d["type"] == "decision").map(word).collect()
    }

    /// That no persona posts for a while: a condition that must not come true within the time.
    pub(crate) fn silent(&self, room: &str, posts: usize) {
        let began = Instant::now();
        while began.elapsed() < SILENCE {
            assert_eq!(self.posts(room).len(), posts, "{:?}", self.posts(room));
        }
    }

    /// A page of the console.
    pub(crate) fn page(&self, path: &str) -> String {
        let address = self.address.unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        text
    }

    /// Waits until something holds.
    pub(crate) fn until<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            assert!(began.elapsed() < DEADLINE, "{what} did not happen; it said: {}", self.said());
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
