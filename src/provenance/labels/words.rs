//! The words that labels are written in.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A closed vocabulary.
pub(super) trait Word: Copy + 'static {
    const KIND: &'static str;
    const ALL: &'static [Self];
    fn word(self) -> &'static str;

    fn parse(word: &str) -> Result<Self, UnknownWord> {
        let known = Self::ALL.iter().copied();
        known.clone().find(|known| known.word() == word).ok_or_else(|| UnknownWord {
            kind: Self::KIND,
            found: crate::policy::short(word).into(),
            known: known.map(Self::word).collect(),
        })
    }
}

macro_rules! words {
    ($name:ident, $kind:literal, $($variant:ident = $word:literal),+) => {
        impl Word for $name {
            const KIND: &'static str = $kind;
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn word(self) -> &'static str {
                self.as_str()
            }
        }

        impl $name {
            /// The word for it, compared byte for byte.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.as_str().to_owned()
            }
        }

        impl TryFrom<String> for $name {
            type Error = UnknownWord;

            fn try_from(word: String) -> Result<Self, UnknownWord> {
                Self::parse(&word)
            }
        }
    };
}

/// What a tool can do.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::Capability;
///
/// assert_eq!(Capability::NetSend.as_str(), "net_send");
/// let error = serde_json::from_str::<Capability>(r#""NET_SEND""#).unwrap_err();
/// assert!(error.to_string().contains(r#"did you mean "net_send"?"#));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum Capability {
    /// It reaches the network: what it brings back is external.
    NetSend,
    /// It reads files.
    FileRead,
    /// It writes files.
    FileWrite,
    /// It runs programs.
    ProcessExec,
}

words! {
    Capability, "capability",
    NetSend = "net_send", FileRead = "file_read", FileWrite = "file_write", ProcessExec = "process_exec"
}

/// Whether what a tool brings back can be trusted. What is greater is worse.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::LabelTrust;
///
/// assert!(LabelTrust::Trusted < LabelTrust::Untrusted);
/// assert_eq!(LabelTrust::default().to_string(), "trusted");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum LabelTrust {
    /// The operator vouches for it.
    #[default]
    Trusted,
    /// Nobody does: it is external.
    Untrusted,
}

words! { LabelTrust, "trust", Trusted = "trusted", Untrusted = "untrusted" }

/// How confidential is what a tool brings back. What is greater is more so. It says nothing of where it came from.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::Confidentiality;
///
/// assert!(Confidentiality::Public < Confidentiality::Internal);
/// assert!(Confidentiality::Internal < Confidentiality::Secret);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum Confidentiality {
    /// Anybody may have it.
    #[default]
    Public,
    /// It should stay within.
    Internal,
    /// It must stay within.
    Secret,
}

words! { Confidentiality, "confidentiality", Public = "public", Internal = "internal", Secret = "secret" }

/// What is to be done about a forbidden flow. What is greater is stricter.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::FlowResponse;
///
/// assert!(FlowResponse::Allow < FlowResponse::Approve);
/// assert!(FlowResponse::Approve < FlowResponse::Block);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum FlowResponse {
    /// Nothing.
    Allow,
    /// A person is asked.
    Approve,
    /// It is refused.
    Block,
}

words! { FlowResponse, "action", Allow = "allow", Approve = "approve", Block = "block" }

/// What is no word of a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    kind: &'static str,
    found: String,
    known: Vec<&'static str>,
}

impl UnknownWord {
    /// What was written; what is long is cut off.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.found
    }

    /// The words that there are.
    #[must_use]
    pub fn known(&self) -> &[&'static str] {
        &self.known
    }

    /// The word that was most likely meant.
    #[must_use]
    pub fn nearest(&self) -> Option<&'static str> {
        let written = self.found.trim().to_lowercase();
        self.known.iter().copied().min_by_key(|known| distance(&written, known))
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, found, known } = self;
        let nearest = self.nearest().unwrap_or_default();
        write!(f, "{found:?} is no {kind}: did you mean {nearest:?}? One of {}", known.join(", "))
    }
}

impl std::error::Error for UnknownWord {}

/// How many letters have to be added, dropped or replaced.
fn distance(one: &str, other: &str) -> usize {
    let mut row = Vec::from_iter(0..=other.chars().count());
    for (at, letter) in one.chars().enumerate() {
        let mut next = vec![at + 1];
        for ((replaced, dropped), target) in row.iter().zip(row.iter().skip(1)).zip(other.chars()) {
            let added = next.last().copied().unwrap_or_default() + 1;
            next.push(added.min(dropped + 1).min(replaced + usize::from(letter != target)));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
