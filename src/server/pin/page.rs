//! One page of a list of tools, and the news that there is another list.

use super::definition::{Definition, tools};
use super::fault::ListFault;
use crate::json::{self, Kind, Reader, folds_onto};

const LIST_CHANGED: &str = "notifications/tools/list_changed";
const MESSAGE: [&str; 4] = ["error", "id", "method", "result"];
const RESULT: [&str; 2] = ["nextCursor", "tools"];

/// One page of a list of tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) definitions: Vec<Definition>,
    /// Where the next one begins.
    pub(crate) next: Option<String>,
}

impl Page {
    /// The page that a message is, if it answers the request with an id.
    ///
    /// # Errors
    ///
    /// The answer is none, or readers may differ about what it lists.
    pub(crate) fn read(message: &[u8], id: &str) -> Result<Option<Self>, ListFault> {
        Self::of(message, Some(id), true)
    }

    /// Whether a message is a page, of whatever list, behind which there is no other one.
    pub(crate) fn is_last(message: &[u8]) -> bool {
        Self::of(message, None, false).is_ok_and(|page| page.is_some_and(|page| page.next.is_none()))
    }

    fn of(message: &[u8], id: Option<&str>, defines: bool) -> Result<Option<Self>, ListFault> {
        let (reader, found) = (Reader::tolerant(message)?, Found::default());
        let mut read = Read { text: message, reader, defines, found };
        if read.reader.kind()? != Kind::Object {
            return Err(ListFault::NoList);
        }
        read.message()?;
        read.reader.end()?;
        let Found { id: of, asks, error, result } = read.found;
        let is_answer = id.is_none_or(|id| of.is_some_and(|of| of == id));
        match (asks, is_answer, result) {
            (true, _, None) | (false, false, _) => Ok(None),
            (false, true, Some(page)) if !error => page.map(Some),
            (true, _, Some(_)) | (false, true, _) => Err(ListFault::NoList),
        }
    }
}

#[derive(Default)]
struct Found {
    id: Option<String>,
    /// There is a method.
    asks: bool,
    error: bool,
    result: Option<Result<Page, ListFault>>,
}

/// Tolerant: a definition is read once more, by itself.
struct Read<'a> {
    text: &'a [u8],
    reader: Reader<'a, true>,
    /// Definitions are wanted, each of which is hashed.
    defines: bool,
    found: Found,
}

impl Read<'_> {
    fn message(&mut self) -> Result<(), ListFault> {
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            let name = key.decode(self.text).unwrap_or_default();
            match &*name {
                "result" if self.reader.kind()? == Kind::Object => {
                    let page = self.result()?;
                    self.found.result = Some(page.ok_or(ListFault::NoList));
                    continue;
                }
                "result" => self.found.result = Some(Err(ListFault::NoList)),
                "error" => self.found.error = true,
                "method" => self.found.asks = true,
                "id" => {
                    self.found.id = self.text()?;
                    continue;
                }
                name if MESSAGE.iter().any(|known| folds_onto(name, known)) => return Err(ListFault::AmbiguousKey),
                _ => {}
            }
            self.reader.value()?;
        }
        Ok(())
    }

    /// Reads a result: the page, if it has a list.
    fn result(&mut self) -> Result<Option<Page>, ListFault> {
        let (mut definitions, mut next) = (None, None);
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            let name = key.decode(self.text).unwrap_or_default();
            match (&*name, self.reader.kind()?) {
                ("tools", Kind::Array) if self.defines => definitions = Some(tools(self.text, &mut self.reader)?),
                ("tools", Kind::Array) => definitions = self.reader.value().map(|_| Some(Vec::new()))?,
                ("nextCursor", Kind::String) => next = Some(self.text()?.ok_or(ListFault::NoList)?),
                ("nextCursor", Kind::Null) => drop(self.reader.value()?),
                ("nextCursor", _) => return Err(ListFault::NoList),
                (name, _) if RESULT.iter().any(|known| folds_onto(name, known)) => return Err(ListFault::AmbiguousKey),
                _ => drop(self.reader.value()?),
            }
        }
        Ok(definitions.map(|definitions| Page { definitions, next }))
    }

    /// The next value, if it is a string without half a surrogate pair.
    fn text(&mut self) -> Result<Option<String>, json::Error> {
        let text = self.reader.value()?.as_text();
        Ok(text.and_then(|text| text.decode(self.text).ok()).map(std::borrow::Cow::into_owned))
    }
}

/// Whether a message, or one of a batch, says that there are other tools now.
pub(crate) fn announces_tools(text: &[u8]) -> Result<bool, json::Error> {
    let mut reader = Reader::tolerant(text)?;
    if reader.kind()? != Kind::Array {
        return announces(text, &mut reader);
    }
    let mut found = false;
    reader.open_array()?;
    while reader.element()? {
        found |= announces(text, &mut reader)?;
    }
    Ok(found)
}

fn announces(text: &[u8], reader: &mut Reader<'_, true>) -> Result<bool, json::Error> {
    let mut found = false;
    if reader.kind()? != Kind::Object {
        return reader.value().map(|_| found);
    }
    reader.open_object()?;
    while let Some(key) = reader.key()? {
        let value = reader.value()?;
        found |= key.is(text, "method") && value.as_text().is_some_and(|method| method.is(text, LIST_CHANGED));
    }
    Ok(found)
}
