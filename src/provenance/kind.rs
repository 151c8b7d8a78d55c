//! The two sides of the trust boundary.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

use crate::trust::Verdict;

/// Where the bytes of a result came from.
///
/// The layers write both values, and a consumer must take an absent tag for [`External`](Self::External), since any
/// hop that drops the field would launder what it marks.
///
/// The default is for what one has written oneself: with the attribute below, a transcript from before there was a
/// tag still reads, and what is internal costs no bytes. It is not a way to read what a gateway sends.
///
/// # Example
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tower_toolgate::provenance::Provenance;
///
/// #[derive(Serialize, Deserialize)]
/// struct Entry {
///     text: String,
///     #[serde(default, skip_serializing_if = "Provenance::is_internal")]
///     provenance: Provenance,
/// }
///
/// let legacy: Entry = serde_json::from_str(r#"{"text": "hello"}"#)?;
/// assert!(legacy.provenance.is_internal());
/// assert_eq!(serde_json::to_string(&legacy)?, r#"{"text":"hello"}"#);
///
/// let fetched = Entry { text: "hello".to_owned(), provenance: Provenance::External };
/// assert_eq!(serde_json::to_string(&fetched)?, r#"{"text":"hello","provenance":"external"}"#);
/// assert!(serde_json::from_str::<Provenance>(r#""External""#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub enum Provenance {
    /// From within the trust boundary.
    #[default]
    Internal,
    /// From outside of it: data, whatever it says of itself.
    External,
}

impl Provenance {
    /// Whether it came from within. Takes a reference, so that serde can be told to skip it.
    #[must_use]
    pub const fn is_internal(&self) -> bool {
        matches!(self, Self::Internal)
    }

    /// Whether it came from outside.
    #[must_use]
    pub const fn is_external(&self) -> bool {
        matches!(self, Self::External)
    }

    /// The name: `internal` or `external`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::External => "external",
        }
    }

    /// What both together are: external as soon as one is.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::provenance::Provenance::{External, Internal};
    ///
    /// assert_eq!(Internal.join(External), External);
    /// assert_eq!(Internal.join(Internal), Internal);
    /// ```
    pub const fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Internal, Self::Internal) => Self::Internal,
            (Self::External, _) | (_, Self::External) => Self::External,
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// External if the verdict marks a session.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::Provenance;
/// use tower_toolgate::trust::{Classifier, ClassifierConfig, DeclaredServer};
///
/// let classifier = Classifier::new(&ClassifierConfig::new().with_server(DeclaredServer::own("files")))?;
/// assert!(Provenance::from(&classifier.classify(Some("files"), "read")).is_internal());
/// assert!(Provenance::from(&classifier.classify(Some("files"), "web_fetch")).is_external());
/// # Ok::<(), tower_toolgate::trust::ClassifierError>(())
/// ```
impl From<&Verdict<'_>> for Provenance {
    fn from(verdict: &Verdict<'_>) -> Self {
        if verdict.pollutes() { Self::External } else { Self::Internal }
    }
}

impl Serialize for Provenance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

// By hand: a derived one would take maps with the name as their key.
impl<'de> Deserialize<'de> for Provenance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Name)
    }
}

struct Name;

impl Visitor<'_> for Name {
    type Value = Provenance;

    fn visit_str<E: Error>(self, name: &str) -> Result<Provenance, E> {
        let found = [Provenance::Internal, Provenance::External].into_iter().find(|kind| kind.as_str() == name);
        found.ok_or_else(|| E::unknown_variant(name, &["internal", "external"]))
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a provenance, `internal` or `external`")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, from_value, json, to_value};

    use super::Provenance::{self, External, Internal};
    use crate::trust::{Classifier, ClassifierConfig, DeclaredServer, DeclaredTool, ToolContentOrigin};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Entry {
        #[serde(default, skip_serializing_if = "Provenance::is_internal")]
        provenance: Provenance,
    }

    #[test]
    fn pv_01_pv_07_two_values_that_complement_each_other() {
        assert_eq!(Provenance::default(), Internal);
        for kind in [Internal, External] {
            let copy = kind;
            assert_eq!(kind.is_internal(), !kind.is_external());
            assert_eq!((copy, kind.to_string().as_str()), (kind, kind.as_str()));
        }
        assert!(External.is_external());
    }

    #[test]
    fn pv_02_pv_05_names_on_the_wire_and_back() {
        for (kind, name) in [(Internal, "internal"), (External, "external")] {
            assert_eq!(to_value(kind).unwrap(), json!(name));
            assert_eq!(from_value::<Provenance>(json!(name)).unwrap(), kind);
        }
        assert_eq!(from_str::<Provenance>(r#""ext\u0065rnal""#).unwrap(), External);
    }

    #[test]
    fn pv_03_pv_04_internal_is_left_out_and_absent_is_internal() {
        assert_eq!(to_value(Entry { provenance: Internal }).unwrap(), json!({}));
        assert_eq!(to_value(Entry { provenance: External }).unwrap(), json!({"provenance": "external"}));
        assert_eq!(from_str::<Entry>("{}").unwrap().provenance, Internal);
        assert_eq!(toml::from_str::<Entry>("provenance = 'external'").unwrap().provenance, External);
    }

    #[test]
    fn pv_06_anything_else_is_refused() {
        for value in [
            json!("EXTERNAL"),
            json!("External"),
            json!("trusted"),
            json!(" external"),
            json!(""),
            json!(1),
            json!(0),
            json!(true),
            json!(null),
            json!(["external"]),
            json!({"external": null}),
            json!({"internal": null}),
        ] {
            assert!(from_value::<Provenance>(value.clone()).is_err(), "{value}");
            assert!(from_str::<Provenance>(&value.to_string()).is_err(), "{value}");
            assert!(from_value::<Entry>(json!({"provenance": value})).is_err(), "{value}");
        }
        let error = from_str::<Provenance>(r#""trusted""#).unwrap_err().to_string();
        assert!(error.starts_with("unknown variant `trusted`, expected `internal` or `external`"), "{error}");
    }

    #[test]
    fn pv_07_external_wins_a_join() {
        for (one, other, both) in [
            (Internal, Internal, Internal),
            (Internal, External, External),
            (External, Internal, External),
            (External, External, External),
        ] {
            assert_eq!((one.join(other), one.max(other)), (both, both));
        }
    }

    #[test]
    fn pv_07_a_verdict_that_marks_is_external() {
        for (strict, origin, kind) in [
            (false, ToolContentOrigin::Local, Internal),
            (true, ToolContentOrigin::Local, Internal),
            (false, ToolContentOrigin::Execution, Internal),
            (true, ToolContentOrigin::Execution, External),
            (false, ToolContentOrigin::External, External),
        ] {
            let config = ClassifierConfig::new()
                .with_exec_is_external(strict)
                .with_server(DeclaredServer::own("own"))
                .with_content_origin(DeclaredTool::new(Some("own"), "run", origin));
            let classifier = Classifier::new(&config).unwrap();
            assert_eq!(Provenance::from(&classifier.classify(Some("own"), "run")), kind, "{strict} {origin}");
        }
    }
}
