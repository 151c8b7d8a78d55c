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
    // A longer text may fit one schema too many, or one that it must not.
    "\"minLength\"",
    "\"not\"",
    "\"pattern\"",
];

const OF_ENTRIES: &[&str] =
    &["_meta", "annotations", "arguments", "description", "mimeType", "outputSchema", "title", "uri", "uriTemplate"];
const OF_DESCRIBED: &[&str] = &["description", "title"];

impl Walk<'_> {
    /// A list; what is said `to_model` is fenced whatever is wanted of descriptions.
    pub(super) fn list(&mut self, to_model: bool) -> Walked {
        self.each(&mut |walk| walk.entry(to_model))
    }

    fn entry(&mut self, to_model: bool) -> Walked {
        if self.reader.kind()? != Kind::Object {
            return self.described(to_model);
        }
        self.members_with(&mut |walk, member, cuts| walk.part_of_entry(member, cuts, to_model))?;
        Ok(())
    }

    fn part_of_entry(&mut self, member: &Member<'_>, cuts: &mut Cuts, to_model: bool) -> Walked {
        match &*member.name {
            "_meta" => drop(self.meta()?),
            "outputSchema" => return self.schema(member, cuts),
            "description" | "title" => self.described(to_model)?,
            "annotations" | "arguments" => self.about(to_model)?,
            "mimeType" => self.media_type()?,
            "uri" | "uriTemplate" => drop(self.uri()?),
            name => self.other(name, OF_ENTRIES)?,
        }
        cuts.keep(member.start..self.reader.at(), &mut self.edits);
        Ok(())
    }

    /// What says something of a server, a tool, or the arguments of a prompt.
    pub(super) fn about(&mut self, to_model: bool) -> Walked {
        self.parts(&mut |walk, member| match &*member.name {
            "description" | "title" => walk.described(to_model),
            name => walk.other(name, OF_DESCRIBED),
        })
    }

    fn schema(&mut self, member: &Member<'_>, cuts: &mut Cuts) -> Walked {
        let (start, before) = (self.start()?, std::mem::take(&mut self.edits));
        self.search()?;
        let changes = std::mem::replace(&mut self.edits, before);
        if self.keeps_schema(start) {
            self.edits.append(changes);
            cuts.keep(member.start..self.reader.at(), &mut self.edits);
        } else {
            cuts.cut(member.start..self.reader.at());
        }
        Ok(())
    }

    /// Whether results still fit the schema that starts at an offset and has just been read.
    fn keeps_schema(&self, start: usize) -> bool {
        match self.style.structured {
            _ if self.of_client => true,
            StructuredContent::Tag => true,
            StructuredContent::Strip | StructuredContent::TextOnly => false,
            StructuredContent::FenceLeaves => {
                let schema = self.text.get(start..self.reader.at()).unwrap_or_default();
                !may_name(schema, FORMS)
            }
        }
    }

    /// A description, which may pretend to know where texts begin and end.
    pub(super) fn described(&mut self, to_model: bool) -> Walked {
        let start = self.start()?;
        if to_model || self.style.descriptions {
            self.leaves()?;
        } else {
            self.search()?;
        }
        let raw = self.text.get(start..self.reader.at()).unwrap_or_default();
        self.report.suspicious += usize::from(mentions_fence(raw));
        Ok(())
    }
}
