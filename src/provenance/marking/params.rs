//! What is asked or told: `params`.

use super::meta::Place;
use super::walk::{Walk, Walked};
use crate::json::Kind;

const OF_PARAMS: &[&str] = &[
    "_meta",
    "arguments",
    "data",
    "error",
    "inputRequests",
    "message",
    "messages",
    "reason",
    "result",
    "statusMessage",
    "systemPrompt",
    "tools",
    "url",
];

impl Walk<'_> {
    pub(super) fn params(&mut self) -> Walked {
        self.texts.prepare(self.text, self.style, self.mark.is_external())?;
        if self.reader.kind()? != Kind::Object {
            return self.leaves();
        }
        let mut meta = None;
        let slot = self.members_with(&mut |walk, member, cuts| {
            walk.part_of_params(&member.name, &mut meta)?;
            cuts.keep(member.start..walk.reader.at(), &mut walk.edits);
            Ok(())
        })?;
        self.write(meta.unwrap_or(Place::Absent(slot)), "_meta");
        Ok(())
    }

    fn part_of_params(&mut self, name: &str, meta: &mut Option<Place>) -> Walked {
        match name {
            "_meta" => *meta = Some(self.meta()?),
            "message" | "reason" | "statusMessage" | "systemPrompt" => self.text()?,
            "data" => self.leaves()?,
            "messages" => self.each(&mut Self::prompt_message)?,
            "result" => self.result(false)?,
            "error" => self.error_within()?,
            "inputRequests" => self.input_requests()?,
            "tools" => self.list(true)?,
            "url" => drop(self.uri()?),
            // What a client calls a tool with was judged as it is.
            "arguments" if self.of_client => drop(self.reader.value()?),
            name => self.other(name, OF_PARAMS)?,
        }
        Ok(())
    }

    /// What is asked of the client in the middle of a call: by names, as the protocol has it, or without.
    pub(super) fn input_requests(&mut self) -> Walked {
        if self.reader.kind()? == Kind::Object {
            return self.members(&mut |walk, _| walk.input_request());
        }
        self.each(&mut Self::input_request)
    }

    fn input_request(&mut self) -> Walked {
        self.parts(&mut |walk, member| match &*member.name {
            "params" => walk.params(),
            name => walk.other(name, &["params"]),
        })
    }
}
