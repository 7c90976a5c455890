//! Worlds with one thing wrong, to show that each checker can fail.

/// What is wrong with a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Broken {
    /// The platform forgets the nonce of a post.
    ForgetNonce,
    /// The store takes a step that it has for a new one.
    ForgetStep,
    /// A process that was followed by another can still write.
    ForgetFence,
    /// Rows are claimed whatever the policy says.
    ClaimMuted,
    /// The machine is not told of a mute.
    HideMute,
    /// The machine is not told of Shadow.
    HideShadow,
    /// The machine is not told of deleted lines.
    HideDeletes,
    /// Neither the machine nor the store knows the budget.
    HideBudget,
    /// The machine is not told how long agents may talk.
    HideTurns,
    /// Drafts that the machine gives up go on.
    KeepDrafts,
    /// The last input before a restart is lost.
    LoseInput,
    /// A new process would find less than what ran.
    StaleStore,
    /// Each row goes out a second time under a key of its own.
    MeetTwice,
    /// Outcomes of rows are never told.
    LoseOutcomes,
    /// No tick comes when the machine wants one.
    LoseTicks,
    /// The records of what was ignored are lost.
    LoseIgnored,
    /// The records of what was opened are lost.
    LoseOpened,
    /// Rows lose what they settle.
    LoseSettles,
}
