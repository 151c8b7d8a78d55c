//! `_meta`: what is forged goes, and the tag is written.

use bytes::Bytes;

use super::Unmarkable;
use super::walk::{Member, Walk, Walked};
use crate::json::{Cuts, Edits, Kind, Slot, Value, folds_onto, reads_as};
use crate::provenance::Provenance;

/// The key of the trust annotations, an experimental extension of MCP.
pub(super) const TRUST_ANNOTATIONS: &str = "io.modelcontextprotocol/trust-annotations";
/// The key of the labels of information-flow control that some servers write.
pub(super) const IFC: &str = "ifc";
const IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";

/// Where a tag can be written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// At the end of an object that is there.
    Inside { slot: Slot, annotated: bool, labelled: bool },
    /// In an object that has yet to be written, under its name.
    Absent(Slot),
    /// In an object in the place of `null`.
    Instead { start: usize, end: usize },
    /// Nowhere: what is there is no object.
    Nowhere,
}

impl Place {
    /// Each byte is written once.
    fn fill(self, name: &str, edits: &mut Edits, items: impl Fn(&mut String)) {
        let object = |text: &mut String| {
            text.push('{');
            items(text);
            text.push('}');
        };
        match self {
            Self::Inside { slot, .. } => slot.fill_with(edits, &items),
            Self::Absent(slot) => slot.fill_with(edits, |text| {
                ["\"", name, "\":"].iter().for_each(|part| text.push_str(part));
                object(text);
            }),
            Self::Instead { start, end } => {
                let mut text = String::new();
                object(&mut text);
                edits.replace(start..end, Bytes::from(text));
            }
            Self::Nowhere => {}
        }
    }
}

/// What a member of `_meta` is to us.
enum Reserved {
    Annotations,
    Ifc,
    None,
    /// What some reader takes for a claim.
    Folded,
}

/// What a claim says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// That something is fine, which it is: it says no more than we do.
    Agrees,
    /// That something is fine: it goes.
    Denies,
    /// Nobody knows what.
    Malformed,
    /// That something is not.
    Raises,
}

impl Walk<'_> {
    /// Reads a `_meta`: where a tag can be written.
    pub(super) fn meta(&mut self) -> Walked<Place> {
        self.meta_of(&mut Self::of_meta)
    }

    /// Reads a `_meta` within a text, which hosts hand on with all that is in it.
    pub(super) fn meta_of_text(&mut self) -> Walked {
        self.meta_of(&mut |walk, _| walk.leaves()).map(drop)
    }

    fn meta_of(&mut self, each: &mut dyn FnMut(&mut Self, &Member<'_>) -> Walked) -> Walked<Place> {
        match self.reader.kind()? {
            Kind::Object => {}
            Kind::Null => {
                let span = self.reader.value()?.raw_span();
                return Ok(Place::Instead { start: span.start(), end: span.end() });
            }
            Kind::Array | Kind::Bool | Kind::Number | Kind::String if self.of_client => {
                self.search()?;
                return Ok(Place::Nowhere);
            }
            Kind::Array | Kind::Bool | Kind::Number | Kind::String => return Err(Unmarkable::Meta),
        }
        let (mut annotated, mut labelled) = (false, false);
        let slot = self.members_with(&mut |walk, member, cuts| {
            let stays = match walk.reserved(&member.name) {
                Reserved::Annotations => walk.annotations()?.inspect(|_| annotated = true).is_some(),
                Reserved::Ifc => walk.ifc()?.inspect(|_| labelled = true).is_some(),
                Reserved::Folded => {
                    walk.reader.value()?;
                    walk.report.malformed += 1;
                    false
                }
                Reserved::None => {
                    each(walk, member)?;
                    true
                }
            };
            walk.keep_or_cut(stays, member, cuts);
            Ok(())
        })?;
        Ok(Place::Inside { slot, annotated, labelled })
    }

    fn keep_or_cut(&mut self, stays: bool, member: &Member<'_>, cuts: &mut Cuts) {
        let range = member.start..self.reader.at();
        if stays {
            cuts.keep(range, &mut self.edits);
        } else {
            cuts.cut(range);
            self.report.stripped += 1;
        }
    }

    /// Our tags are gone by now, as they are from any object.
    fn reserved(&self, name: &str) -> Reserved {
        match name {
            _ if self.of_client => Reserved::None,
            TRUST_ANNOTATIONS => Reserved::Annotations,
            IFC => Reserved::Ifc,
            name if [TRUST_ANNOTATIONS, IFC].iter().any(|known| folds_onto(name, known)) => Reserved::Folded,
            _ => Reserved::None,
        }
    }

    /// A member that is the server's own.
    fn of_meta(&mut self, member: &Member<'_>) -> Walked {
        // A host is to hand this text to a model as if it were the result.
        if member.name == IMMEDIATE_RESPONSE { self.text() } else { self.search() }
    }

    /// Trust annotations may say that something is untrusted or sensitive, never that it is not. `None` if they go.
    fn annotations(&mut self) -> Walked<Option<()>> {
        let write = self.style.trust_annotations.then_some("\"untrusted\":true");
        self.claims(&["untrusted", "sensitive"], write, &|walk, value| match value.raw(walk.text) {
            b"true" => Said::Raises,
            b"false" => Said::Denies,
            _ => Said::Malformed,
        })
    }

    /// Labels of information-flow control, likewise; what comes from outside has no integrity. `None` if they go.
    fn ifc(&mut self) -> Walked<Option<()>> {
        let write = self.style.ifc.then_some("\"integrity\":\"untrusted\"");
        self.claims(&["integrity"], write, &|walk, value| match value
            .as_text()
            .and_then(|text| text.decode(walk.text).ok())
            .as_deref()
        {
            Some("untrusted") => Said::Raises,
            Some("trusted") if !walk.mark.is_external() && walk.mark.is_content => Said::Agrees,
            Some("trusted") => Said::Denies,
            _ => Said::Malformed,
        })
    }

    /// Reads an object of claims, of which `known` are those that count; `write` is put there if the first of them does
    /// not stand there and what is claimed about is external. `None` if it is no object, and goes.
    fn claims(
        &mut self,
        known: &[&str],
        write: Option<&str>,
        judge: &dyn Fn(&Self, Value) -> Said,
    ) -> Walked<Option<()>> {
        if self.reader.kind()? != Kind::Object {
            self.reader.value()?;
            self.report.malformed += 1;
            return Ok(None);
        }
        let mut says = false;
        let slot = self.members_with(&mut |walk, member, cuts| {
            let stays = walk.claim(&member.name, known, judge)?;
            says |= stays && known.first() == Some(&&*member.name);
            walk.keep_or_cut(stays, member, cuts);
            Ok(())
        })?;
        if let Some(item) = write.filter(|_| !says && self.mark.is_external()) {
            slot.fill(item, &mut self.edits);
        }
        Ok(Some(()))
    }

    /// Whether a member among claims stays. What goes and denies nothing was a claim that cannot be told.
    fn claim(&mut self, name: &str, known: &[&str], judge: &dyn Fn(&Self, Value) -> Said) -> Walked<bool> {
        if !known.iter().any(|known| reads_as(name, known)) {
            self.plain()?;
            return Ok(true);
        }
        let value = self.reader.value()?;
        let said = judge(self, value);
        let stays = matches!(said, Said::Agrees | Said::Raises) && known.contains(&name);
        self.report.malformed += usize::from(!stays && !matches!(said, Said::Agrees | Said::Denies));
        Ok(stays)
    }

    /// The tag of a part.
    pub(super) fn write_part(&mut self, place: Place) {
        if self.tags_parts() {
            self.put(place, "_meta");
        }
    }

    /// What the tag of a part is, where parts have one.
    pub(super) fn part_items(&self, place: Place) -> Option<String> {
        self.tags_parts().then(|| {
            let mut items = String::new();
            self.items(&mut items, place);
            items
        })
    }

    fn tags_parts(&self) -> bool {
        self.mark.is_content && self.mark.tags_parts
    }

    /// Writes the tag of what has just been read, into the member of this name.
    pub(super) fn write(&mut self, place: Place, name: &str) {
        if self.mark.is_content {
            self.put(place, name);
            self.report.tagged(self.mark.tag.provenance);
        }
    }

    fn fence_name(&self) -> Option<String> {
        self.texts.name().filter(|_| self.fences())
    }

    fn put(&mut self, place: Place, name: &str) {
        self.report.parts += 1;
        let mut edits = std::mem::take(&mut self.edits);
        place.fill(name, &mut edits, |text| self.items(text, place));
        self.edits = edits;
    }

    /// Writes a tag, and what stands beside it.
    fn items(&self, text: &mut String, place: Place) {
        let (annotated, labelled) = match place {
            Place::Inside { annotated, labelled, .. } => (annotated, labelled),
            Place::Absent(_) | Place::Instead { .. } | Place::Nowhere => (false, false),
        };
        let external = self.mark.tag.provenance == Provenance::External;
        ["\"", self.style.key.as_str(), "\":"].iter().for_each(|part| text.push_str(part));
        self.mark.tag.write_to(text, self.fence_name().as_deref(), self.texts.is_lossy());
        if external && self.style.trust_annotations && !annotated {
            text.push_str(",\"io.modelcontextprotocol/trust-annotations\":{\"untrusted\":true}");
        }
        if external && self.style.ifc && !labelled {
            text.push_str(",\"ifc\":{\"integrity\":\"untrusted\"}");
        }
    }

    /// `data` of an error: where a tag can be written.
    pub(super) fn error_data(&mut self) -> Walked<Place> {
        if matches!(self.reader.kind()?, Kind::Null | Kind::Object) {
            // It takes the part of a `_meta`; some servers put one into it as well.
            return self.meta_of(&mut Self::of_error_data);
        }
        self.leaves()?;
        Ok(Place::Nowhere)
    }
}
