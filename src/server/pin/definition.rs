//! The definitions in a list of tools.

use std::ops::Range;

use super::fault::{DefinitionFault, ListFault};
use super::hash::DefinitionHash;
use crate::json::{Kind, Reader, folds_onto};

/// The tools that a list may have. What is known of one takes far more memory than a short one takes in a text.
pub(crate) const MAX_TOOLS: usize = 1 << 16;

/// One definition in a list of tools.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::definitions;
///
/// let answer = br#"{"tools":[{"name":"read"}],"nextCursor":"2"}"#;
/// let found = definitions(answer)?;
/// assert_eq!(found[0].name(), Some("read"));
/// assert_eq!(&answer[found[0].range()], br#"{"name":"read"}"#);
/// assert!(found[0].hash().is_ok());
/// # Ok::<(), tower_toolgate::server::ListFault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: Option<String>,
    range: Range<usize>,
    hash: Result<DefinitionHash, DefinitionFault>,
}

impl Definition {
    fn new(text: &[u8], range: Range<usize>) -> Self {
        let raw = text.get(range.clone()).unwrap_or_default();
        let name = name(raw);
        let hash = name.as_ref().map_err(|fault| *fault).and_then(|_| DefinitionHash::of(raw));
        Self { name: name.ok(), range, hash }
    }

    /// The name, if every reader finds the same.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where it stands in the text, its braces included.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The hash.
    ///
    /// # Errors
    ///
    /// Readers may differ about the definition: it must not be passed on where definitions are compared.
    pub fn hash(&self) -> Result<DefinitionHash, DefinitionFault> {
        self.hash
    }
}

/// The definitions in the text of one `tools/list` result, or of the JSON-RPC response that has it: in their order,
/// each with its place. A list in several pages is several texts.
///
/// A definition that cannot be hashed does not take the others with it.
///
/// # Errors
///
/// The text has not exactly one list of tools, or one of more than 65,536.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{DefinitionFault, definitions};
///
/// let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"title":"b"}]}}"#;
/// let found = definitions(answer)?;
/// assert_eq!(found[0].name(), Some("a"));
/// assert_eq!(found[1].hash(), Err(DefinitionFault::NoName));
/// # Ok::<(), tower_toolgate::server::ListFault>(())
/// ```
pub fn definitions(list_answer: &[u8]) -> Result<Vec<Definition>, ListFault> {
    let mut list = List { text: list_answer, reader: Reader::tolerant(list_answer)?, found: None };
    if list.reader.kind()? != Kind::Object {
        return Err(ListFault::NoList);
    }
    list.object(true)?;
    list.reader.end()?;
    list.found.ok_or(ListFault::NoList)
}

/// The definitions in all lists of tools of a message, or of a batch; nearly always there is one list, or none.
pub(crate) fn all_definitions(text: &[u8]) -> Result<Vec<Definition>, ListFault> {
    let mut list = List { text, reader: Reader::tolerant(text)?, found: None };
    let mut all = Vec::new();
    if list.reader.kind()? == Kind::Array {
        list.reader.open_array()?;
        while list.reader.element()? {
            all.append(&mut list.message()?);
            if all.len() > MAX_TOOLS {
                return Err(ListFault::TooMany);
            }
        }
    } else {
        all = list.message()?;
    }
    list.reader.end()?;
    Ok(all)
}

/// Tolerant: a definition is read once more, by itself, and what else is in the answer is nobody's concern here.
struct List<'a> {
    text: &'a [u8],
    reader: Reader<'a, true>,
    found: Option<Vec<Definition>>,
}

impl List<'_> {
    fn message(&mut self) -> Result<Vec<Definition>, ListFault> {
        match self.reader.kind()? {
            Kind::Object => self.object(true)?,
            _ => drop(self.reader.value()?),
        }
        Ok(self.found.take().unwrap_or_default())
    }

    fn object(&mut self, is_outermost: bool) -> Result<(), ListFault> {
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            let name = key.decode(self.text).unwrap_or_default();
            match (name.as_ref(), self.reader.kind()?) {
                ("tools", Kind::Array) => self.tools()?,
                ("result", Kind::Object) if is_outermost => self.object(false)?,
                (other, _) if folds_onto(other, "tools") || (is_outermost && folds_onto(other, "result")) => {
                    return Err(ListFault::AmbiguousKey);
                }
                _ => drop(self.reader.value()?),
            }
        }
        Ok(())
    }

    fn tools(&mut self) -> Result<(), ListFault> {
        let found = tools(self.text, &mut self.reader)?;
        match self.found.replace(found) {
            None => Ok(()),
            Some(_) => Err(ListFault::TwoLists),
        }
    }
}

/// The definitions in the array that comes next.
pub(super) fn tools(text: &[u8], reader: &mut Reader<'_, true>) -> Result<Vec<Definition>, ListFault> {
    let mut found = Vec::new();
    reader.open_array()?;
    while reader.element()? {
        let span = reader.value()?.raw_span();
        if found.len() == MAX_TOOLS {
            return Err(ListFault::TooMany);
        }
        found.push(Definition::new(text, span.start()..span.end()));
    }
    Ok(found)
}

fn name(raw: &[u8]) -> Result<String, DefinitionFault> {
    let mut reader = Reader::tolerant(raw)?;
    if reader.kind()? != Kind::Object {
        return Err(DefinitionFault::NotAnObject);
    }
    reader.open_object()?;
    let mut found = None;
    while let Some(key) = reader.key()? {
        let member = key.decode(raw).unwrap_or_default();
        if folds_onto(&member, "name") {
            return Err(DefinitionFault::AmbiguousName);
        }
        let value = reader.value()?;
        if member == "name" {
            found = value.as_text().and_then(|text| text.decode(raw).ok());
        }
    }
    found.map(std::borrow::Cow::into_owned).ok_or(DefinitionFault::NoName)
}
