//! `structuredContent`.

use bytes::Bytes;

use super::meta::Place;
use super::outcome::{Content, Parts};
use super::walk::{Member, Walk, Walked};
use super::{StructuredContent, Unmarkable};
use crate::json::{Cuts, Slot};

impl Walk<'_> {
    /// Reads `structuredContent`, which may be any value.
    pub(super) fn structured(&mut self, member: &Member<'_>, cuts: &mut Cuts, parts: &mut Parts) -> Walked {
        let mode = if self.mark.is_external() { self.style.structured } else { StructuredContent::Tag };
        match mode {
            StructuredContent::FenceLeaves => self.verbatim(Self::leaves)?,
            StructuredContent::Tag => drop(self.reader.value()?),
            StructuredContent::Strip | StructuredContent::TextOnly => {
                let value = self.reader.value()?;
                parts.moved = Some(value).filter(|_| mode == StructuredContent::TextOnly);
                cuts.cut(member.start..self.reader.at());
                return Ok(());
            }
        }
        cuts.keep(member.start..self.reader.at(), &mut self.edits);
        Ok(())
    }

    /// Puts what was structured into the content, as a block of text; `slot` is where a result can be added to. Gives
    /// where the result can be added to then.
    pub(super) fn move_structured(&mut self, parts: &Parts, slot: Slot) -> Walked<Slot> {
        let Some(value) = parts.moved else { return Ok(slot) };
        let raw = str::from_utf8(value.raw(self.text)).unwrap_or_default().to_owned();
        let text = self.fenced_string(&raw);
        let block = self.text_block(&text);
        match parts.content {
            Content::Blocks(content) => content.fill(&block, &mut self.edits),
            // An array around it would be another answer than the server's.
            Content::Alone => return Err(Unmarkable::Content),
            Content::Absent => {
                slot.fill(&["\"content\":[", &block, "]"].concat(), &mut self.edits);
                return Ok(slot.after());
            }
        }
        Ok(slot)
    }

    fn text_block(&self, text: &Bytes) -> String {
        let text = str::from_utf8(text).unwrap_or_default();
        match self.part_items(Place::Nowhere) {
            Some(items) => ["{\"type\":\"text\",\"text\":", text, ",\"_meta\":{", &items, "}}"].concat(),
            None => ["{\"type\":\"text\",\"text\":", text, "}"].concat(),
        }
    }
}
