//! What is said of one tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{LabelError, LabelProblem};
use super::words::{Capability, Confidentiality, FlowResponse, LabelTrust, Word};
use super::written::Written;
use crate::provenance::Provenance;

/// What is said of a tool. A label that says nothing vouches for the tool: what it brings back is internal.
///
/// Only `capability` and `trust` say where results come from. The other fields are for what enforces flows.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::{Capability, LabelTrust, Provenance, ToolLabel};
///
/// assert_eq!(ToolLabel::new().provenance(), Provenance::Internal);
/// assert_eq!(ToolLabel::new().with_sink(true).provenance(), Provenance::Internal);
/// assert_eq!(ToolLabel::new().with_trust(LabelTrust::Untrusted).provenance(), Provenance::External);
///
/// let label: ToolLabel = serde_json::from_str(r#"{"capability": "net_send"}"#)?;
/// assert_eq!(label, ToolLabel::new().with_capability(Capability::NetSend));
/// assert_eq!(label.provenance(), Provenance::External);
/// assert!(serde_json::from_str::<ToolLabel>(r#"["net_send"]"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written<Value>")]
#[non_exhaustive]
pub struct ToolLabel {
    /// What it can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<Capability>,
    /// Whether what it brings back can be trusted.
    pub trust: LabelTrust,
    /// Whether what it is given may leave the trust boundary.
    pub sink: bool,
    /// How confidential is what it brings back.
    pub confidentiality: Confidentiality,
    /// Whether it takes the confidentiality away from what passes through it.
    pub declassifier: bool,
    /// From where on what it is given is too confidential; `None`: nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_confidential: Option<Confidentiality>,
    /// What is to be done then; `None`: nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<FlowResponse>,
}

const FIELDS: [&str; 7] =
    ["capability", "trust", "sink", "confidentiality", "declassifier", "min_confidential", "actions"];

impl ToolLabel {
    /// A label that says nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            capability: None,
            trust: LabelTrust::Trusted,
            sink: false,
            confidentiality: Confidentiality::Public,
            declassifier: false,
            min_confidential: None,
            actions: None,
        }
    }

    /// Sets what it can do.
    #[must_use]
    pub const fn with_capability(self, capability: Capability) -> Self {
        Self { capability: Some(capability), ..self }
    }

    /// Sets whether what it brings back can be trusted.
    #[must_use]
    pub const fn with_trust(self, trust: LabelTrust) -> Self {
        Self { trust, ..self }
    }

    /// Sets whether what it is given may leave the trust boundary.
    #[must_use]
    pub const fn with_sink(self, sink: bool) -> Self {
        Self { sink, ..self }
    }

    /// Sets how confidential is what it brings back.
    #[must_use]
    pub const fn with_confidentiality(self, confidentiality: Confidentiality) -> Self {
        Self { confidentiality, ..self }
    }

    /// Sets whether it takes confidentiality away.
    #[must_use]
    pub const fn with_declassifier(self, declassifier: bool) -> Self {
        Self { declassifier, ..self }
    }

    /// Sets from where on what it is given is too confidential.
    #[must_use]
    pub const fn with_min_confidential(self, least: Confidentiality) -> Self {
        Self { min_confidential: Some(least), ..self }
    }

    /// Sets what is to be done then.
    #[must_use]
    pub const fn with_actions(self, actions: FlowResponse) -> Self {
        Self { actions: Some(actions), ..self }
    }

    /// Where what it brings back comes from: from outside if it reaches the network or is not trusted.
    pub fn provenance(&self) -> Provenance {
        match (self.capability, self.trust) {
            (Some(Capability::NetSend), _) | (_, LabelTrust::Untrusted) => Provenance::External,
            (_, LabelTrust::Trusted) => Provenance::Internal,
        }
    }

    /// A built-in's label with what an operator adds: of each field the stricter.
    pub(super) fn hardened(self, place: &str, added: &Self) -> Result<Self, LabelError> {
        let error = |field: &str, problem| Err(LabelError::new(format!("{place}.{field}"), problem));
        if added.capability.is_some() && added.capability != self.capability {
            return error("capability", LabelProblem::BuiltinCapability(self.capability));
        }
        if added.declassifier && !self.declassifier {
            return error("declassifier", LabelProblem::BuiltinDeclassifier);
        }
        Ok(Self {
            capability: self.capability,
            trust: self.trust.max(added.trust),
            sink: self.sink || added.sink,
            confidentiality: self.confidentiality.max(added.confidentiality),
            declassifier: self.declassifier,
            // `None` is above everything here, which is not how options compare.
            min_confidential: [self.min_confidential, added.min_confidential].into_iter().flatten().min(),
            actions: self.actions.max(added.actions),
        })
    }

    pub(super) fn from_written(place: &str, written: Written<Value>) -> Result<Self, LabelError> {
        let Written::Fields(fields) = written else {
            return Err(LabelError::new(place.to_owned(), LabelProblem::NotAnObject));
        };
        let mut label = Self::new();
        let mut seen = Vec::new();
        for (field, value) in fields {
            let set = if seen.contains(&field) { Err(LabelProblem::DuplicateField) } else { label.set(&field, &value) };
            set.map_err(|problem| LabelError::new(format!("{place}.{}", crate::policy::short(&field)), problem))?;
            seen.push(field);
        }
        Ok(label)
    }

    fn set(&mut self, field: &str, value: &Value) -> Result<(), LabelProblem> {
        match field {
            "capability" => self.capability = Some(word(value)?),
            "trust" => self.trust = word(value)?,
            "sink" => self.sink = value.as_bool().ok_or(LabelProblem::NotABool)?,
            "confidentiality" => self.confidentiality = word(value)?,
            "declassifier" => self.declassifier = value.as_bool().ok_or(LabelProblem::NotABool)?,
            "min_confidential" => self.min_confidential = Some(word(value)?),
            "actions" => self.actions = Some(word(value)?),
            _ => return Err(LabelProblem::UnknownField(FIELDS.to_vec())),
        }
        Ok(())
    }
}

impl TryFrom<Written<Value>> for ToolLabel {
    type Error = LabelError;

    fn try_from(written: Written<Value>) -> Result<Self, LabelError> {
        Self::from_written("label", written)
    }
}

fn word<W: Word>(value: &Value) -> Result<W, LabelProblem> {
    W::parse(value.as_str().ok_or(LabelProblem::NotText)?).map_err(LabelProblem::UnknownWord)
}
