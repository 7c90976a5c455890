//! Subcommands and the crypto provider, nothing else.

use clap::Parser;

#[derive(Parser)]
#[command(name = "parlor", version, about = "AI personas as participants in group chats")]
enum Command {}

fn main() {
    // reqwest panics without a process-wide provider, even for plain http.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match Command::parse() {}
}
