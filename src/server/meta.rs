//! What is known of single tools, or guessed.

use serde::{Deserialize, Serialize};

use super::error::{ServerError, ServerProblem};
use super::written::{Spot, through_spot};

/// How much harm a tool can do.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::DataSensitivity;
///
/// assert!(DataSensitivity::Low < DataSensitivity::High);
/// assert_eq!(serde_json::to_string(&DataSensitivity::Medium)?, r#""medium""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataSensitivity {
    /// None: what the operator says who does not say.
    #[default]
    None,
    /// Little: what is assumed of a tool of which nothing is known.
    Low,
    /// Some.
    Medium,
    /// Much: only servers that are trusted may offer it.
    High,
}

/// What a tool can do.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::CapabilityClass;
///
/// assert_eq!(serde_json::to_string(&CapabilityClass::FilesystemWrite)?, r#""filesystem_write""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CapabilityClass {
    /// Reads files.
    FilesystemRead,
    /// Changes files.
    FilesystemWrite,
    /// Sends requests.
    Network,
    /// Runs commands.
    Shell,
    /// Reads from a database.
    DatabaseRead,
    /// Changes a database.
    DatabaseWrite,
    /// Changes what the agent remembers.
    MemoryWrite,
    /// Calls somebody else's service.
    ExternalApi,
}

const SENSITIVITIES: &str = "none, low, medium, high";
const CAPABILITIES: &str = "filesystem_read, filesystem_write, network, shell, database_read, database_write, \
                            memory_write, external_api";

/// A parameter of a tool, and why somebody should look at it.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::FlaggedParameter;
///
/// let flagged = FlaggedParameter::new("/properties/note/description", "ignore_instructions");
/// assert_eq!(flagged.path, "/properties/note/description");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FlaggedParameter {
    /// A JSON pointer into the tool's `inputSchema`.
    pub path: String,
    /// The name of the pattern that was found there.
    pub pattern_name: String,
}

through_spot!(FlaggedParameter);

impl FlaggedParameter {
    /// A parameter and the name of a pattern.
    #[must_use]
    pub fn new(path: impl Into<String>, pattern_name: impl Into<String>) -> Self {
        Self { path: path.into(), pattern_name: pattern_name.into() }
    }

    fn read(spot: &Spot<'_>) -> Result<Self, ServerError> {
        let table = spot.table(&["path", "pattern_name"])?;
        Ok(Self::new(table.required("path")?.text()?, table.required("pattern_name")?.text()?))
    }
}

/// What the operator knows of a tool, or what its name lets one guess.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{CapabilityClass, DataSensitivity, ToolSecurityMeta};
///
/// let guess = ToolSecurityMeta::infer("Fetch_Page");
/// assert_eq!(guess.data_sensitivity, DataSensitivity::Medium);
/// assert_eq!(guess.capabilities, [CapabilityClass::Network]);
///
/// let known: ToolSecurityMeta = serde_json::from_str(r#"{"data_sensitivity": "low"}"#)?;
/// assert_eq!(known, ToolSecurityMeta::new(DataSensitivity::Low));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolSecurityMeta {
    /// How much harm it can do.
    pub data_sensitivity: DataSensitivity,
    /// What it can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<CapabilityClass>,
    /// Its parameters that somebody should look at. Nothing is decided by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flagged_parameters: Vec<FlaggedParameter>,
}

through_spot!(ToolSecurityMeta);

impl ToolSecurityMeta {
    /// A tool that can do this much harm.
    #[must_use]
    pub fn new(data_sensitivity: DataSensitivity) -> Self {
        Self { data_sensitivity, ..Self::default() }
    }

    /// Adds to what it can do.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl IntoIterator<Item = CapabilityClass>) -> Self {
        self.capabilities.extend(capabilities);
        self
    }

    /// Adds parameters that somebody should look at.
    #[must_use]
    pub fn with_flagged_parameters(mut self, flagged: impl IntoIterator<Item = FlaggedParameter>) -> Self {
        self.flagged_parameters.extend(flagged);
        self
    }

    /// What a name lets one guess: parts of it are looked for, whatever stands around them, case ignored.
    ///
    /// So `executive_summary` can do much harm, for the `exec` in it, and `remove_tag` some, for its `move`. Where
    /// that is wrong the operator says better in
    /// [`ServerEntry::tool_metadata`](super::ServerEntry::tool_metadata), and where nothing is found, it is little.
    #[must_use]
    pub fn infer(name: &str) -> Self {
        let name = name.to_lowercase();
        let mut guess = Self::new(DataSensitivity::Low);
        for clue in CLUES {
            if clue.all.iter().all(|any| any.iter().any(|part| name.contains(part))) {
                guess.data_sensitivity = guess.data_sensitivity.max(clue.sensitivity);
                if !guess.capabilities.contains(&clue.capability) {
                    guess.capabilities.push(clue.capability);
                }
            }
        }
        guess
    }

    pub(super) fn read(spot: &Spot<'_>) -> Result<Self, ServerError> {
        let table = spot.table(&["data_sensitivity", "capabilities", "flagged_parameters"])?;
        let capability = |spot: Spot<'_>| word(&spot, CAPABILITIES);
        let capabilities = |spot: &Spot<'_>| spot.list()?.map(capability).collect();
        let flagged = |spot: &Spot<'_>| spot.list()?.map(|flagged| FlaggedParameter::read(&flagged)).collect();
        Ok(Self {
            data_sensitivity: table.optional("data_sensitivity", |spot| word(spot, SENSITIVITIES))?.unwrap_or_default(),
            capabilities: table.optional("capabilities", capabilities)?.unwrap_or_default(),
            flagged_parameters: table.optional("flagged_parameters", flagged)?.unwrap_or_default(),
        })
    }
}

fn word<T: for<'de> Deserialize<'de>>(spot: &Spot<'_>, known: &'static str) -> Result<T, ServerError> {
    let found = spot.text()?.to_owned();
    let value = serde_json::Value::from(found.as_str());
    T::deserialize(value).map_err(|_| spot.error(ServerProblem::UnknownWord { found, known }))
}

/// What a name tells that has one of each of these parts.
struct Clue {
    all: &'static [&'static [&'static str]],
    sensitivity: DataSensitivity,
    capability: CapabilityClass,
}

const fn clue(
    all: &'static [&'static [&'static str]],
    sensitivity: DataSensitivity,
    capability: CapabilityClass,
) -> Clue {
    Clue { all, sensitivity, capability }
}

const CLUES: [Clue; 7] = [
    clue(&[&["write", "delete", "move", "copy"]], DataSensitivity::Medium, CapabilityClass::FilesystemWrite),
    clue(
        &[&["read", "cat"], &["file", "dir", "path", "folder"]],
        DataSensitivity::Low,
        CapabilityClass::FilesystemRead,
    ),
    clue(&[&["create"], &["file", "dir", "folder"]], DataSensitivity::Medium, CapabilityClass::FilesystemWrite),
    clue(&[&["shell", "bash", "exec"]], DataSensitivity::High, CapabilityClass::Shell),
    clue(&[&["fetch", "http", "request", "scrape", "curl"]], DataSensitivity::Medium, CapabilityClass::Network),
    clue(&[&["memory"], &["save", "write", "store"]], DataSensitivity::Medium, CapabilityClass::MemoryWrite),
    clue(&[&["sql", "database"]], DataSensitivity::Medium, CapabilityClass::DatabaseRead),
];
