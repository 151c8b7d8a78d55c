//! Config paths and where they are in the text.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// Where each part of a configuration is written.
#[derive(Clone, Debug, Default)]
pub struct Places {
    positions: BTreeMap<String, (usize, usize)>,
}

impl Places {
    pub(super) fn new(lines: &Lines<'_>, tree: &DeTable<'_>) -> Self {
        let mut places = Self::default();
        places.add_table(lines, "", tree);
        places
    }

    /// Line and column of a config path such as `policy.roles[1].argument_allowlists[0].allowed[2]`,
    /// or of the nearest part around it that is written.
    #[must_use]
    pub fn locate(&self, path: &str) -> Option<(usize, usize)> {
        let mut path = path;
        loop {
            if let Some(position) = self.positions.get(path) {
                return Some(*position);
            }
            path = path.get(..path.rfind(['.', '['])?)?;
        }
    }

    /// Whether the text has this very path.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.positions.contains_key(path)
    }

    /// A problem with the line and column of its place.
    #[must_use]
    pub fn problem(&self, place: impl Into<String>, message: impl Into<String>) -> Problem {
        let place = place.into();
        let position = self.locate(&place);
        Problem::new(place, message).at(position)
    }

    pub(super) fn at(&self, position: (usize, usize)) -> Option<&str> {
        self.positions.iter().find(|(_, at)| **at == position).map(|(path, _)| path.as_str())
    }

    fn add_table(&mut self, lines: &Lines<'_>, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            self.add(lines, member(path, key.get_ref()), value);
        }
    }

    fn add(&mut self, lines: &Lines<'_>, path: String, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(lines, &path, table),
            DeValue::Array(array) => {
                for (index, value) in array.iter().enumerate() {
                    self.add(lines, element(&path, index), value);
                }
            }
            _ => {}
        }
        self.positions.insert(path, lines.position(value.span().start));
    }
}

/// The path of a table's key. Keys that are not bare are quoted, so that paths stay unambiguous.
pub(crate) fn member(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match (path, bare) {
        ("", true) => key.to_owned(),
        ("", false) => format!("{key:?}"),
        (path, true) => format!("{path}.{key}"),
        (path, false) => format!("{path}.{key:?}"),
    }
}

/// The path of an array's element.
pub(super) fn element(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// The lines of a text, to turn offsets into positions.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { text, starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    /// Line and column of a byte, both from 1.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        (line, before.trim_start_matches('\u{feff}').chars().count() + 1)
    }
}
