//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::check::{self, explain};
use crate::config::{Config, Parsed, Problem};
use crate::{approve, serve};

/// A gateway that lets agents call the tools of MCP servers as far as their role permits.
#[derive(Debug, Parser)]
#[command(name = "gateway")]
pub struct Arguments {
    /// The configuration; without it, two built-in demo servers and three roles
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The address to listen on, instead of the configuration's; port 0 picks a free one
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Tells what is wrong or doubtful in the configuration: exits with 0 (clean), 1 (doubts) or 2 (errors)
    #[arg(long)]
    pub check: bool,
    /// Tells what would become of a call, on each server: exits with 0 (allowed), 1 (denied) or 2 (errors)
    #[arg(long, num_args = 3, value_names = ["ROLE", "TOOL", "JSON"], conflicts_with = "check")]
    pub explain: Option<Vec<String>>,
    /// Writes the definition of a tool, as its server lists it now, into the lock file `mcp.pins.file`; `*` stands for
    /// all tools: exits with 0 (written), 1 (no such tool) or 2 (errors)
    #[arg(long, num_args = 2, value_names = ["SERVER", "TOOL"], conflicts_with_all = ["check", "explain"])]
    pub approve: Option<Vec<String>>,
}

/// The configuration of whoever has none.
pub const DEMO: &str = include_str!("demo.toml");

/// Does what the command line says.
#[must_use]
pub fn run(arguments: &Arguments) -> ExitCode {
    let parsed = match &arguments.config {
        Some(path) => Config::load(path),
        None => Config::parse(DEMO),
    };
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(problems) => return fail(&problems, arguments.check),
    };
    if arguments.check {
        return check::report(&parsed);
    }
    match (arguments.explain.as_deref(), arguments.approve.as_deref()) {
        (Some([role, tool, json]), _) => explain::report(&parsed, role, tool, json),
        (_, Some([server, tool])) => approve::report(&parsed, server, tool),
        (Some(_), _) | (_, Some(_)) => ExitCode::from(2),
        (None, None) => start(parsed, arguments),
    }
}

fn start(mut parsed: Parsed, arguments: &Arguments) -> ExitCode {
    let problems = parsed.not_yet();
    if !problems.is_empty() {
        return fail(&problems, false);
    }
    if let Some(listen) = arguments.listen {
        parsed.config.gateway.listen = listen;
    }
    log_to_stderr();
    match serve::run(&parsed, arguments.config.is_none()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => fail(&[problem], false),
    }
}

/// `RUST_LOG` is read as targets and levels, such as `info,tower_toolgate=debug`.
fn log_to_stderr() {
    let told = std::env::var("RUST_LOG").ok().and_then(|told| told.parse::<Targets>().ok());
    let targets = told.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let events = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(events).with(targets).init();
}

/// Problems go where whoever asked for them looks: standard output for `--check`, else standard error.
fn fail(problems: &[Problem], asked: bool) -> ExitCode {
    for problem in problems {
        if asked {
            println!("error: {problem}");
        } else {
            eprintln!("error: {problem}");
        }
    }
    ExitCode::from(2)
}
