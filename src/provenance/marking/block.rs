//! Blocks of content, and resources.

use bytes::Bytes;

use super::meta::Place;
use super::walk::{Walk, Walked};
use super::{MediaPolicy, Unmarkable};
use crate::json::{Cuts, Edits, Kind, Slot, Value, has_control};

const OF_BLOCKS: &[&str] =
    &["_meta", "content", "data", "description", "name", "resource", "text", "title", "type", "uri"];
const OF_RESOURCES: &[&str] = &["_meta", "blob", "mimeType", "text", "uri"];

const REMOVED: &str = "[an image, a sound or a file from outside was removed here]";

/// What is known of a block that is on the way.
#[derive(Default)]
struct Block {
    meta: Option<Place>,
    kind: Kinds,
    /// What is a name in some kinds of blocks and a text in others.
    names: Vec<Value>,
    /// It holds what is no text.
    media: bool,
    uri: Option<Value>,
}

/// The kinds of blocks that are treated by their kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kinds {
    Link,
    Media,
    #[default]
    Other,
}

impl Walk<'_> {
    /// Reads `content`, one block or several: where another could be added.
    pub(super) fn contents(&mut self) -> Walked<Option<Slot>> {
        if self.reader.kind()? != Kind::Array {
            self.block(false)?;
            return Ok(None);
        }
        let mut cuts = Cuts::within(self.start()?);
        self.reader.open_array()?;
        while self.reader.element()? {
            let start = self.start()?;
            self.block(true)?;
            cuts.keep(start..self.reader.at(), &mut self.edits);
        }
        Ok(Some(cuts.close(&mut self.edits)))
    }

    /// A message of a prompt.
    pub(super) fn prompt_message(&mut self) -> Walked {
        self.members(&mut |walk, member| match &*member.name {
            "content" => walk.contents().map(drop),
            name => walk.other(name, &["content"]),
        })
    }

    /// A block, within an array or alone. No other can be put before one that is alone.
    fn block(&mut self, within: bool) -> Walked {
        if self.reader.kind()? != Kind::Object {
            return self.leaves();
        }
        // What is changed in a block that goes is not changed.
        let before = std::mem::take(&mut self.edits);
        let (start, mut block) = (self.start()?, Block::default());
        let slot = self.members_with(&mut |walk, member, cuts| {
            walk.part_of_block(&member.name, &mut block)?;
            cuts.keep(member.start..walk.reader.at(), &mut walk.edits);
            Ok(())
        })?;
        if block.kind == Kinds::Link {
            block.names.iter().for_each(|name| self.fence(*name));
        }
        let text = self.notice(&block, within)?;
        self.write_part(block.meta.unwrap_or(Place::Absent(slot)));
        let changes = std::mem::replace(&mut self.edits, before);
        self.place(start, changes, text);
        Ok(())
    }

    fn part_of_block(&mut self, name: &str, block: &mut Block) -> Walked {
        match name {
            "_meta" => block.meta = Some(self.meta()?),
            "text" => self.text()?,
            "content" => drop(self.contents()?),
            "resource" => block.media |= self.embedded()?,
            "type" => block.kind = self.kind_of_block()?,
            "name" | "title" | "description" => block.names.extend(self.leaf()?),
            "uri" => block.uri = self.exact_text()?,
            "mimeType" => drop(self.exact_text()?),
            name => self.other(name, OF_BLOCKS)?,
        }
        Ok(())
    }

    fn kind_of_block(&mut self) -> Walked<Kinds> {
        let kind = self.plain()?.and_then(Value::as_text);
        let is = |name| kind.is_some_and(|kind| kind.is(self.text, name));
        Ok(match () {
            () if is("resource_link") => Kinds::Link,
            () if is("image") || is("audio") => Kinds::Media,
            () => Kinds::Other,
        })
    }

    /// What is told instead of a block, or before it, if it is within an array.
    fn notice(&mut self, block: &Block, within: bool) -> Walked<Option<(bool, &'static str)>> {
        if !self.mark.is_external() {
            return Ok(None);
        }
        let uri = block.uri.and_then(Value::as_text).and_then(|uri| uri.decode(self.text).ok());
        let refused = block.kind == Kinds::Link && !uri.is_some_and(|uri| self.style.allows_link(&uri));
        Ok(match (self.style.media, block.media || block.kind == Kinds::Media) {
            _ if refused && self.style.link_schemes.is_some() => {
                Some((true, "[a link was removed here: its scheme is not allowed]"))
            }
            (MediaPolicy::Drop, true) => Some((true, REMOVED)),
            (MediaPolicy::Notice, true) if within => Some((false, "[what follows comes from outside]")),
            (MediaPolicy::Drop | MediaPolicy::Notice | MediaPolicy::Pass, _) => None,
        })
    }

    /// Puts the changes of a block that starts at an offset to the others, or a text in its place or before it.
    fn place(&mut self, start: usize, changes: Edits, notice: Option<(bool, &str)>) {
        let block = |text: &str, after: &str| Bytes::from(format!("{{\"type\":\"text\",\"text\":\"{text}\"}}{after}"));
        match notice {
            Some((true, text)) => {
                self.report.dropped += 1;
                self.edits.replace(start..self.reader.at(), block(text, ""));
            }
            Some((false, text)) => {
                self.edits.replace(start..start, block(text, ","));
                self.edits.append(changes);
            }
            None => self.edits.append(changes),
        }
    }

    /// An embedded resource: whether it is a blob.
    fn embedded(&mut self) -> Walked<bool> {
        let mut blob = false;
        self.members(&mut |walk, member| walk.part_of_resource(&member.name, &mut blob, &mut None))?;
        Ok(blob)
    }

    /// A resource that has been read by itself; it is a part with a tag.
    pub(super) fn resource(&mut self) -> Walked {
        if self.reader.kind()? != Kind::Object {
            return self.leaves();
        }
        let drops = self.mark.is_external() && self.style.media == MediaPolicy::Drop;
        let (mut blob, mut meta, mut has_text) = (false, None, false);
        let slot = self.members_with(&mut |walk, member, cuts| {
            walk.part_of_resource(&member.name, &mut blob, &mut meta)?;
            has_text |= member.name == "text";
            let range = member.start..walk.reader.at();
            if drops && member.name == "blob" {
                cuts.cut(range);
            } else {
                cuts.keep(range, &mut walk.edits);
            }
            Ok(())
        })?;
        let slot = if drops && blob { self.instead_of_blob(slot, has_text) } else { slot };
        self.write_part(meta.unwrap_or(Place::Absent(slot)));
        Ok(())
    }

    /// A resource needs a text once it has no blob.
    fn instead_of_blob(&mut self, slot: Slot, has_text: bool) -> Slot {
        self.report.dropped += 1;
        if has_text {
            return slot;
        }
        slot.fill(&["\"text\":\"", REMOVED, "\""].concat(), &mut self.edits);
        slot.after()
    }

    fn part_of_resource(&mut self, name: &str, blob: &mut bool, meta: &mut Option<Place>) -> Walked {
        match name {
            "_meta" => *meta = Some(self.meta()?),
            "text" => self.text()?,
            "uri" | "mimeType" => drop(self.exact_text()?),
            "blob" => {
                self.plain()?;
                *blob = true;
            }
            name => self.other(name, OF_RESOURCES)?,
        }
        Ok(())
    }

    /// A URI or a media type: whoever prints it must not be led to print something else.
    fn exact_text(&mut self) -> Walked<Option<Value>> {
        let value = self.plain()?;
        let text = value.and_then(Value::as_text).map(|text| text.decode(self.text));
        let hostile = text.is_some_and(|text| text.map_or(true, |text| has_control(&text)));
        if hostile && self.mark.is_external() { Err(Unmarkable::ControlCharacter) } else { Ok(value) }
    }
}
