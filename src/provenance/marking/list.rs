//! Lists, which describe what can be called.

use super::StructuredContent;
use super::envelope::may_name;
use super::walk::{Member, Walk, Walked};
use crate::json::{Cuts, Kind};
use crate::provenance::mentions_fence;

/// What wants some form of a string: what is fenced has none of them.
const FORMS: &[&str] = &[
    "\"$dynamicRef\"",
    "\"$recursiveRef\"",
    "\"$ref\"",
    "\"const\"",
    "\"contentEncoding\"",
    "\"contentMediaType\"",
    "\"enum\"",
    "\"format\"",
    "\"maxLength\"",
    "\"not\"",
    "\"pattern\"",
];

impl Walk<'_> {
    pub(super) fn list(&mut self) -> Walked {
        self.each(&mut Self::entry)
    }

    fn entry(&mut self) -> Walked {
        if self.reader.kind()? != Kind::Object {
            return self.search();
        }
        self.members_with(&mut |walk, member, cuts| walk.part_of_entry(member, cuts))?;
        Ok(())
    }

    fn part_of_entry(&mut self, member: &Member<'_>, cuts: &mut Cuts) -> Walked {
        match &*member.name {
            "_meta" => drop(self.meta()?),
            "outputSchema" => {
                let (start, before) = (self.start()?, std::mem::take(&mut self.edits));
                self.search()?;
                let changes = std::mem::replace(&mut self.edits, before);
                if !self.keeps_schema(start) {
                    cuts.cut(member.start..self.reader.at());
                    return Ok(());
                }
                self.edits.append(changes);
            }
            "description" | "title" => self.described()?,
            _ => self.search()?,
        }
        cuts.keep(member.start..self.reader.at(), &mut self.edits);
        Ok(())
    }

    /// Whether results still fit the schema that starts at an offset and has just been read.
    fn keeps_schema(&self, start: usize) -> bool {
        match self.style.structured {
            StructuredContent::Tag => true,
            StructuredContent::Strip | StructuredContent::TextOnly => false,
            StructuredContent::FenceLeaves => {
                let schema = self.text.get(start..self.reader.at()).unwrap_or_default();
                !may_name(schema, FORMS)
            }
        }
    }

    /// A description, which may pretend to know where texts begin and end.
    pub(super) fn described(&mut self) -> Walked {
        let start = self.start()?;
        self.description()?;
        let raw = self.text.get(start..self.reader.at()).unwrap_or_default();
        self.report.suspicious += usize::from(mentions_fence(raw));
        Ok(())
    }
}
