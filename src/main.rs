//! Subcommands and the crypto provider, nothing else.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Parser;
use parlor::{bench, cli, dev, ledger, replay, sim, telemetry};
use secrecy::SecretString;

/// Much of a line's time goes into small texts that are kept for a moment (Cargo.toml says how much).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is logged unless `PARLOR_LOG` says more. A lost database is told once by those who lost it, not for each connection.
const LOG: &str = "warn,sqlx=error,sqlx_core=error";

#[derive(Parser)]
#[command(name = "parlor", version, about = "AI personas as participants in group chats")]
struct Parlor {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Runs the rooms of a folder, everything in one process, with a console on this machine.
    Dev(Dev),
    /// Applies the ledger's schema to a database, and ends.
    Migrate(Migrate),
    /// Measures the figures of the project, each beside its baseline.
    Bench(bench::Args),
    /// Runs archives of real chat through the room machine on a virtual clock.
    Replay(replay::Args),
    /// Plays rooms from a seed, with everything going wrong, and checks that nothing is said twice, lost, or out of turn.
    Sim(sim::Args),
    /// Fits the weights of the embedded gate to archives, or judges how well they do.
    TrainGate(replay::TrainArgs),
    /// Says something in a room of a running `parlor dev`.
    Say(cli::Say),
    /// Mutes a room of a running `parlor dev` at once.
    Mute(cli::Mute),
    /// Ends the mutes that people gave a room.
    Unmute(cli::Unmute),
    /// Shows the lines of a room.
    Tail(cli::Tail),
    /// Shows whether a room is silent, what it decided, and why.
    Why(cli::Why),
    /// Shows what rooms may know of each other.
    #[command(subcommand)]
    Grant(cli::GrantCommand),
    /// Shows what a persona in Shadow would have said.
    #[command(subcommand)]
    Shadow(dev::ShadowCommand),
}

#[derive(clap::Args)]
struct Dev {
    /// Folder with Room, Persona and PrivacyGrant documents (*.yaml, *.yml).
    dir: PathBuf,
    /// Where the private Postgres and the console's keys are kept.
    #[arg(long, value_name = "DIR", default_value = ".parlor")]
    state: PathBuf,
    /// A Postgres database of your own, 15 or newer, instead of the private one.
    #[arg(long, value_name = "URL", env = "PARLOR_DATABASE_URL", hide_env_values = true)]
    database_url: Option<SecretString>,
    /// Address of the console; port 0 for any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7080")]
    listen: SocketAddr,
}

#[derive(clap::Args)]
struct Migrate {
    /// The database, with a login that may create schemas and a database.
    #[arg(long, value_name = "URL", env = "PARLOR_DATABASE_URL", hide_env_values = true)]
    database_url: SecretString,
}

fn main() -> ExitCode {
    // reqwest panics without a process-wide provider, even for plain http.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match run(Parlor::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Messages of our own errors name their cause; a cause that is not named yet follows.
            let mut said = error.to_string();
            for cause in error.chain().skip(1).map(ToString::to_string) {
                if !said.contains(&cause) {
                    said = format!("{said}: {cause}");
                }
            }
            eprintln!("parlor: {said}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let filter = std::env::var("PARLOR_LOG").ok();
    // What goes wrong in a simulation is meant to.
    let log = if matches!(command, Command::Sim(_)) { "error" } else { LOG };
    telemetry::init(telemetry::LogFormat::Human, Some(filter.as_deref().unwrap_or(log)))?;
    match command {
        Command::Dev(Dev { dir, state, database_url, listen }) => {
            block_on(dev::run(dev::Options { dir, state, database: database_url, listen }))
        }
        Command::Migrate(Migrate { database_url }) => block_on(ledger::migrate(&database_url, None)),
        // One thread's work: without a runtime beside it the allocator needs no locks.
        Command::Bench(args) => Ok(bench::run(&args)?),
        Command::Replay(args) => Ok(dev::replay(&args)?),
        Command::Sim(args) => Ok(sim::run(&args)?),
        Command::TrainGate(args) => Ok(replay::train(&args)?),
        Command::Say(say) => block_on(say.run()),
        Command::Mute(mute) => block_on(mute.run()),
        Command::Unmute(unmute) => block_on(unmute.run()),
        Command::Tail(tail) => block_on(tail.run()),
        Command::Why(why) => block_on(why.run()),
        Command::Grant(grant) => block_on(grant.run()),
        Command::Shadow(shadow) => block_on(shadow.run()),
    }
}

fn block_on<E: Into<anyhow::Error>>(task: impl Future<Output = Result<(), E>>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the async runtime could not be started")?;
    runtime.block_on(task).map_err(Into::into)
}
