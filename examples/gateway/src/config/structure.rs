//! Whether a tree has the keys and the values that the schema asks for.

use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use super::Problem;
use super::nearest::nearest;
use super::places::{Lines, element, member};
use super::schema::{Field, Kind, ROOT};

/// Every departure of a tree from the schema.
///
/// A misspelt key is renamed to the one it was meant to be, so that what else is wrong with its value
/// is found too and nothing is said to be missing that is only misspelt.
pub(super) fn check(lines: &Lines<'_>, tree: &mut DeTable<'_>) -> Vec<Problem> {
    let mut walk = Walk { lines, problems: Vec::new() };
    walk.fields("", None, tree, ROOT);
    walk.problems
}

struct Walk<'l> {
    lines: &'l Lines<'l>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn value(&mut self, place: &str, value: &mut Spanned<DeValue<'_>>, kind: &Kind) {
        let at = value.span().start;
        let verdict = match (kind, value.get_mut()) {
            (Kind::Count(least), DeValue::Integer(number)) => count(number, *least),
            (Kind::Flag, DeValue::Boolean(_)) => Ok(()),
            (Kind::List(least, of), DeValue::Array(array)) => self.array(place, array, *least, of),
            (Kind::Map(check, of), DeValue::Table(table)) => self.map(place, table, *check, of),
            (Kind::OneOf(fields), DeValue::Table(table)) => self.one_of(place, at, table, fields),
            (Kind::Table(fields), DeValue::Table(table)) => {
                self.fields(place, Some(at), table, fields);
                Ok(())
            }
            (Kind::Text(check), DeValue::String(text)) => check(text),
            (Kind::Word(words), DeValue::String(text)) => word(text, words),
            (kind, found) => Err(format!("expected {}, found {}", noun(kind), article(found.type_str()))),
        };
        if let Err(message) = verdict {
            self.add(place, Some(at), message);
        }
    }

    fn fields(&mut self, place: &str, at: Option<usize>, table: &mut DeTable<'_>, fields: &[Field]) {
        self.rename_unknown(place, table, fields);
        for field in fields {
            let place = member(place, field.name);
            match table.get_mut(field.name) {
                Some(value) => self.value(&place, value, &field.kind),
                None if field.required => {
                    self.add(&place, at, format!("missing key `{}`", field.name));
                }
                None => {}
            }
        }
    }

    fn rename_unknown(&mut self, place: &str, table: &mut DeTable<'_>, fields: &[Field]) {
        let known = || fields.iter().map(|field| field.name);
        let names = table.keys().map(|key| key.get_ref().to_string());
        let unknown: Vec<_> = names.filter(|name| known().all(|known| known != name)).collect();
        for name in unknown {
            let Some((key, value)) = table.remove_entry(name.as_str()) else {
                continue;
            };
            let meant = nearest(&name, known());
            let message = format!("unknown key `{name}`, {}", hint(meant, known()));
            self.add(&member(place, &name), Some(key.span().start), message);
            if let Some(meant) = meant.filter(|meant| !table.contains_key(*meant)) {
                table.insert(Spanned::new(key.span(), meant.into()), value);
            }
        }
    }

    fn one_of(&mut self, place: &str, at: usize, table: &mut DeTable<'_>, fields: &[Field]) -> Result<(), String> {
        let written = table.len();
        self.fields(place, Some(at), table, fields);
        match (written, table.len()) {
            // An unknown key that was meant to be no other has been told already.
            (1, _) | (_, 1) => Ok(()),
            _ => Err(format!("expected exactly one of {}", list(fields.iter().map(|field| field.name)))),
        }
    }

    fn array(&mut self, place: &str, array: &mut DeArray<'_>, least: usize, of: &Kind) -> Result<(), String> {
        for (index, value) in array.iter_mut().enumerate() {
            self.value(&element(place, index), value, of);
        }
        if array.len() < least { Err("must not be empty".to_owned()) } else { Ok(()) }
    }

    fn map(
        &mut self,
        place: &str,
        table: &mut DeTable<'_>,
        check: fn(&str) -> Result<(), String>,
        of: &Kind,
    ) -> Result<(), String> {
        for (key, value) in table.iter_mut() {
            let place = member(place, key.get_ref());
            if let Err(message) = check(key.get_ref()) {
                self.add(&place, Some(key.span().start), message);
            }
            self.value(&place, value, of);
        }
        Ok(())
    }

    fn add(&mut self, place: &str, at: Option<usize>, message: String) {
        let position = at.map(|at| self.lines.position(at));
        self.problems.push(Problem::new(place, message).at(position));
    }
}

fn count(number: &DeInteger<'_>, least: u64) -> Result<(), String> {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(value) if u64::try_from(value).is_ok_and(|value| value >= least) => Ok(()),
        Ok(value) => Err(format!("`{value}` is less than {least}")),
        Err(_) => Err(format!("`{number}` is out of range")),
    }
}

fn word(text: &str, words: &[&str]) -> Result<(), String> {
    if words.contains(&text) {
        return Ok(());
    }
    let hint = hint(nearest(text, words.iter().copied()), words.iter().copied());
    Err(format!("unknown value `{text}`, {hint}"))
}

fn hint<'k>(meant: Option<&str>, known: impl Iterator<Item = &'k str>) -> String {
    match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known are {}", list(known)),
    }
}

fn list<'k>(words: impl Iterator<Item = &'k str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn noun(kind: &Kind) -> &'static str {
    match kind {
        Kind::Count(_) => "an integer",
        Kind::Flag => "true or false",
        Kind::List(..) => "an array",
        Kind::Map(..) | Kind::OneOf(_) | Kind::Table(_) => "a table",
        Kind::Text(_) | Kind::Word(_) => "a string",
    }
}

fn article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {noun}")
}
