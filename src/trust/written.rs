//! What stands in a configuration, before it is known to be one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::config::{ContentTrustConfig, ContentTrustError};

/// Fields, each once: a [`Value`] would keep the last of two of one name.
pub(super) struct Written(Map<String, Value>);

impl TryFrom<Written> for ContentTrustConfig {
    type Error = ContentTrustError;

    fn try_from(written: Written) -> Result<Self, ContentTrustError> {
        Self::from_fields(&written.0)
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Fields).map(Self)
    }
}

struct Fields;

macro_rules! not_an_object {
    ($($visit:ident: $kind:ty),+) => {$(
        fn $visit<E: Error>(self, _: $kind) -> Result<Self::Value, E> {
            Err(E::custom(ContentTrustError::NotAnObject))
        }
    )+};
}

impl<'de> Visitor<'de> for Fields {
    type Value = Map<String, Value>;

    not_an_object! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Err(E::custom(ContentTrustError::NotAnObject))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(A::Error::custom(ContentTrustError::NotAnObject))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut written: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some((field, value)) = written.next_entry::<String, Value>()? {
            if fields.contains_key(&field) {
                return Err(A::Error::custom(ContentTrustError::DuplicateField(field)));
            }
            fields.insert(field, value);
        }
        Ok(fields)
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lists of content_trust")
    }
}
