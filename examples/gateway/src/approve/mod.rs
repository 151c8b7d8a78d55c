//! `--approve`: writes the definitions of tools, as their server lists them now, into the lock file.

mod client;
mod events;
mod lock;

use std::process::ExitCode;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use tokio::runtime::Runtime;
use tower::util::BoxCloneService;
use tower::{ServiceBuilder, ServiceExt};
use tower_toolgate::server::{Definition, DefinitionHash, PinVerdict, Pins, definitions};

use self::client::list;
use self::lock::Lock;
use crate::builtin::Builtin;
use crate::config::{Parsed, ServerConfig};

/// Approves a tool of a server, or with `*` all that it lists: 0 if done, 1 if the server does not list it, 2 with errors.
#[must_use]
pub(crate) fn report(parsed: &Parsed, server: &str, tool: &str) -> ExitCode {
    match approve(parsed, server, tool) {
        Ok(0) => {
            println!("`{server}` does not list `{tool}`");
            ExitCode::from(1)
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// How many tools were approved.
fn approve(parsed: &Parsed, server: &str, tool: &str) -> Result<usize, String> {
    let known = parsed.config.mcp.servers.iter().find(|known| known.entry.id == server);
    let entry = known.ok_or_else(|| format!("no server has the id `{server}`"))?;
    let config = parsed.config.mcp.pins.as_ref();
    let file = &config.ok_or("`mcp.pins.file` names no lock file")?.file;
    // No server is asked in vain.
    lock::read(file)?;
    let pages = Runtime::new().map_err(|error| error.to_string())?.block_on(pages(entry))?;
    let tools = tools(&pages)?;
    let chosen = Vec::from_iter(tools.iter().filter(|found| tool == "*" || found.definition.name() == Some(tool)));
    let all = Vec::from_iter(tools.iter().map(|found| found.definition.clone()));
    // Only now: others may approve something while a server takes its time.
    let mut lock = Lock::open(file)?;
    let verdicts = lock.pins.check_list(server, &all);
    for (found, verdict) in tools.iter().zip(verdicts).filter(|(found, _)| chosen.iter().any(|one| one.is(found))) {
        approve_tool(&mut lock.pins, server, found, verdict)?;
    }
    if !chosen.is_empty() {
        lock.write()?;
    }
    Ok(chosen.len())
}

async fn pages(server: &ServerConfig) -> Result<Vec<Bytes>, String> {
    let service = match server.builtin {
        Some(which) => boxed(Builtin::new(which)),
        None => boxed(server.entry.connect().map_err(|error| error.to_string())?),
    };
    let listed = tokio::time::timeout(server.entry.timeout.saturating_mul(ANSWERS), list(service)).await;
    listed.map_err(|_| "the server takes too long to list its tools".to_owned())?
}

/// How many times the time for one answer all of them may take.
const ANSWERS: u32 = 4;

type Server = BoxCloneService<Request<Body>, Response<Body>, std::convert::Infallible>;

fn boxed<S, B>(service: S) -> Server
where
    S: tower::Service<Request<Body>, Response = Response<B>, Error = std::convert::Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    ServiceBuilder::new().map_response(|response: Response<B>| response.map(Body::new)).service(service).boxed_clone()
}

/// A definition, and the page that it stands on.
struct Tool<'p> {
    page: &'p Bytes,
    definition: Definition,
}

impl Tool<'_> {
    fn is(&self, other: &Tool<'_>) -> bool {
        std::ptr::eq(self.page, other.page) && self.definition.range() == other.definition.range()
    }

    fn text(&self) -> String {
        let text = self.page.get(self.definition.range()).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

fn tools(pages: &[Bytes]) -> Result<Vec<Tool<'_>>, String> {
    let mut tools = Vec::new();
    for page in pages {
        let found = definitions(page).map_err(|fault| format!("the server's list of tools: {fault}"))?;
        tools.extend(found.into_iter().map(|definition| Tool { page, definition }));
    }
    Ok(tools)
}

fn approve_tool(pins: &mut Pins, server: &str, tool: &Tool<'_>, verdict: PinVerdict) -> Result<(), String> {
    let name = tool.definition.name().ok_or("the server lists a tool without a name")?;
    if verdict == PinVerdict::Repeated {
        return Err(format!("the server lists `{}` more than once: which is meant cannot be told", shown(name)));
    }
    let hash = tool.definition.hash().map_err(|fault| format!("`{}`: {fault}", shown(name)))?;
    let before = pins.approve(server, name, hash).map_err(|error| error.to_string())?;
    show(server, name, before, hash);
    println!("{}", shown(&tool.text()));
    Ok(())
}

fn show(server: &str, tool: &str, before: Option<DefinitionHash>, hash: DefinitionHash) {
    match before {
        Some(before) if before == hash => println!("{server} {tool}: as approved before, {hash}"),
        Some(before) => println!("{server} {tool}: {before} becomes {hash}"),
        None => println!("{server} {tool}: {hash}"),
    }
}

/// What a server wrote may move a terminal's cursor, or hide what it says.
fn shown(text: &str) -> String {
    let hidden = |c: char| c.is_control() || !c.is_ascii();
    text.chars().map(|c| if hidden(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}
