//! Blocks of content.

use bytes::Bytes;

use super::MediaPolicy;
use super::meta::Place;
use super::outcome::{Content, Parts};
use super::walk::{Member, Walk, Walked};
use crate::json::{Cuts, Edits, Kind, Text, Value};

const OF_BLOCKS: &[&str] = &[
    "_meta",
    "blob",
    "content",
    "data",
    "description",
    "mimeType",
    "name",
    "resource",
    "structuredContent",
    "text",
    "title",
    "type",
    "uri",
];
const OF_MESSAGES: &[&str] = &["content", "role"];

pub(super) const REMOVED: &str = "[an image, a sound or a file from outside was removed here]";

/// What is known of a block that is on the way.
#[derive(Default)]
struct Block {
    parts: Parts,
    /// Unknown until it matters.
    kind: Option<Kinds>,
    /// It holds what is no text.
    media: bool,
    uri: Option<Value>,
}

/// The kinds of blocks that are treated by their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinds {
    Link,
    Media,
    /// Hosts commonly print it whole.
    Other,
    Resource,
    Text,
    ToolResult,
    ToolUse,
}

impl Kinds {
    fn of(kind: Option<Text>, text: &[u8]) -> Self {
        let Some(kind) = kind else { return Self::Other };
        let known = [
            ("text", Self::Text),
            ("image", Self::Media),
            ("audio", Self::Media),
            ("resource", Self::Resource),
            ("resource_link", Self::Link),
            ("tool_use", Self::ToolUse),
            ("tool_result", Self::ToolResult),
        ];
        known.into_iter().find_map(|(name, known)| kind.is(text, name).then_some(known)).unwrap_or(Self::Other)
    }

    /// Whether a member is for programs. A fence would break it, and no host hands it to a model as a text of its own.
    fn has_data(self, name: &str, is_nested: bool) -> bool {
        match (self, name) {
            (Self::Media, "data" | "name") | (Self::ToolUse, "id" | "name") | (Self::ToolResult, "toolUseId") => {
                !is_nested
            }
            // What a tool is called with must be what the model has said.
            (Self::ToolUse, "input") | (Self::Link, "icons") => true,
            (kind, "annotations") => kind != Self::Other,
            _ => false,
        }
    }
}

impl Walk<'_> {
    /// Reads `content`, one block or several.
    pub(super) fn contents(&mut self) -> Walked<Content> {
        if self.reader.kind()? != Kind::Array {
            self.block(false)?;
            return Ok(Content::Alone);
        }
        let mut cuts = Cuts::within(self.start()?);
        self.reader.open_array()?;
        while self.reader.element()? {
            self.check_parts()?;
            let start = self.start()?;
            self.block(true)?;
            cuts.keep(start..self.reader.at(), &mut self.edits);
        }
        Ok(Content::Blocks(cuts.close(&mut self.edits)))
    }

    /// A message of a prompt.
    pub(super) fn prompt_message(&mut self) -> Walked {
        self.parts(&mut |walk, member| match &*member.name {
            "content" => walk.contents().map(drop),
            "role" => walk.word().map(drop),
            name => walk.printed(name, OF_MESSAGES),
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
        let slot = self.members_with(&mut |walk, member, cuts| walk.part_of_block(member, cuts, &mut block))?;
        let slot = self.move_structured(&block.parts, slot)?;
        let text = self.notice(&block, within);
        self.write_part(block.parts.meta.unwrap_or(Place::Absent(slot)));
        let changes = std::mem::replace(&mut self.edits, before);
        self.place(start, changes, text);
        Ok(())
    }

    fn part_of_block(&mut self, member: &Member<'_>, cuts: &mut Cuts, block: &mut Block) -> Walked {
        match &*member.name {
            "_meta" => block.parts.meta = Some(self.meta()?),
            "text" => self.text()?,
            "content" => block.parts.content = self.contents()?,
            "resource" => block.media |= self.embedded()?,
            "type" => block.kind = Some(Kinds::of(self.word()?.and_then(Value::as_text), self.text)),
            "uri" => block.uri = self.uri()?,
            "mimeType" => self.media_type()?,
            "structuredContent" if self.kind_of(block)? == Kinds::ToolResult => {
                return self.structured(member, cuts, &mut block.parts);
            }
            name => self.other_part_of_block(name, block)?,
        }
        cuts.keep(member.start..self.reader.at(), &mut self.edits);
        Ok(())
    }

    fn other_part_of_block(&mut self, name: &str, block: &mut Block) -> Walked {
        let (of_block, kind) = (self.kind_of(block)?, self.reader.kind()?);
        block.media |= matches!(name, "blob" | "data") && kind == Kind::String && of_block != Kinds::Text;
        let is_nested = matches!(kind, Kind::Array | Kind::Object);
        if of_block.has_data(name, is_nested) { self.search() } else { self.printed(name, OF_BLOCKS) }
    }

    /// The kind of a block, which may be told behind the member whose value comes next.
    fn kind_of(&self, block: &mut Block) -> Walked<Kinds> {
        if let Some(kind) = block.kind {
            return Ok(kind);
        }
        let (mut ahead, mut kind) = (self.reader.ahead(), None);
        ahead.value()?;
        while let Some(key) = ahead.key_unjudged()? {
            let value = ahead.value()?;
            if key.is(self.text, "type") {
                kind = value.as_text();
                break;
            }
        }
        Ok(*block.kind.insert(Kinds::of(kind, self.text)))
    }

    /// What is told instead of a block, or before it, if it is within an array.
    fn notice(&self, block: &Block, within: bool) -> Option<(bool, &'static str)> {
        if !self.mark.is_external() {
            return None;
        }
        let uri = block.uri.and_then(Value::as_text).and_then(|uri| uri.decode(self.text).ok());
        let is_link = block.kind == Some(Kinds::Link);
        let refused = is_link && !uri.is_some_and(|uri| self.style.allows_link(&uri));
        match (self.style.media, block.media || block.kind == Some(Kinds::Media)) {
            _ if refused && self.style.link_schemes.is_some() => {
                Some((true, "[a link was removed here: its scheme is not allowed]"))
            }
            (MediaPolicy::Drop, true) => Some((true, REMOVED)),
            (MediaPolicy::Notice, true) if within => Some((false, "[what follows comes from outside]")),
            (MediaPolicy::Drop | MediaPolicy::Notice | MediaPolicy::Pass, _) => None,
        }
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
}
