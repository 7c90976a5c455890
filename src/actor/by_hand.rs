//! A boot that is driven by hand, look by look, where time is not the wall's: for the simulation. Everything but the loop around
//! it is the boot that runs live.

use parlor_core::{Input, Millis, Room};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::{
    Means, Report, RoomConfig, RoomState, RoomTexts, restore,
    room::{Boot, End},
};
use crate::ledger::{LedgerError, StepRecord};

/// See the module. Dropping it ends the boot as a kill of its process would.
pub struct ByHand {
    boot: Boot,
    name: String,
}

impl ByHand {
    /// Begins a boot; any older one is fenced.
    pub async fn begin(
        room: RoomConfig,
        texts: watch::Receiver<RoomTexts>,
        means: Means,
        tracker: TaskTracker,
    ) -> Result<Self, LedgerError> {
        let report = Report { state: watch::channel(RoomState::Starting).0, looks: watch::channel(0).0 };
        let name = room.name.clone();
        let mut boot = Boot::begin(room, texts, means, tracker, report).await?;
        boot.keep_journal();
        Ok(Self { boot, name })
    }

    /// One look, as anything that wakes a boot leads to; what it stored.
    pub async fn look(&mut self) -> Result<Vec<StepRecord>, LedgerError> {
        self.boot.look().await?;
        Ok(self.boot.take_journal())
    }

    /// Ends it in order; what it stored at last.
    pub async fn rest(mut self) -> Result<Vec<StepRecord>, LedgerError> {
        match self.boot.rest().await {
            End::Stopped => Ok(self.boot.take_journal()),
            End::Fenced => Err(LedgerError::Fenced),
            End::Failed(error) => Err(error),
        }
    }

    /// Stores steps again, as after a lost answer; whether the ledger knew all of them.
    pub async fn store_again(&self, steps: &[StepRecord]) -> Result<bool, LedgerError> {
        Ok(self.boot.session().steps(steps).await?.iter().all(|done| done.repeated && done.rows.is_empty()))
    }

    /// Hands in what a source that stores nothing wants said.
    pub fn tell(&mut self, input: Input) {
        self.boot.tell(input);
    }

    /// The machine.
    pub fn room(&self) -> &Room {
        self.boot.machine()
    }

    /// Whether completions wait for the next look.
    pub fn has_mail(&self) -> bool {
        self.boot.has_mail()
    }

    /// When something besides the machine wants a look, ms.
    pub fn look_at(&self) -> Option<Millis> {
        self.boot.look_at()
    }

    /// The machine that a new process would begin with; none where it would have to rebuild it from the log.
    pub async fn stored(&self) -> Result<Option<Room>, LedgerError> {
        let restored = self.boot.session().restore().await?;
        Ok(restore::room(&self.name, &restored).map(|found| found.room))
    }
}
