//! The lines of a lock file.

use std::fmt;

use super::hash::{DefinitionHash, NoHash};
use crate::json::{self, Kind, Reader};
use crate::server::entry::check_server_id;
use crate::server::exposure::is_tool_name;

/// What is wrong with a lock file, and in which line.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{PinProblem, Pins};
///
/// let error = Pins::read("<<<<<<< HEAD").unwrap_err();
/// assert_eq!(error.line(), 1);
/// assert!(matches!(error.problem(), PinProblem::Json(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinError {
    line: usize,
    problem: PinProblem,
}

impl PinError {
    pub(super) fn new(line: usize, problem: PinProblem) -> Self {
        Self { line, problem }
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// What is wrong with it.
    #[must_use]
    pub fn problem(&self) -> &PinProblem {
        &self.problem
    }
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for PinError {}

/// What can be wrong with a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinProblem {
    /// The tool is pinned in an earlier line.
    Duplicate,
    /// No hash.
    Hash(NoHash),
    /// No JSON.
    Json(json::Error),
    /// This member is missing.
    Missing(&'static str),
    /// No object.
    NotAnObject,
    /// This member is no string.
    NotText(&'static str),
    /// No server has this id, for this reason.
    Server(&'static str),
    /// No tool has this name.
    Tool(String),
    /// There is no such member.
    UnknownMember(String),
}

impl From<json::Error> for PinProblem {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for PinProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate => f.write_str("the tool is pinned in an earlier line"),
            Self::Hash(error) => write!(f, "`sha256`: {error}"),
            Self::Json(error) => fmt::Display::fmt(error, f),
            Self::Missing(member) => write!(f, "`{member}` is missing"),
            Self::NotAnObject => f.write_str("not an object"),
            Self::NotText(member) => write!(f, "`{member}` is no string"),
            Self::Server(why) => write!(f, "`server`: {why}"),
            Self::Tool(name) => write!(f, "`tool`: no tool can have the name {name:?}"),
            Self::UnknownMember(name) => write!(f, "there is no member {name:?}"),
        }
    }
}

impl std::error::Error for PinProblem {}

const MEMBERS: [&str; 3] = ["server", "tool", "sha256"];

pub(super) fn read_line(line: &[u8]) -> Result<(String, String, DefinitionHash), PinProblem> {
    let [server, tool, hash] = members(line)?;
    let text = |value: Option<Option<String>>, name| match value {
        Some(Some(text)) => Ok(text),
        Some(None) => Err(PinProblem::NotText(name)),
        None => Err(PinProblem::Missing(name)),
    };
    let (server, tool) = (text(server, "server")?, text(tool, "tool")?);
    let hash = text(hash, "sha256")?.parse().map_err(PinProblem::Hash)?;
    Ok((server, tool, hash))
}

/// The values of the members that are there, `None` for one that is no string.
fn members(line: &[u8]) -> Result<[Option<Option<String>>; 3], PinProblem> {
    let mut found = [const { None }; 3];
    let mut reader = Reader::new(line)?;
    if reader.kind()? != Kind::Object {
        return Err(PinProblem::NotAnObject);
    }
    reader.open_object()?;
    while let Some(key) = reader.key()? {
        let value = reader.value()?;
        let text = value.as_text().and_then(|text| text.decode(line).ok()).map(std::borrow::Cow::into_owned);
        let mut slots = MEMBERS.iter().zip(&mut found);
        match slots.find(|(name, _)| key.is(line, name)) {
            Some((_, slot)) => *slot = Some(text),
            None => return Err(PinProblem::UnknownMember(key.decode(line).unwrap_or_default().into_owned())),
        }
    }
    reader.end()?;
    Ok(found)
}

/// Nothing has to be escaped: see [`check_names`].
pub(super) fn write_line(server: &str, tool: &str, hash: DefinitionHash) -> String {
    format!("{{\"server\":\"{server}\",\"tool\":\"{tool}\",\"sha256\":\"{hash}\"}}\n")
}

pub(super) fn check_names(server: &str, tool: &str) -> Result<(), PinProblem> {
    check_server_id(server).map_err(PinProblem::Server)?;
    if is_tool_name(tool) { Ok(()) } else { Err(PinProblem::Tool(tool.to_owned())) }
}
