//! What the messages of a server ask for.

use std::ops::Range;

use super::{Reach, ReachBack};
use crate::json::{self, Kind, Reader, folds_onto, reads_as};

/// The error of 2025-11-25 by which a server has the user open a URL.
const URL_ELICITATION_REQUIRED: f64 = -32042.0;

/// How many messages may come at once: what is held for each is bounded.
const MAX_MESSAGES: usize = 1 << 16;

/// What one message of a server asks for, of that which the server may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Where it stands.
    pub(crate) range: Range<usize>,
    /// It is a request.
    pub(crate) request: Option<Reach>,
    /// It is an answer, or news of a task, that asks for it.
    pub(crate) answer: Option<Reach>,
}

/// Why it cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unclear {
    /// Lenient readers take a member's name for another one.
    AmbiguousKey,
    Json(json::Error),
    /// There is something else than objects.
    NotAMessage,
    /// Some readers take the items of an array for the members of an object.
    ResultArray,
    /// There are more messages than anybody sends at once.
    TooMany,
}

impl From<json::Error> for Unclear {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

type Result<T> = std::result::Result<T, Unclear>;

impl Asked {
    /// Reads a message, or each of a batch.
    pub(crate) fn read(text: &[u8], reach: ReachBack) -> Result<Vec<Self>> {
        let mut read = Read { text, reader: Reader::tolerant(text)?, reach, found: Self::default() };
        let mut messages = Vec::new();
        if read.reader.kind()? == Kind::Array {
            read.reader.open_array()?;
            while read.reader.element()? {
                if messages.len() == MAX_MESSAGES {
                    return Err(Unclear::TooMany);
                }
                messages.push(read.message()?);
            }
        } else {
            messages.push(read.message()?);
        }
        read.reader.end()?;
        Ok(messages)
    }
}

struct Read<'a> {
    text: &'a [u8],
    reader: Reader<'a, true>,
    reach: ReachBack,
    found: Asked,
}

impl Read<'_> {
    fn message(&mut self) -> Result<Asked> {
        if self.reader.kind()? != Kind::Object {
            return Err(Unclear::NotAMessage);
        }
        let start = self.reader.at();
        self.members(&mut |this, name| match name {
            "method" => this.method(),
            "params" => this.carrier(),
            "result" if this.reader.kind()? == Kind::Array => Err(Unclear::ResultArray),
            "result" => this.carrier(),
            "error" => this.error(),
            name if ["method", "params", "result", "error"].iter().any(|known| folds_onto(name, known)) => {
                Err(Unclear::AmbiguousKey)
            }
            _ => this.skip(),
        })?;
        Ok(Asked { range: start..self.reader.at(), ..std::mem::take(&mut self.found) })
    }

    fn method(&mut self) -> Result<()> {
        let Some(method) = self.reader.value()?.as_text() else { return Ok(()) };
        // Half a surrogate pair is in no method that anybody knows.
        let method = method.decode(self.text).unwrap_or_default();
        let own_tasks = self.reach.permits(Reach::Sampling) || self.reach.permits(Reach::Elicitation);
        let passes = method == "ping"
            || method.starts_with("notifications/")
            // What a client does for a server may be a task of the client.
            || (method.starts_with("tasks/") && own_tasks);
        let reach = Reach::of_method(&method);
        if !passes && !self.reach.permits(reach) {
            self.found.request.get_or_insert(reach);
        }
        Ok(())
    }

    /// Reads what may be, or hold, a task or a result that asks for something.
    fn carrier(&mut self) -> Result<()> {
        self.members(&mut |this, name| match name {
            name if ["params", "result", "task"].iter().any(|carrier| reads_as(name, carrier)) => this.carrier(),
            name if reads_as(name, "tasks") => this.each(&mut Self::carrier),
            name if reads_as(name, "error") => this.error(),
            name if reads_as(name, "inputRequests") => this.requests(),
            _ => this.skip(),
        })
    }

    fn error(&mut self) -> Result<()> {
        self.members(&mut |this, name| match name {
            name if reads_as(name, "code") => this.code(),
            name if reads_as(name, "data") => this.members(&mut |this, name| match name {
                name if reads_as(name, "elicitations") => {
                    this.note(Reach::Elicitation);
                    this.skip()
                }
                name if reads_as(name, "inputRequests") => this.requests(),
                _ => this.skip(),
            }),
            _ => this.skip(),
        })
    }

    fn code(&mut self) -> Result<()> {
        let value = self.reader.value()?;
        let written = value.as_text().map_or(value.raw(self.text), |text| text.span().of(self.text));
        let code = str::from_utf8(written).ok().and_then(|written| written.trim().parse::<f64>().ok());
        if code == Some(URL_ELICITATION_REQUIRED) {
            self.note(Reach::Elicitation);
        }
        Ok(())
    }

    /// Reads what is asked for, each by a key of its own.
    fn requests(&mut self) -> Result<()> {
        match self.reader.kind()? {
            Kind::Array => self.each(&mut Self::request),
            _ => self.members(&mut |this, _| this.request()),
        }
    }

    fn request(&mut self) -> Result<()> {
        let mut asked = None;
        self.members(&mut |this, name| {
            if !reads_as(name, "method") {
                return this.skip();
            }
            let method = this.reader.value()?.as_text().and_then(|method| method.decode(this.text).ok());
            let reach = method.map_or(Reach::Other, |method| Reach::of_method(&method));
            this.note(reach);
            asked = Some(reach);
            Ok(())
        })?;
        if asked.is_none() {
            self.note(Reach::Other);
        }
        Ok(())
    }

    fn note(&mut self, reach: Reach) {
        if !self.reach.permits(reach) {
            self.found.answer.get_or_insert(reach);
        }
    }

    /// Reads each item of an array; anything else is taken for an item of one, as lenient readers do.
    fn each(&mut self, each: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if self.reader.kind()? != Kind::Array {
            return each(self);
        }
        self.reader.open_array()?;
        while self.reader.element()? {
            each(self)?;
        }
        Ok(())
    }

    /// Reads each member of an object with its name; of anything else nothing. Names may repeat: every one counts.
    fn members(&mut self, each: &mut dyn FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        if self.reader.kind()? != Kind::Object {
            return self.skip();
        }
        self.reader.open_unjudged()?;
        while let Some((name, _)) = self.reader.name_unjudged()? {
            each(self, &name)?;
        }
        Ok(())
    }

    fn skip(&mut self) -> Result<()> {
        Ok(self.reader.value().map(drop)?)
    }
}
