//! The definitions that an operator has approved.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::definition::Definition;
use super::file::{self, PinError, PinProblem};
use super::hash::DefinitionHash;

/// The definitions of tools that an operator has approved, as they commit them to a lock file.
///
/// The file has one JSON object a line, with `server`, `tool` and `sha256`, in the order of server and tool. Of a
/// server that has a pin, or for which pins are [required](Self::with_required), every tool whose definition is not
/// the one that is pinned is in quarantine: hidden from lists, and refused. So a tool that takes another name is a
/// new one, and one that changes a title, a schema or an annotation has to be approved again.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{DefinitionHash, PinVerdict, Pins};
///
/// let hash = DefinitionHash::of(br#"{"name":"read"}"#)?;
/// let mut pins = Pins::new();
/// assert_eq!(pins.check("files", "read", hash), PinVerdict::Unguarded);
///
/// pins.approve("files", "read", hash)?;
/// assert_eq!(pins.check("files", "read", hash), PinVerdict::Pinned);
/// assert_eq!(pins.check("files", "write", hash), PinVerdict::New);
/// let changed = DefinitionHash::of(br#"{"name":"read","title":"Read"}"#)?;
/// assert!(pins.check("files", "read", changed).is_quarantined());
///
/// assert_eq!(Pins::read(&pins.write())?, pins);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    approved: BTreeMap<String, BTreeMap<String, DefinitionHash>>,
    required: BTreeSet<String>,
}

impl Pins {
    /// Nothing is approved, and no server is guarded.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a lock file. The lines may be in any order, as merges leave them.
    ///
    /// # Errors
    ///
    /// A line is not exactly one pin, or a tool has two.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::server::Pins;
    ///
    /// let error = Pins::read(r#"{"server":"files","tool":"read"}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "line 1: `sha256` is missing");
    /// ```
    pub fn read(text: &str) -> Result<Self, PinError> {
        let mut pins = Self::new();
        for (at, line) in text.strip_suffix('\n').unwrap_or(text).split('\n').enumerate() {
            if text.is_empty() {
                break;
            }
            let error = |problem| PinError::new(at + 1, problem);
            let (server, tool, hash) = file::read_line(line.as_bytes()).map_err(error)?;
            if pins.approve(&server, &tool, hash).map_err(error)?.is_some() {
                return Err(error(PinProblem::Duplicate));
            }
        }
        Ok(pins)
    }

    /// Writes the lock file: the same pins are always the same text. Which servers are guarded without a pin is not
    /// in it.
    #[must_use]
    pub fn write(&self) -> String {
        self.iter().map(|(server, tool, hash)| file::write_line(server, tool, hash)).collect()
    }

    /// All pins, in the order of server and tool.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, DefinitionHash)> {
        self.approved
            .iter()
            .flat_map(|(server, tools)| tools.iter().map(move |(tool, hash)| (server.as_str(), tool.as_str(), *hash)))
    }

    /// Guards servers that have no pin yet: all their tools are new.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::server::{DefinitionHash, PinVerdict, Pins};
    ///
    /// let hash = DefinitionHash::of(br#"{"name":"read"}"#)?;
    /// assert_eq!(Pins::new().with_required(["files"]).check("files", "read", hash), PinVerdict::New);
    /// # Ok::<(), tower_toolgate::server::DefinitionFault>(())
    /// ```
    #[must_use]
    pub fn with_required<T: Into<String>>(mut self, servers: impl IntoIterator<Item = T>) -> Self {
        self.required.extend(servers.into_iter().map(Into::into));
        self
    }

    /// Whether the tools of a server are compared with pins.
    #[must_use]
    pub fn guards(&self, server: &str) -> bool {
        self.approved.contains_key(server) || self.required.contains(server)
    }

    /// Whether a tool has a pin.
    pub(crate) fn has(&self, server: &str, tool: &str) -> bool {
        self.approved.get(server).is_some_and(|tools| tools.contains_key(tool))
    }

    /// Approves a definition, in the place of the one that was approved before, which is returned.
    ///
    /// # Errors
    ///
    /// No server has this id, or no tool this name.
    pub fn approve(
        &mut self,
        server: &str,
        tool: &str,
        hash: DefinitionHash,
    ) -> Result<Option<DefinitionHash>, PinProblem> {
        file::check_names(server, tool)?;
        Ok(self.approved.entry(server.to_owned()).or_default().insert(tool.to_owned(), hash))
    }

    /// Takes an approval back. The server is guarded all the same from now on, had it no other pin.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::server::{DefinitionHash, PinVerdict, Pins};
    ///
    /// let hash = DefinitionHash::of(br#"{"name":"read"}"#)?;
    /// let mut pins = Pins::new();
    /// pins.approve("files", "read", hash)?;
    /// assert_eq!(pins.revoke("files", "read"), Some(hash));
    /// assert_eq!(pins.check("files", "read", hash), PinVerdict::New);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revoke(&mut self, server: &str, tool: &str) -> Option<DefinitionHash> {
        let tools = self.approved.get_mut(server)?;
        let revoked = tools.remove(tool)?;
        if tools.is_empty() {
            self.approved.remove(server);
            self.required.insert(server.to_owned());
        }
        Some(revoked)
    }

    /// What becomes of one tool with this definition.
    pub fn check(&self, server: &str, tool: &str, hash: DefinitionHash) -> PinVerdict {
        if !self.guards(server) {
            return PinVerdict::Unguarded;
        }
        match self.approved.get(server).and_then(|tools| tools.get(tool)) {
            Some(approved) if *approved == hash => PinVerdict::Pinned,
            Some(_) => PinVerdict::Changed,
            None => PinVerdict::New,
        }
    }

    /// What becomes of all tools of a list, in its order: of all its pages, or a name that is there twice is missed.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::server::{PinVerdict, Pins, definitions};
    ///
    /// let list = definitions(br#"{"tools":[{"name":"a"},{"name":"b"},{"name":"a"}]}"#)?;
    /// let verdicts = Pins::new().check_list("files", &list);
    /// assert_eq!(verdicts, [PinVerdict::Repeated, PinVerdict::Unguarded, PinVerdict::Repeated]);
    /// # Ok::<(), tower_toolgate::server::ListFault>(())
    /// ```
    #[must_use]
    pub fn check_list(&self, server: &str, list: &[Definition]) -> Vec<PinVerdict> {
        // The standard hasher: the names are the server's.
        let mut counts: HashMap<&str, usize> = HashMap::new();
        list.iter().filter_map(Definition::name).for_each(|name| *counts.entry(name).or_default() += 1);
        let verdict = |definition: &Definition| match (definition.name(), definition.hash()) {
            (Some(name), _) if counts.get(name).is_some_and(|count| *count > 1) => PinVerdict::Repeated,
            (Some(name), Ok(hash)) => self.check(server, name, hash),
            (Some(_), Err(_)) if !self.guards(server) => PinVerdict::Unguarded,
            (_, Err(_)) | (None, Ok(_)) => PinVerdict::Unreadable,
        };
        list.iter().map(verdict).collect()
    }
}

/// What becomes of a tool for the sake of its definition.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::PinVerdict;
///
/// assert!(PinVerdict::Changed.is_quarantined());
/// assert_eq!(PinVerdict::Changed.reason(), Some("pin.changed"));
/// assert!(!PinVerdict::Unguarded.is_quarantined());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use]
pub enum PinVerdict {
    /// The definition is the one that was approved.
    Pinned,
    /// Another one was approved.
    Changed,
    /// None was approved.
    New,
    /// The list has the name twice: which one is meant cannot be told.
    Repeated,
    /// The definition has no name, or no hash.
    Unreadable,
    /// The server has no pins.
    Unguarded,
}

impl PinVerdict {
    /// Whether the tool is to be hidden and refused.
    #[must_use]
    pub const fn is_quarantined(self) -> bool {
        self.reason().is_some()
    }

    /// A stable name for why it is, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Pinned | Self::Unguarded => None,
            Self::Changed => Some("pin.changed"),
            Self::New => Some("pin.new"),
            Self::Repeated => Some("pin.repeated"),
            Self::Unreadable => Some("pin.unreadable"),
        }
    }
}
