//! What stands in a configuration, before it is known to be an entry.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::error::{ServerError, ServerProblem, join};

type Result<T> = std::result::Result<T, ServerError>;

/// A value with its place. A derived reader would take an array for a table, and the last of two of one name.
#[derive(Clone, Debug)]
pub(super) struct Spot<'a> {
    pub(super) place: String,
    pub(super) value: &'a Value,
}

impl<'a> Spot<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { place: String::new(), value }
    }

    pub(super) fn error(&self, problem: ServerProblem) -> ServerError {
        ServerError::new(self.place.clone(), problem)
    }

    fn kind<T>(&self, value: Option<T>, kind: &'static str) -> Result<T> {
        value.ok_or_else(|| self.error(ServerProblem::NotA(kind)))
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        self.kind(self.value.as_str(), "a text")
    }

    pub(super) fn flag(&self) -> Result<bool> {
        self.kind(self.value.as_bool(), "true or false")
    }

    pub(super) fn count(&self) -> Result<u64> {
        self.kind(self.value.as_u64(), "a whole number")
    }

    pub(super) fn list(&self) -> Result<impl Iterator<Item = Spot<'a>> + use<'a>> {
        let (place, list) = (self.place.clone(), self.kind(self.value.as_array(), "a list")?);
        Ok(list.iter().enumerate().map(move |(at, value)| Spot { place: format!("{place}[{at}]"), value }))
    }

    pub(super) fn texts(&self) -> Result<Vec<String>> {
        self.list()?.map(|text| text.text().map(str::to_owned)).collect()
    }

    /// All entries of a table whose names are the operator's.
    pub(super) fn entries(&self) -> Result<impl Iterator<Item = (&'a str, Spot<'a>)> + use<'a>> {
        let (place, table) = (self.place.clone(), self.kind(self.value.as_object(), "a table")?);
        Ok(table.iter().map(move |(name, value)| (name.as_str(), Spot { place: join(&place, name), value })))
    }

    /// A table that has no fields but these.
    pub(super) fn table(&self, known: &[&str]) -> Result<Table<'a>> {
        let fields = self.kind(self.value.as_object(), "a table")?;
        // Whether a map keeps the order in which it was written is a feature that any crate may turn on.
        match fields.keys().filter(|field| !known.contains(&field.as_str())).min() {
            Some(field) => Err(ServerError::new(join(&self.place, field), ServerProblem::UnknownField)),
            None => Ok(Table { place: self.place.clone(), fields }),
        }
    }
}

/// A table without unknown fields.
pub(super) struct Table<'a> {
    place: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Table<'a> {
    pub(super) fn field(&self, name: &str) -> Option<Spot<'a>> {
        self.fields.get(name).map(|value| Spot { place: join(&self.place, name), value })
    }

    pub(super) fn required(&self, name: &str) -> Result<Spot<'a>> {
        self.field(name).ok_or_else(|| ServerError::new(join(&self.place, name), ServerProblem::Missing))
    }

    /// A field that may be absent.
    pub(super) fn optional<T>(&self, name: &str, read: impl FnOnce(&Spot<'a>) -> Result<T>) -> Result<Option<T>> {
        self.field(name).map(|spot| read(&spot)).transpose()
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.optional(name, Spot::flag)?.unwrap_or_default())
    }
}

/// Any serde format, as a [`Value`] in which nothing is there twice.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Value, D::Error> {
    At(String::new()).deserialize(deserializer)
}

/// The value at a place.
struct At(String);

impl<'de> DeserializeSeed<'de> for At {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! scalars {
    ($($visit:ident: $kind:ty),+) => {$(
        fn $visit<E: Error>(self, value: $kind) -> std::result::Result<Value, E> {
            Ok(Value::from(value))
        }
    )+};
}

impl<'de> Visitor<'de> for At {
    type Value = Value;

    scalars! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, visit_string: String }

    fn visit_unit<E: Error>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut written: A) -> std::result::Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = written.next_element_seed(Self(format!("{}[{}]", self.0, list.len())))? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut written: A) -> std::result::Result<Value, A::Error> {
        let mut table = Map::new();
        while let Some(field) = written.next_key::<String>()? {
            let place = join(&self.0, &field);
            if table.contains_key(&field) {
                return Err(A::Error::custom(ServerError::new(place, ServerProblem::Duplicate)));
            }
            let value = written.next_value_seed(Self(place))?;
            table.insert(field, value);
        }
        Ok(Value::Object(table))
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }
}

/// Reads a type through [`Spot`], so that every format goes through the same checks.
macro_rules! through_spot {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = crate::server::written::read(deserializer)?;
                Self::read(&crate::server::written::Spot::root(&value)).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(super) use through_spot;
