//! Resources, embedded and read.

use super::MediaPolicy;
use super::block::REMOVED;
use super::meta::Place;
use super::walk::{Walk, Walked};
use crate::json::{Kind, Slot};

const OF_RESOURCES: &[&str] = &["_meta", "annotations", "blob", "mimeType", "text", "uri"];

/// What is known of a resource that is on the way.
#[derive(Default)]
struct Resource {
    meta: Option<Place>,
    is_blob: bool,
    has_text: bool,
}

impl Walk<'_> {
    /// An embedded resource: whether it is a blob.
    pub(super) fn embedded(&mut self) -> Walked<bool> {
        let mut resource = Resource::default();
        self.parts(&mut |walk, member| walk.part_of_resource(&member.name, &mut resource))?;
        Ok(resource.is_blob)
    }

    /// A resource that has been read by itself; it is a part with a tag.
    pub(super) fn resource(&mut self) -> Walked {
        if self.reader.kind()? != Kind::Object {
            return self.leaves();
        }
        let drops = self.mark.is_external() && self.style.media == MediaPolicy::Drop;
        let mut resource = Resource::default();
        let slot = self.members_with(&mut |walk, member, cuts| {
            // What is changed in a blob that goes is not changed.
            let before = std::mem::take(&mut walk.edits);
            walk.part_of_resource(&member.name, &mut resource)?;
            let changes = std::mem::replace(&mut walk.edits, before);
            let range = member.start..walk.reader.at();
            if drops && member.name == "blob" {
                cuts.cut(range);
            } else {
                cuts.keep(range, &mut walk.edits);
                walk.edits.append(changes);
            }
            Ok(())
        })?;
        let slot = if drops && resource.is_blob { self.instead_of_blob(slot, resource.has_text) } else { slot };
        self.write_part(resource.meta.unwrap_or(Place::Absent(slot)));
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

    fn part_of_resource(&mut self, name: &str, resource: &mut Resource) -> Walked {
        match name {
            "_meta" => resource.meta = Some(self.meta()?),
            "text" => {
                resource.has_text = true;
                self.text()?;
            }
            "uri" => drop(self.uri()?),
            "mimeType" => self.media_type()?,
            "blob" => {
                resource.is_blob = true;
                // It is fenced unless it is one.
                self.leaf()?;
            }
            "annotations" => self.search()?,
            name => self.printed(name, OF_RESOURCES)?,
        }
        Ok(())
    }
}
