//! A real headless Chromium, driven through chromedriver. Both come from Debian (`chromium`, `chromium-driver`); a test that
//! needs them fails without them, and says so.

use std::{process::Stdio, time::Duration};

use axum::http::Method;
use fantoccini::{
    Client, ClientBuilder, Locator,
    elements::Element,
    error::CmdError,
    key::Key,
    wd::{Capabilities, WebDriverCompatibleCommand},
};
use hyper_util::client::legacy::connect::HttpConnector;
use reqwest::Url;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep, timeout},
};

/// How long anything in the browser may take on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Browsers at once: each takes a good part of a processor while it starts. Only one test needs two.
static SLOTS: Semaphore = Semaphore::const_new(3);

/// A browser and its driver; both end with it.
pub(crate) struct Browser {
    pub(crate) tab: Client,
    driver: Child,
    /// The browser's own process: its driver does not take it along when it is ended by force.
    chromium: Option<u64>,
    /// Kept open: what the driver writes must go somewhere.
    _out: Lines<BufReader<ChildStdout>>,
    _profile: tempfile::TempDir,
    _slot: SemaphorePermit<'static>,
}

impl Browser {
    /// Starts one with more flags than every test needs.
    pub(crate) async fn start(flags: &[&str]) -> Self {
        let slot = SLOTS.acquire().await.unwrap();
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|e| {
                panic!("chromedriver cannot be started ({e}): install Debian's chromium and chromium-driver, as `make test` does")
            });
        let mut out = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = timeout(DEADLINE, port_of(&mut out)).await.expect("chromedriver says its port in time");
        let profile = tempfile::tempdir().unwrap();
        let mut all: Vec<String> = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--window-size=1280,860",
        ]
        .map(String::from)
        .into();
        all.push(format!("--user-data-dir={}", profile.path().display()));
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let Value::Object(wanted) = json!({
            "browserName": "chrome",
            "goog:chromeOptions": {"args": all},
            "goog:loggingPrefs": {"browser": "ALL"},
        }) else {
            unreachable!("a literal object")
        };
        let capabilities: Capabilities = wanted.into_iter().collect();
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let connect = builder.capabilities(capabilities);
        let address = format!("http://127.0.0.1:{port}");
        let tab = timeout(DEADLINE, connect.connect(&address))
            .await
            .expect("Chromium starts in time")
            .unwrap_or_else(|e| panic!("Chromium cannot be started: install Debian's chromium, as `make test` does: {e}"));
        let chromium = tab.capabilities().and_then(|c| c.get("goog:processID")).and_then(Value::as_u64);
        Self { tab, driver, chromium, _out: out, _profile: profile, _slot: slot }
    }

    /// What the browser wrote into its console since the last look: errors, warnings, assets that were refused.
    pub(crate) async fn log(&self) -> Vec<String> {
        let log = self.command("se/log", json!({"type": "browser"})).await;
        log.as_array().unwrap().iter().map(|entry| format!("{} {}", entry["level"], entry["message"])).collect()
    }

    /// Ends the browser in order.
    pub(crate) async fn close(mut self) {
        let _ = self.tab.clone().close().await;
        let _ = self.driver.kill().await;
        self.chromium = None;
    }

    /// A command of the browser's own inspection protocol.
    pub(crate) async fn inspect(&self, cmd: &str, params: Value) -> Value {
        self.command("goog/cdp/execute", json!({"cmd": cmd, "params": params})).await
    }

    async fn command(&self, path: &'static str, body: Value) -> Value {
        self.tab.issue_cmd(Extra { path, body }).await.unwrap()
    }

    /// Opens another tab and goes there.
    pub(crate) async fn another_tab(&self) {
        let new = self.tab.new_window(true).await.unwrap();
        self.tab.switch_to_window(new.handle).await.unwrap();
    }

    /// Brings the n-th tab to the front.
    pub(crate) async fn front(&self, n: usize) {
        let all = self.tab.windows().await.unwrap();
        self.tab.switch_to_window(all[n].clone()).await.unwrap();
        // Switching alone leaves the tab hidden.
        self.inspect("Page.bringToFront", json!({})).await;
    }

    /// Opens a room as somebody new.
    pub(crate) async fn enter(&self, room: &str, name: &str) {
        self.tab.goto(&format!("{room}?as=new")).await.unwrap();
        self.find("#text[name=name]").await.send_keys(name).await.unwrap();
        self.tab.find(Locator::Css(".enter button")).await.unwrap().click().await.unwrap();
        self.find("textarea#text").await;
    }

    /// Types a line and presses Enter.
    pub(crate) async fn write(&self, text: &str) {
        let field = self.find("textarea#text").await;
        field.send_keys(text).await.unwrap();
        field.send_keys(&Key::Enter.to_string()).await.unwrap();
    }

    pub(crate) async fn find(&self, css: &str) -> Element {
        self.until(css, || async { self.tab.find(Locator::Css(css)).await.ok() }).await
    }

    /// Waits until the script says yes; `what` names it in the failure.
    pub(crate) async fn until_true(&self, what: &str, script: &str) {
        self.until(what, || async { (self.js(script).await == Value::Bool(true)).then_some(()) }).await;
    }

    /// Waits until the text stands somewhere on the page.
    pub(crate) async fn until_text(&self, css: &str, text: &str) {
        let script = format!("return [...document.querySelectorAll({})].some((e) => e.textContent.includes({}))", json!(css), json!(text));
        self.until_true(&format!("{text:?} in {css}"), &script).await;
    }

    pub(crate) async fn js(&self, script: &str) -> Value {
        match self.tab.execute(script, vec![]).await {
            Ok(value) => value,
            // A page that is being left cannot answer; the caller asks again.
            Err(CmdError::Standard(_)) => Value::Null,
            Err(e) => panic!("the browser is gone: {e}"),
        }
    }

    async fn until<T, F: Future<Output = Option<T>>>(&self, what: &str, mut ask: impl FnMut() -> F) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            if Instant::now() >= end {
                self.picture("failed").await;
                let body = self.js("return document.body.innerText.slice(-1500)").await;
                panic!("{what}: not in {DEADLINE:?}; the end of the page: {body}; the log: {:?}", self.log().await);
            }
            // Between two looks of a condition with a deadline.
            sleep(Duration::from_millis(40)).await;
        }
    }

    /// Takes a picture for people to look at, into the build folder.
    pub(crate) async fn picture(&self, name: &str) {
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("console");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), self.tab.screenshot().await.unwrap()).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(pid) = self.chromium {
            let _ = std::process::Command::new("kill").arg("-KILL").arg(pid.to_string()).status();
        }
    }
}

async fn port_of(lines: &mut Lines<BufReader<ChildStdout>>) -> u16 {
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some(port) = line.split("successfully on port ").nth(1).and_then(|rest| rest.trim_end_matches('.').parse().ok()) {
            return port;
        }
    }
    panic!("chromedriver ended before it listened");
}

/// A command of chromedriver that is not in the standard.
#[derive(Debug)]
struct Extra {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extra {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, <Url as std::str::FromStr>::Err> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _url: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
