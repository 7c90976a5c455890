//! Writes a draft: the persona's instructions, the room as the ledger holds it now, what is owed, and one call of a model. It
//! tries once; the machine decides about time-outs and further tries, and dropping the call ends it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use parlor_core::{Draft, Failure};
use tokio::{sync::watch, time::sleep};

use super::{PersonaText, RoomTexts, context, prompt, window::Window};
use crate::{
    ledger::{LedgerError, Session},
    ports::{GrantedLine, ModelAct, ModelCall, Models, Read},
};

/// Wait before the room is read again after the database failed; the machine's time-out ends the tries.
const RETRY: Duration = Duration::from_millis(250);

/// The least that a persona is shown, whatever its text says: the lines of a burst have to be in it.
const LEAST_TOKENS: usize = 2_000;

/// See the module.
pub(super) struct Drafter {
    room: String,
    texts: watch::Receiver<RoomTexts>,
    session: Session,
    /// Whether anything of other rooms may be loaded.
    granted: bool,
    models: Arc<dyn Models>,
    /// What each persona has been shown; at most the personas of the texts.
    windows: Mutex<BTreeMap<String, Window>>,
}

impl Drafter {
    pub(super) fn new(room: String, texts: watch::Receiver<RoomTexts>, session: Session, granted: bool, models: Arc<dyn Models>) -> Self {
        Self { room, texts, session, granted, models, windows: Mutex::new(BTreeMap::new()) }
    }

    pub(super) async fn draft(&self, draft: &Draft) -> Result<ModelAct, Failure> {
        let (persona, rules) = {
            let texts = self.texts.borrow();
            (texts.personas.get(&draft.persona).cloned(), texts.rules.clone())
        };
        let Some(persona) = persona else {
            tracing::error!(room = self.room, persona = draft.persona, "a member of the room has no text; declare the persona");
            return Err(Failure::Refused);
        };
        let granted = self.granted().await?;
        let reads = self.reads(draft, &persona).await?;
        let call = ModelCall {
            room: self.room.clone(),
            persona: draft.persona.clone(),
            system: prompt::system_text(&self.room, &rules, &persona),
            owed: prompt::owed_lines(draft, &reads),
            granted,
            reads,
            persona_name: persona.name,
            model: persona.model,
            start: draft.start.clone(),
        };
        self.models.draft(call).await
    }

    async fn reads(&self, draft: &Draft, persona: &PersonaText) -> Result<Vec<Read>, Failure> {
        let window = self.window(&draft.persona, persona.context_tokens.max(LEAST_TOKENS));
        let items = loop {
            match context::items(&self.session, &window, draft.cursor).await {
                Ok(items) => break items,
                Err(error) => self.wait_after(&error).await?,
            }
        };
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = self.texts.borrow();
        windows.retain(|persona, _| texts.personas.contains_key(persona));
        let window = windows.entry(draft.persona.clone()).or_insert(window);
        Ok(window.cut(items))
    }

    /// What grants let the room know now: read anew for each draft, so that it ends with the grant. A session to which nothing was
    /// granted when its login was made is not asked again.
    async fn granted(&self) -> Result<Vec<GrantedLine>, Failure> {
        if !self.granted {
            return Ok(Vec::new());
        }
        loop {
            match self.session.read_granted().await {
                Ok(items) => return Ok(items.into_iter().map(context::granted).collect()),
                Err(error) => self.wait_after(&error).await?,
            }
        }
    }

    /// Waits before the ledger is read again, where that may help.
    async fn wait_after(&self, error: &LedgerError) -> Result<(), Failure> {
        if error.is_transient() {
            sleep(RETRY).await;
            return Ok(());
        }
        if !matches!(error, LedgerError::Fenced) {
            tracing::error!(room = self.room, %error, "the room cannot be read for a draft");
        }
        Err(Failure::Provider)
    }

    /// The window as the last call left it; a new size begins a new one.
    fn window(&self, persona: &str, tokens: usize) -> Window {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.retain(|known, window| known != persona || window.max_tokens() == tokens);
        windows.get(persona).cloned().unwrap_or_else(|| Window::new(tokens))
    }
}
