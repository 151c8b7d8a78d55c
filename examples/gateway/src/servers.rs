//! How far each server is trusted, as the configuration says it.

use std::collections::BTreeSet;

use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::server::{Exposure, Pins, ServerError};
use tower_toolgate::upstream::ConnectError;

use crate::config::{McpConfig, Parsed, Problem, ServerConfig};

/// The layer that holds the server at a place in the file to what is declared of it.
///
/// # Errors
///
/// What is declared has a mistake.
pub(crate) fn layer(
    parsed: &Parsed,
    at: usize,
    server: &ServerConfig,
    pins: Option<&Pins>,
) -> Result<ServerTrustLayer, Problem> {
    let layer = ServerTrustLayer::new(&server.entry).map_err(|error| of_entry(parsed, at, &error))?;
    let id = server.entry.id.clone();
    let layer = layer.on_note(move |tool, note| {
        tracing::warn!(server.id = id, tool.name = %tool.escape_debug(), note = note.name(), "a tool is exposed: {note}");
    });
    Ok(match pins {
        Some(pins) => layer.with_pins(pins.clone()),
        None => layer,
    })
}

/// The lock file, if one is named. One that is not there is a mistake: without it nobody would be guarded.
///
/// # Errors
///
/// It cannot be read, or has a mistake.
pub(crate) fn pins(parsed: &Parsed) -> Result<Option<Pins>, Problem> {
    let Some(config) = &parsed.config.mcp.pins else { return Ok(None) };
    let problem = |message: String| parsed.places.problem("mcp.pins.file", message);
    let shown = config.file.display();
    let text = std::fs::read_to_string(&config.file)
        .map_err(|error| problem(format!("cannot read `{shown}`: {error}; `--approve SERVER TOOL` makes it")))?;
    let pins = Pins::read(&text).map_err(|error| problem(format!("`{shown}`, {error}")))?;
    Ok(Some(pins.with_required(config.servers.iter().cloned())))
}

/// What is wrong or doubtful in what is declared of servers.
///
/// # Errors
///
/// The first mistake, with its place in the file.
pub(crate) fn check(parsed: &Parsed) -> Result<Vec<Problem>, Problem> {
    let mut doubts = Vec::new();
    for (at, server) in parsed.config.mcp.servers.iter().enumerate() {
        let exposure = Exposure::new(&server.entry).map_err(|error| of_entry(parsed, at, &error))?;
        if server.builtin.is_none() {
            let checked = server.entry.check_connect();
            checked.map_err(|error| of_connect(parsed, at, &error))?;
        }
        let lints = exposure.lints().iter();
        doubts.extend(lints.map(|lint| problem(parsed, at, lint.place(), lint.kind())));
    }
    if let Some(pins) = pins(parsed)? {
        doubts.extend(foreign(&parsed.config.mcp, &pins).map(|server| {
            parsed
                .places
                .problem("mcp.pins.file", format!("tools of `{server}` are approved, and there is no such server"))
        }));
    }
    Ok(doubts)
}

/// Servers with approved tools that there are not.
fn foreign<'p>(config: &'p McpConfig, pins: &'p Pins) -> impl Iterator<Item = &'p str> {
    let known = |id: &str| config.servers.iter().any(|server| server.entry.id == id);
    let approved: BTreeSet<&str> = pins.iter().map(|(server, _, _)| server).collect();
    approved.into_iter().filter(move |server| !known(server))
}

fn of_entry(parsed: &Parsed, at: usize, error: &ServerError) -> Problem {
    problem(parsed, at, error.place(), error.problem())
}

/// What keeps a server from being reached.
pub(crate) fn of_connect(parsed: &Parsed, at: usize, error: &ConnectError) -> Problem {
    let (place, text) = (error.place().unwrap_or_default(), error.to_string());
    let message = text.strip_prefix(place).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&text);
    problem(parsed, at, place, &message)
}

/// A problem at a place in what is declared of a server.
fn problem(parsed: &Parsed, at: usize, place: &str, problem: &dyn std::fmt::Display) -> Problem {
    let server = format!("mcp.servers[{at}]");
    let place = if place.is_empty() { server } else { format!("{server}.{place}") };
    parsed.places.problem(place, problem.to_string())
}
