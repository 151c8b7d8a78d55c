//! What stands in a configuration, before it is known to be one.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What should be an object. Any other kind is kept as such, so that who knows the place can say so; fields are kept
/// as often as they are written, since a map would keep the last.
pub(super) enum Written<V> {
    Fields(Vec<(String, V)>),
    Other,
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Written<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyKind(PhantomData))
    }
}

struct AnyKind<V>(PhantomData<V>);

macro_rules! other {
    ($($visit:ident: $kind:ty),+) => {$(
        fn $visit<E: Error>(self, _: $kind) -> Result<Self::Value, E> {
            Ok(Written::Other)
        }
    )+};
}

impl<'de, V: Deserialize<'de>> Visitor<'de> for AnyKind<V> {
    type Value = Written<V>;

    other! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Written::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Written::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut written: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = written.next_entry()? {
            fields.push(entry);
        }
        Ok(Written::Fields(fields))
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
}
