//! How a server is reached.

use std::collections::BTreeMap;

use serde::Serialize;

use super::error::{ServerError, ServerProblem, join};
use super::secret::Secret;
use super::url::ServerUrl;
use super::written::{Spot, through_spot};

/// How a server is reached.
///
/// Values of the environment and of headers, and what may be secret of an address, are not shown. Arguments are: a
/// secret belongs into the environment, which fewer can read anyway.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::McpTransport;
///
/// let transport: McpTransport = serde_json::from_str(r#"{"http": {"url": "http://127.0.0.1:3001/mcp"}}"#)?;
/// assert_eq!(transport, McpTransport::http("http://127.0.0.1:3001/mcp")?);
///
/// let stdio = McpTransport::stdio("mcp-files").with_args(["--root", "/srv"]).with_env("TOKEN", "t0ken");
/// assert!(!format!("{stdio:?}").contains("t0ken"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum McpTransport {
    /// As a child process.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        /// What is added to its environment.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, Secret>,
    },
    /// Over the network.
    Http {
        /// Its address.
        url: ServerUrl,
        /// What is added to the headers of each request.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, Secret>,
    },
}

through_spot!(McpTransport);

impl McpTransport {
    /// A child process.
    #[must_use]
    pub fn stdio(command: impl Into<String>) -> Self {
        Self::Stdio { command: command.into(), args: Vec::new(), env: BTreeMap::new() }
    }

    /// A server on the network.
    ///
    /// # Errors
    ///
    /// The text is no address.
    pub fn http(url: &str) -> Result<Self, ServerProblem> {
        Ok(Self::Http { url: ServerUrl::parse(url)?, headers: BTreeMap::new() })
    }

    /// Adds arguments; a server on the network has none.
    #[must_use]
    pub fn with_args<T: Into<String>>(mut self, added: impl IntoIterator<Item = T>) -> Self {
        if let Self::Stdio { args, .. } = &mut self {
            args.extend(added.into_iter().map(Into::into));
        }
        self
    }

    /// Sets a variable of the environment; a server on the network has none.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Self::Stdio { env, .. } = &mut self {
            env.insert(name.into(), Secret::new(value));
        }
        self
    }

    /// Sets a header; a child process has none.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Self::Http { headers, .. } = &mut self {
            headers.insert(name.into(), Secret::new(value));
        }
        self
    }

    pub(super) fn read(spot: &Spot<'_>) -> Result<Self, ServerError> {
        let table = spot.table(&["stdio", "http"])?;
        let transport = match (table.field("stdio"), table.field("http")) {
            (Some(stdio), None) => Self::read_stdio(&stdio),
            (None, Some(http)) => Self::read_http(&http),
            (Some(_), Some(_)) | (None, None) => {
                Err(spot.error(ServerProblem::Invalid("must be either `stdio` or `http`")))
            }
        }?;
        transport.check().map_err(|error| error.within(&spot.place))?;
        Ok(transport)
    }

    fn read_stdio(spot: &Spot<'_>) -> Result<Self, ServerError> {
        let table = spot.table(&["command", "args", "env"])?;
        Ok(Self::Stdio {
            command: table.required("command")?.text()?.to_owned(),
            args: table.optional("args", Spot::texts)?.unwrap_or_default(),
            env: table.optional("env", secrets)?.unwrap_or_default(),
        })
    }

    fn read_http(spot: &Spot<'_>) -> Result<Self, ServerError> {
        let table = spot.table(&["url", "headers"])?;
        let url = table.required("url")?;
        Ok(Self::Http {
            url: ServerUrl::parse(url.text()?).map_err(|problem| url.error(problem))?,
            headers: table.optional("headers", secrets)?.unwrap_or_default(),
        })
    }

    pub(super) fn check(&self) -> Result<(), ServerError> {
        match self {
            Self::Stdio { command, args, env } => {
                check_command(command).map_err(|problem| ServerError::new("stdio.command", problem))?;
                if let Some(at) = args.iter().position(|text| text.contains('\0')) {
                    return Err(ServerError::new(format!("stdio.args[{at}]"), NUL));
                }
                check_env(env).map_err(|error| error.within("stdio.env"))
            }
            Self::Http { url: _, headers } => check_headers(headers).map_err(|error| error.within("http.headers")),
        }
    }
}

fn secrets(spot: &Spot<'_>) -> Result<BTreeMap<String, Secret>, ServerError> {
    spot.entries()?.map(|(name, value)| Ok((name.to_owned(), Secret::read(&value)?))).collect()
}

const NUL: ServerProblem = ServerProblem::Invalid("holds the character U+0000");

fn check_command(command: &str) -> Result<(), ServerProblem> {
    match command {
        blank if blank.trim().is_empty() => Err(ServerProblem::Blank),
        text if text.contains('\0') => Err(NUL),
        _ => Ok(()),
    }
}

/// No process starts with another name or value in its environment.
fn check_env(env: &BTreeMap<String, Secret>) -> Result<(), ServerError> {
    for (name, value) in env {
        let place = || join("", &name.escape_debug().to_string());
        if name.trim().is_empty() || name.contains(['=', '\0']) {
            return Err(ServerError::new(place(), ServerProblem::Invalid("no name of an environment variable")));
        }
        if value.expose().contains('\0') {
            return Err(ServerError::new(place(), NUL));
        }
        value.check().map_err(|problem| ServerError::new(place(), problem))?;
    }
    Ok(())
}

fn check_headers(headers: &BTreeMap<String, Secret>) -> Result<(), ServerError> {
    for (at, (name, value)) in headers.iter().enumerate() {
        let error = |problem| Err(ServerError::new(name.escape_debug().to_string(), problem));
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return error(ServerProblem::Invalid("no name of a header"));
        }
        if headers.keys().take(at).any(|other| other.eq_ignore_ascii_case(name)) {
            return error(ServerProblem::Duplicate);
        }
        if !value.expose().bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7F)) {
            return error(ServerProblem::Invalid("the value of a header holds no control characters"));
        }
        if let Err(problem) = value.check() {
            return error(problem);
        }
    }
    Ok(())
}
