//! What operators say of tools.

mod builtin;
mod error;
mod label;
mod words;
mod written;

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

pub use self::error::{LabelError, LabelProblem};
pub use self::label::ToolLabel;
pub use self::words::{Capability, Confidentiality, FlowResponse, LabelTrust, UnknownWord};
use self::written::Written;
use super::kind::Provenance;
use crate::json::has_control;
use crate::names::NameTable;
use crate::policy::short;
use crate::trust::Verdict;

/// What is said of tools, compiled: immutable, cheap to clone.
///
/// Built-in are labels for well-known names. External are `web_search`, `web_fetch`, `fetch`, `http_request`,
/// `browser`, `search` and all that begin with `browse_`, `browser_` or `generate_`, also as what follows some `__` or
/// `:` in a name. Internal are exactly `read_file`, `grep_files`, `write_file`, `shell`, `run_applescript`, `remember`,
/// `recall` and `read_image_text`. The operator labels further tools, by their exact names, and may add to what is said
/// of a built-in but never weaken it: capability and declassifier stay, and of every other field the stricter counts.
///
/// # What it does not see
///
/// - What a shell prints, or a file holds, may be bytes that were fetched before. A
///   [`Classifier`](crate::trust::Classifier) that declares the tool's origin as `execution`, and is strict, covers it.
/// - A name is chosen by who brings the tool: a server may call its own `read_file`. [`derive`](Self::derive) joins
///   the label with what is known of the server.
/// - Where a model runs: nothing depends on it.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::{LabelTrust, Provenance, ToolLabel, ToolLabels};
///
/// let labels = ToolLabels::new([
///     ("query", ToolLabel::new()),
///     ("inbox", ToolLabel::new().with_trust(LabelTrust::Untrusted)),
///     ("web_search", ToolLabel::new().with_trust(LabelTrust::Trusted)),
/// ])?;
/// assert_eq!(labels.provenance("query"), Some(Provenance::Internal));
/// assert_eq!(labels.provenance("inbox"), Some(Provenance::External));
/// assert_eq!(labels.provenance("web_search"), Some(Provenance::External));
/// assert_eq!(labels.provenance("unheard_of"), None);
/// # Ok::<(), tower_toolgate::provenance::LabelError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolLabels(Arc<NameTable<ToolLabel>>);

impl ToolLabels {
    /// The labels of the built-ins alone.
    #[must_use]
    pub fn builtin() -> Self {
        Self::default()
    }

    /// The labels of the built-ins, and what the operator says: pairs, or a [`ToolLabelsConfig`].
    ///
    /// # Errors
    ///
    /// The first mistake, with its place: a name that is blank, has control characters or was there before; a
    /// built-in whose capability would change, or that would become a declassifier.
    pub fn new<N: AsRef<str>>(labels: impl IntoIterator<Item = (N, ToolLabel)>) -> Result<Self, LabelError> {
        let mut table = NameTable::default();
        for (name, label) in labels {
            let name = name.as_ref();
            let place = place(name);
            if let Some(problem) = name_problem(&table, name) {
                return Err(LabelError::new(place, problem));
            }
            let label = match builtin::label(name) {
                Some(builtin) => builtin.hardened(&place, &label)?,
                None => label,
            };
            table.entry(name, || label);
        }
        Ok(Self(Arc::new(table)))
    }

    /// The label of a tool.
    #[must_use]
    pub fn get(&self, tool: &str) -> Option<ToolLabel> {
        self.0.get(tool).copied().or_else(|| builtin::label(tool))
    }

    /// Where what a tool brings back comes from, by its name alone; `None` if it has no label.
    ///
    /// The layers take `None` for external unless a classifier vouches for the tool: what nobody labelled is not
    /// thereby harmless.
    #[must_use]
    pub fn provenance(&self, tool: &str) -> Option<Provenance> {
        self.get(tool).map(|label| label.provenance())
    }

    /// Where what a tool brings back comes from, with what a classifier says: without a label that alone, with one
    /// the worse of both.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::provenance::{LabelTrust, Provenance, ToolLabel, ToolLabels};
    /// use tower_toolgate::trust::{Classifier, ClassifierConfig, DeclaredServer};
    ///
    /// let classifier = Classifier::new(&ClassifierConfig::new().with_server(DeclaredServer::own("files")))?;
    /// let labels = ToolLabels::new([("inbox", ToolLabel::new().with_trust(LabelTrust::Untrusted))])?;
    /// let derive = |owner, tool| labels.derive(tool, &classifier.classify(Some(owner), tool));
    /// assert_eq!(derive("files", "list"), Provenance::Internal);
    /// assert_eq!(derive("files", "inbox"), Provenance::External);
    /// assert_eq!(derive("files", "browser"), Provenance::External);
    /// assert_eq!(derive("unknown", "read_file"), Provenance::External);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn derive(&self, tool: &str, verdict: &Verdict<'_>) -> Provenance {
        self.provenance(tool).unwrap_or_default().join(Provenance::from(verdict))
    }
}

fn name_problem(table: &NameTable<ToolLabel>, name: &str) -> Option<LabelProblem> {
    if name.trim().is_empty() {
        return Some(LabelProblem::Blank);
    }
    if has_control(name) {
        return Some(LabelProblem::ControlCharacter(short(name).into()));
    }
    table.get(name).map(|_| LabelProblem::DuplicateTool)
}

fn place(name: &str) -> String {
    format!("labels[{:?}]", short(name))
}

/// What an operator says of tools, as people write it down: an object from names to labels. The input of
/// [`ToolLabels::new`].
///
/// Unknown fields, unknown words, other kinds of values and second labels are refused, with their place.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::{Provenance, ToolLabels, ToolLabelsConfig};
///
/// let config: ToolLabelsConfig = toml::from_str(
///     r#"
///     [inbox]
///     trust = "untrusted"
///     confidentiality = "internal"
///     "#,
/// )?;
/// let labels = ToolLabels::new(config)?;
/// assert_eq!(labels.provenance("inbox"), Some(Provenance::External));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written<Written<Value>>")]
pub struct ToolLabelsConfig(Vec<(String, ToolLabel)>);

impl ToolLabelsConfig {
    /// Nothing beyond what is built in.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool's label. A second one for the tool is found by [`ToolLabels::new`].
    #[must_use]
    pub fn with_label(mut self, tool: impl Into<String>, label: ToolLabel) -> Self {
        self.0.push((tool.into(), label));
        self
    }

    /// The labels, in the order in which they were written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, ToolLabel)> {
        self.0.iter().map(|(name, label)| (name.as_str(), *label))
    }
}

impl IntoIterator for ToolLabelsConfig {
    type Item = (String, ToolLabel);
    type IntoIter = std::vec::IntoIter<(String, ToolLabel)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Serialize for ToolLabelsConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl TryFrom<Written<Written<Value>>> for ToolLabelsConfig {
    type Error = LabelError;

    fn try_from(written: Written<Written<Value>>) -> Result<Self, LabelError> {
        let Written::Fields(fields) = written else {
            return Err(LabelError::new("labels".to_owned(), LabelProblem::NotAnObject));
        };
        let label =
            |(name, label): (String, _)| ToolLabel::from_written(&place(&name), label).map(|label| (name, label));
        let labels = fields.into_iter().map(label).collect::<Result<Vec<_>, _>>()?;
        // What would be found later is found here: a configuration that reads can be used.
        ToolLabels::new(labels.iter().map(|(name, label)| (name, *label)))?;
        Ok(Self(labels))
    }
}

#[cfg(test)]
mod tests;
