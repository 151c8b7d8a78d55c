//! Images, sound and files in what a server sends, and the texts that take their place.

mod hint;
mod medium;
#[cfg(test)]
mod tests;

use std::mem;

use bytes::Bytes;

pub(crate) use self::hint::may_hold_media;
use self::medium::{Label, Medium};
use crate::json::{self, Cuts, Edits, Kind, Reader, Value, reads_as};

/// How many media a message, or a batch, may have: what is held for it is bounded.
const MAX_MEDIA: usize = 1 << 16;

/// Why the media of a message cannot be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unremovable {
    Json(json::Error),
    /// There is something else than objects.
    NotAMessage,
    /// An array stands where an object belongs: some readers take its items for the object's members.
    NotAnObject,
    TooMany,
}

impl From<json::Error> for Unremovable {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

type Result<T = ()> = std::result::Result<T, Unremovable>;

/// What changes in a message, or in each of a batch, so that a text stands in the place of each medium.
pub(crate) fn without_media(text: &[u8]) -> Result<Edits> {
    let mut walk = Walk { text, reader: Reader::tolerant(text)?, edits: Edits::new(), media: 0 };
    walk.each(&mut Walk::message)?;
    let Walk { reader, edits, .. } = walk;
    reader.end()?;
    Ok(edits)
}

struct Walk<'a> {
    text: &'a [u8],
    reader: Reader<'a, true>,
    edits: Edits,
    /// How many have been found.
    media: usize,
}

/// What may be, or hold, content: in a message, in what it brings or asks for, in a task, in a message of a prompt.
const CARRIED: &[&str] = &[
    "content",
    "contents",
    "error",
    "inputRequests",
    "messages",
    "params",
    "result",
    "structuredContent",
    "task",
    "tasks",
];
const OF_BLOCKS: &[&str] = &["_meta", "content", "resource", "source", "structuredContent", "type"];
const OF_MEDIA: &[&str] = &["blob", "data", "mimeType"];
const OF_STRUCTURES: &[&str] = &["blob", "data", "mediaType", "media_type", "mimeType", "type"];

/// The one of some names that some reader takes a name for.
fn known<'a>(name: &str, names: &[&'a str]) -> &'a str {
    names.iter().find(|known| reads_as(name, known)).copied().unwrap_or_default()
}

/// What is known of a block that is on the way.
#[derive(Default)]
struct Block {
    /// Of several types, the one that says most.
    label: Option<Label>,
    medium: Medium,
    meta: Option<Value>,
}

impl Block {
    /// The block of text in the place of this one, if it is a medium.
    fn instead(&self, text: &[u8]) -> Option<Bytes> {
        let label = match self.label {
            Some(label @ (Label::Image | Label::Audio)) => label,
            None | Some(Label::File) if self.medium.is_there => Label::File,
            // What a text has besides is read by nobody.
            None | Some(Label::File | Label::Text) => return None,
        };
        let notice = self.medium.notice(label);
        let meta = self.meta.map(|meta| [br#","_meta":"#, meta.raw(text)].concat()).unwrap_or_default();
        Some([&br#"{"type":"text","text":""#[..], notice.as_bytes(), b"\"", &meta, b"}"].concat().into())
    }
}

impl Walk<'_> {
    fn message(&mut self) -> Result {
        if self.reader.kind()? == Kind::Object { self.carrier() } else { Err(Unremovable::NotAMessage) }
    }

    fn carrier(&mut self) -> Result {
        self.members(&mut |this, name, _| match known(name, CARRIED) {
            "content" => this.each(&mut Self::block),
            "contents" => this.each(&mut Self::resource),
            "error" => this.error(),
            "inputRequests" => this.requests(),
            "messages" | "tasks" => this.each(&mut Self::carrier),
            "params" | "result" | "task" => this.carrier(),
            "structuredContent" => this.structure(),
            _ => this.skip(),
        })
    }

    /// Reads what has a form of the tool's own, in which blocks may stand once more. Their bytes go, and the form stays.
    fn structure(&mut self) -> Result {
        match self.reader.kind()? {
            Kind::Array => self.each(&mut Self::structure),
            Kind::Object => self.object(),
            Kind::Bool | Kind::Null | Kind::Number | Kind::String => self.skip(),
        }
    }

    fn object(&mut self) -> Result {
        let (mut is_medium, mut bytes) = (false, Vec::new());
        self.members(&mut |this, name, _| {
            match (known(name, OF_STRUCTURES), this.reader.kind()?) {
                ("blob" | "data", Kind::String) => bytes.push(this.reader.value()?.raw_span()),
                ("mediaType" | "media_type" | "mimeType", Kind::String) => {
                    is_medium = true;
                    this.skip()?;
                }
                ("type", Kind::String) => is_medium |= Label::of(this.reader.value()?, this.text) > Label::File,
                _ => this.structure()?,
            }
            Ok(())
        })?;
        for place in bytes.into_iter().filter(|_| is_medium) {
            self.count()?;
            self.edits.replace(place.start()..place.end(), Bytes::from_static(b"\"\""));
        }
        Ok(())
    }

    fn error(&mut self) -> Result {
        self.members(&mut |this, name, _| match known(name, &["data"]) {
            // All else in it is for programs, and may be anything.
            "data" if this.reader.kind()? == Kind::Object => this.members(&mut |this, name, _| {
                if known(name, &["content"]).is_empty() { this.skip() } else { this.each(&mut Self::block) }
            }),
            _ => this.skip(),
        })
    }

    /// Reads what is asked for, each by a key of its own.
    fn requests(&mut self) -> Result {
        match self.reader.kind()? {
            Kind::Object => self.members(&mut |this, _, _| this.carrier()),
            _ => self.each(&mut Self::carrier),
        }
    }

    fn block(&mut self) -> Result {
        // What is changed in a block that goes is not changed.
        let before = mem::take(&mut self.edits);
        let (start, mut block) = (self.start()?, Block::default());
        self.members(&mut |this, name, _| this.part_of_block(name, &mut block))?;
        let within = mem::replace(&mut self.edits, before);
        match block.instead(self.text) {
            Some(text) => {
                self.count()?;
                self.edits.replace(start..self.reader.at(), text);
            }
            None => self.edits.append(within),
        }
        Ok(())
    }

    fn part_of_block(&mut self, name: &str, block: &mut Block) -> Result {
        match known(name, OF_BLOCKS) {
            "_meta" => {
                let meta = self.reader.value()?;
                block.meta = Some(meta).filter(|meta| name == "_meta" && meta.kind == Kind::Object).or(block.meta);
            }
            "content" => self.each(&mut Self::block)?,
            "structuredContent" => self.structure()?,
            // The latter is that of models' own interfaces, to which blocks are handed on.
            "resource" | "source" => self.members(&mut |this, name, _| this.part_of_medium(name, &mut block.medium))?,
            "type" => {
                let label = Label::of(self.reader.value()?, self.text);
                // Not everybody takes what resembles the name for it.
                let label = if name == "type" { label } else { label.max(Label::File) };
                block.label = block.label.max(Some(label));
            }
            _ => self.part_of_medium(name, &mut block.medium)?,
        }
        Ok(())
    }

    fn part_of_medium(&mut self, name: &str, medium: &mut Medium) -> Result {
        let value = self.reader.value()?;
        match known(name, OF_MEDIA) {
            "blob" if value.kind != Kind::Null => medium.has(value, self.text),
            "data" if value.kind == Kind::String => medium.has(value, self.text),
            "mimeType" => medium.is_of(value, self.text),
            _ => {}
        }
        Ok(())
    }

    /// A resource that has been read: what is no blob of it stays.
    fn resource(&mut self) -> Result {
        let (mut cuts, mut edits) = (Cuts::within(self.start()?), Edits::new());
        let (mut medium, mut has_text) = (Medium::default(), false);
        self.members(&mut |this, name, start| {
            let kind = this.reader.kind()?;
            has_text |= name == "text" && kind == Kind::String;
            let goes = match known(name, OF_MEDIA) {
                "blob" => true,
                "data" => kind == Kind::String,
                // Another one would stand beside it.
                _ => name == "text" && kind != Kind::String,
            };
            this.part_of_medium(name, &mut medium)?;
            let member = start..this.reader.at();
            match goes {
                true => cuts.cut(member),
                false => cuts.keep(member, &mut edits),
            }
            Ok(())
        })?;
        if !medium.is_there {
            return Ok(());
        }
        self.count()?;
        let slot = cuts.close(&mut edits);
        if !has_text {
            slot.fill(&["\"text\":\"", &medium.notice(Label::File), "\""].concat(), &mut edits);
        }
        self.edits.append(edits);
        Ok(())
    }

    fn count(&mut self) -> Result {
        self.media += 1;
        if self.media > MAX_MEDIA { Err(Unremovable::TooMany) } else { Ok(()) }
    }

    /// Where the value that comes next starts.
    fn start(&mut self) -> Result<usize> {
        self.reader.kind()?;
        Ok(self.reader.at())
    }

    /// Reads each item of an array; anything else is taken for an item of one, as lenient readers do.
    fn each(&mut self, each: &mut dyn FnMut(&mut Self) -> Result) -> Result {
        if self.reader.kind()? != Kind::Array {
            return each(self);
        }
        self.reader.open_array()?;
        while self.reader.element()? {
            each(self)?;
        }
        Ok(())
    }

    /// Reads each member of an object with its name and where it starts; of what is not nested, nothing. Names may repeat:
    /// every one counts.
    fn members(&mut self, each: &mut dyn FnMut(&mut Self, &str, usize) -> Result) -> Result {
        match self.reader.kind()? {
            Kind::Object => self.reader.open_unjudged()?,
            Kind::Array => return Err(Unremovable::NotAnObject),
            Kind::Bool | Kind::Null | Kind::Number | Kind::String => return self.skip(),
        }
        while let Some((name, key)) = self.reader.name_unjudged()? {
            each(self, &name, key.span().start().saturating_sub(1))?;
        }
        Ok(())
    }

    fn skip(&mut self) -> Result {
        Ok(self.reader.value().map(drop)?)
    }
}
