//! A `parlor dev` process on a folder of its own, and what its users do: say a line, look for the answer, open the page.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use reqwest::Client;
use secrecy::SecretString;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::super::BenchError;
use crate::{
    cli::Running,
    ledger::{Bell, Hub, HubOptions, Ledger, Page},
    ports::Posted,
};

/// What has not happened by then does not happen.
const PATIENCE: Duration = Duration::from_mins(1);
/// Something on its way is looked for when the bell rings, and after this without it, for a lost ring.
const LOOK: Duration = Duration::from_millis(50);

/// The process and its folder, which goes when this is dropped; the process is killed then if it still runs.
pub(super) struct Dev {
    folder: PathBuf,
    model: Option<String>,
    running: Option<Up>,
}

struct Up {
    child: Child,
    notice: Running,
    token: String,
    client: Client,
    ledger: Ledger,
    hub: Hub,
    _stop: DropGuard,
}

/// A room that is listened to.
pub(super) struct Ear {
    stream: i64,
    bell: Bell,
}

/// A line that was said.
pub(super) struct Said {
    pub begun: Instant,
    /// Until the console said that it is stored.
    pub stored: Duration,
    pub seq: i64,
}

impl Dev {
    /// A studio of these documents; `model` is the address of an OpenAI-compatible model.
    pub(super) fn new(folder: PathBuf, files: &[(String, String)], model: Option<String>) -> Result<Self, BenchError> {
        let studio = folder.join("studio");
        fs::create_dir_all(&studio).map_err(BenchError::file(&studio))?;
        for (name, text) in files {
            let path = studio.join(name);
            fs::write(&path, text).map_err(BenchError::file(&path))?;
        }
        Ok(Self { folder, model, running: None })
    }

    /// Starts it; gives the time until the page is served.
    pub(super) async fn start(&mut self) -> Result<Duration, BenchError> {
        let (state, log) = (self.folder.join("state"), self.folder.join("log"));
        let errors = File::create(&log).map_err(BenchError::file(&log))?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("dev").arg(self.folder.join("studio")).arg("--state").arg(&state).args(["--listen", "127.0.0.1:0"]);
        // The studio decides which model is asked, not the environment of whoever runs the bench.
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PARLOR_DATABASE_URL"] {
            command.env_remove(name);
        }
        command.envs(self.model.iter().map(|url| ("OPENAI_BASE_URL", url)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).kill_on_drop(true);
        let begun = Instant::now();
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or(BenchError::Late("parlor dev has no output"))?).lines();
        let announced = async {
            while let Some(line) = lines.next_line().await? {
                if line.trim_start().starts_with("console") {
                    return Ok(true);
                }
            }
            Ok::<_, std::io::Error>(false)
        };
        if !timeout(PATIENCE, announced).await.is_ok_and(|found| found.unwrap_or(false)) {
            let said = fs::read_to_string(&log).map_err(BenchError::file(&log))?;
            return Err(BenchError::NoStart(said.trim().to_owned()));
        }
        let notice = Running::read(&state).map_err(|e| BenchError::NoStart(e.to_string()))?;
        let client = Client::builder().no_proxy().timeout(PATIENCE).build()?;
        client.get(format!("{}/", notice.console)).send().await?.error_for_status()?.bytes().await?;
        let took = begun.elapsed();
        let token = fs::read_to_string(&notice.say_token).map_err(BenchError::file(&notice.say_token))?.trim().to_owned();
        let url = SecretString::from(notice.database.as_str());
        let ledger = Ledger::connect(&url, "parlor-bench", 1)?;
        let stop = CancellationToken::new();
        let hub = Hub::start(&ledger, HubOptions::default(), &TaskTracker::new(), stop.clone())?;
        self.running = Some(Up { child, notice, token, client, ledger, hub, _stop: stop.drop_guard() });
        Ok(took)
    }

    fn up(&self) -> Result<&Up, BenchError> {
        self.running.as_ref().ok_or(BenchError::Late("parlor dev does not run"))
    }

    /// Says a line as a visitor's program does.
    pub(super) async fn say(&self, room: &str, text: &str) -> Result<Said, BenchError> {
        let Up { notice, token, client, .. } = self.up()?;
        let body = json!({"as": "ruth", "text": text, "client_id": uuid::Uuid::new_v4().to_string()});
        let begun = Instant::now();
        let answer = client.post(format!("{}/api/rooms/{room}/lines", notice.console)).bearer_auth(token).json(&body).send().await?;
        let posted: Posted = answer.error_for_status()?.json().await?;
        Ok(Said { begun, stored: begun.elapsed(), seq: i64::try_from(posted.seq).unwrap_or(i64::MAX) })
    }

    /// Listens to a room.
    pub(super) async fn ear(&self, room: &str) -> Result<Ear, BenchError> {
        let Up { ledger, hub, .. } = self.up()?;
        let streams = ledger.reader().streams().await?;
        let stream = streams.iter().find(|s| s.room == room).ok_or(BenchError::Late("the room has no stream"))?.id;
        Ok(Ear { stream, bell: hub.subscribe(stream) })
    }

    /// When the first post of a persona after a line was read by this process.
    pub(super) async fn own_line(&self, ear: &mut Ear, after: i64) -> Result<Instant, BenchError> {
        let reader = self.up()?.ledger.reader();
        let found = async {
            loop {
                let items = reader.items(ear.stream, Page::After(after), 10).await?;
                if items.iter().any(|i| i.author_kind == parlor_core::AuthorKind::Own) {
                    return Ok(Instant::now());
                }
                // A lost ring is made up for by the next look.
                let _ = timeout(LOOK, ear.bell.rung()).await;
            }
        };
        timeout(PATIENCE, found).await.unwrap_or(Err(BenchError::Late("no persona answered")))
    }

    /// Resident memory of the process, its Postgres aside.
    pub(super) fn resident_mib(&self) -> Result<f64, BenchError> {
        let path = PathBuf::from(format!("/proc/{}/status", self.up()?.notice.pid));
        let text = fs::read_to_string(&path).map_err(BenchError::file(&path))?;
        let kib = text.lines().find_map(|l| l.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
        kib.map(|k| k / 1_024.0).ok_or(BenchError::NoRss(path))
    }

    /// Stops it in order and waits for its end.
    pub(super) async fn stop(&mut self) -> Result<(), BenchError> {
        let Some(Up { mut child, notice, ledger, .. }) = self.running.take() else { return Ok(()) };
        ledger.close().await;
        Command::new("kill").arg(notice.pid.to_string()).status().await?;
        timeout(PATIENCE, child.wait()).await.map_err(|_| BenchError::Late("parlor dev did not stop"))??;
        Ok(())
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // The process first, so that its server finds its folder while it ends.
        self.running = None;
        let _ = fs::remove_dir_all(&self.folder);
    }
}
