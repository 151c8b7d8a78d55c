//! `cargo run --release --example gateway`

use std::process::ExitCode;

use clap::Parser;
use toolgate_gateway::cli::{self, Arguments};

fn main() -> ExitCode {
    cli::run(&Arguments::parse())
}
