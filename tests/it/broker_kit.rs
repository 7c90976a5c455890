//! What the broker's tests share: calls, books that write down what they are told, a captured log.

use std::{
    io,
    sync::{Arc, Mutex, Once},
    time::Duration,
};

use futures::future::BoxFuture;
use parlor::{
    broker::{Accounts, Broker, BrokerConfig, CallRecord, Denied, Reservation, Ticket},
    ports::{ModelCall, ModelRef, OwedLine, Read, ReadItem},
    telemetry::Metrics,
};
use parlor_core::ObligationId;
use parlor_twin::models::ModelTwin;

/// Both dialects; what holds for one has to hold for the other.
pub(crate) const DIALECTS: [&str; 2] = ["anthropic", "openai"];
/// The secret that must never be seen.
pub(crate) const KEY: &str = "sk-secret-0123456789";

/// No test waits longer than this for anything.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("it did not happen in time")
}

pub(crate) fn id(n: u64) -> ObligationId {
    ObligationId { input: n, index: 0 }
}

pub(crate) fn item(seq: u64, name: &str, text: &str) -> ReadItem {
    let (at, author) = ("2026-01-01T00:00:00Z".into(), format!("u-{}", name.to_lowercase()));
    ReadItem { seq, at, author, name: name.into(), kind: "message".into(), text: text.into(), of: None }
}

pub(crate) fn owed(n: u64, asker: &str, lines: &[u64]) -> OwedLine {
    OwedLine { id: id(n), kind: "direct".into(), asker: asker.into(), lines: lines.to_vec(), answered_by: None }
}

pub(crate) fn call(provider: &str, items: Vec<ReadItem>, owed: Vec<OwedLine>) -> ModelCall {
    ModelCall {
        room: "kiln".into(),
        persona: "wren".into(),
        persona_name: "Wren".into(),
        model: ModelRef { provider: provider.into(), name: "claude-haiku-4-5".into(), ..ModelRef::default() },
        system: "You are Wren, who knows glazes.".into(),
        granted: Vec::new(),
        reads: vec![Read { after: 0, items }],
        owed,
        start: None,
    }
}

/// One question, one obligation.
pub(crate) fn simple(provider: &str) -> ModelCall {
    call(provider, vec![item(1, "Ana", "wren, how hot is cone 6?")], vec![owed(1, "Ana", &[1])])
}

pub(crate) fn config(twin: &ModelTwin) -> BrokerConfig {
    static RING: Once = Once::new();
    RING.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let var = |name: &str| match name {
        "ANTHROPIC_BASE_URL" => Some(twin.anthropic_url()),
        "OPENAI_BASE_URL" => Some(twin.openai_url()),
        "ANTHROPIC_API_KEY" | "OPENAI_API_KEY" => Some(KEY.to_owned()),
        _ => None,
    };
    BrokerConfig::from_vars(var).unwrap()
}

pub(crate) fn broker(twin: &ModelTwin, books: &Arc<Books>) -> Arc<Broker> {
    Arc::new(Broker::new(config(twin), Some(Arc::clone(books) as Arc<dyn Accounts>), Metrics::new().unwrap()))
}

/// Books that grant or deny, and keep what they are told.
#[derive(Default)]
pub(crate) struct Books {
    pub deny: Mutex<Option<Denied>>,
    pub reserved: Mutex<Vec<Reservation>>,
    pub charged: Mutex<Vec<(Ticket, CallRecord)>>,
}

impl Books {
    pub(crate) fn outcomes(&self) -> Vec<&'static str> {
        self.charged.lock().unwrap().iter().map(|(_, c)| c.outcome).collect()
    }
}

impl Accounts for Books {
    fn reserve(&self, wanted: Reservation) -> BoxFuture<'_, Result<Ticket, Denied>> {
        Box::pin(async move {
            if let Some(denied) = self.deny.lock().unwrap().clone() {
                return Err(denied);
            }
            let mut reserved = self.reserved.lock().unwrap();
            reserved.push(wanted);
            Ok(Ticket { stream: 1, n: reserved.len() as i64 })
        })
    }

    fn charge(&self, ticket: Ticket, call: CallRecord) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            self.charged.lock().unwrap().push((ticket, call));
            Ok(())
        })
    }
}

/// The log of this thread as long as the guard lives.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn capture() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone()).finish();
        (log, tracing::subscriber::set_default(lines))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
