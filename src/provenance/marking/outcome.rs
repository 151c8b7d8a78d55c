//! Results and errors.

use super::Unmarkable;
use super::meta::Place;
use super::walk::{Member, Walk, Walked};
use crate::json::{Cuts, Kind, Slot, Value};

const OF_RESULTS: &[&str] = &[
    "_meta",
    "content",
    "contents",
    "description",
    "error",
    "inputRequests",
    "instructions",
    "messages",
    "prompts",
    "resourceTemplates",
    "resources",
    "result",
    "serverInfo",
    "statusMessage",
    "structuredContent",
    "task",
    "tasks",
    "tools",
];
const OF_ERRORS: &[&str] = &["code", "data", "message"];

/// What a result has for content.
#[derive(Clone, Copy, Default)]
pub(super) enum Content {
    #[default]
    Absent,
    /// A block without an array around it.
    Alone,
    /// Where a block could be added.
    Blocks(Slot),
}

/// What a result has, or a block that is one.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) meta: Option<Place>,
    pub(super) content: Content,
    /// Where what is structured stands, if that is to become a block.
    pub(super) moved: Option<Value>,
}

impl Walk<'_> {
    /// A result; that within a task is no answer by itself.
    pub(super) fn result(&mut self, outermost: bool) -> Walked {
        let kind = self.reader.kind()?;
        if kind != Kind::Object {
            self.leaves()?;
            let stays = self.of_client || kind == Kind::Null && !self.mark.is_content;
            return if outermost && !stays { Err(Unmarkable::Result) } else { Ok(()) };
        }
        let mut parts = Parts::default();
        let slot = self.members_with(&mut |walk, member, cuts| walk.part_of_result(member, cuts, &mut parts))?;
        let slot = self.move_structured(&parts, slot)?;
        self.write(parts.meta.unwrap_or(Place::Absent(slot)), "_meta");
        Ok(())
    }

    fn part_of_result(&mut self, member: &Member<'_>, cuts: &mut Cuts, parts: &mut Parts) -> Walked {
        match &*member.name {
            "_meta" => parts.meta = Some(self.meta()?),
            "content" => parts.content = self.contents()?,
            "contents" => self.each(&mut Self::resource)?,
            "messages" => self.each(&mut Self::prompt_message)?,
            "structuredContent" => return self.structured(member, cuts, parts),
            "result" => self.result(false)?,
            "error" => self.error_within()?,
            "task" | "tasks" => self.task()?,
            "statusMessage" | "description" => self.text()?,
            "inputRequests" => self.input_requests()?,
            "instructions" => self.described(false)?,
            "serverInfo" => self.about(false)?,
            "tools" | "prompts" | "resources" | "resourceTemplates" => self.list(false)?,
            name => self.other(name, OF_RESULTS)?,
        }
        cuts.keep(member.start..self.reader.at(), &mut self.edits);
        Ok(())
    }

    fn task(&mut self) -> Walked {
        self.parts(&mut |walk, member| match &*member.name {
            "statusMessage" => walk.text(),
            name => walk.other(name, &["statusMessage"]),
        })
    }

    /// An error that is told of within something else.
    pub(super) fn error_within(&mut self) -> Walked {
        if self.reader.kind()? == Kind::Object { self.error() } else { self.leaves() }
    }

    /// An error, which is an object.
    pub(super) fn error(&mut self) -> Walked {
        let mut data = None;
        let slot = self.members_with(&mut |walk, member, cuts| {
            match &*member.name {
                "message" => walk.error_message()?,
                "data" => data = Some(walk.error_data()?),
                "code" => walk.leaves()?,
                name => walk.printed(name, OF_ERRORS)?,
            }
            cuts.keep(member.start..walk.reader.at(), &mut walk.edits);
            Ok(())
        })?;
        self.write(data.unwrap_or(Place::Absent(slot)), "data");
        Ok(())
    }

    /// A member of an error's `data`. It is for programs, but for what users are asked for before a call is made again
    /// (-32042).
    pub(super) fn of_error_data(&mut self, member: &Member<'_>) -> Walked {
        if member.name != "elicitations" {
            return self.other(&member.name, &["elicitations"]);
        }
        self.parts(&mut |walk, member| match &*member.name {
            "message" => walk.text(),
            "url" => walk.uri().map(drop),
            name => walk.other(name, &["message", "url"]),
        })
    }
}
