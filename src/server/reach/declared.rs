//! What a client tells a server: what it is able to do, as far as that may be known, and the roots of the entry.

use bytes::Bytes;

use super::{Reach, ReachBack};
use crate::json::{self, Cuts, Edits, Kind, Reader, reads_as};

const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

impl ReachBack {
    /// What changes in a body so that a client declares nothing that the server may not ask for, of `initialize` in
    /// `params.capabilities`, of every message in its `_meta`; and so that the roots in whatever it answers are these, a
    /// list in JSON. `initializes` says which messages begin a session.
    pub(crate) fn withhold(
        self,
        body: &[u8],
        roots: &Bytes,
        initializes: &dyn Fn(usize) -> bool,
    ) -> Result<Edits, json::Error> {
        let (reader, edits) = (Reader::new(body)?, Edits::new());
        let mut withhold = Withhold { text: body, reader, reach: self, roots, edits };
        if withhold.reader.kind()? == Kind::Array {
            withhold.reader.open_array()?;
            let mut position = 0;
            while withhold.reader.element()? {
                withhold.message(initializes(position))?;
                position += 1;
            }
        } else {
            withhold.message(initializes(0))?;
        }
        let Withhold { reader, edits, .. } = withhold;
        reader.end()?;
        Ok(edits)
    }
}

struct Withhold<'a> {
    text: &'a [u8],
    reader: Reader<'a>,
    reach: ReachBack,
    roots: &'a Bytes,
    edits: Edits,
}

/// Where in what a client declares.
#[derive(Clone, Copy)]
enum Level {
    Capabilities,
    Tasks,
    Requests,
}

/// What becomes of a member.
enum Fate {
    Cut,
    Enter(Level),
    Keep,
}

impl Withhold<'_> {
    fn message(&mut self, initializes: bool) -> Result<(), json::Error> {
        self.members(&mut |this, name| match name {
            "params" => this.members(&mut |this, name| match name {
                "capabilities" if initializes => this.declared(Level::Capabilities),
                "_meta" => this.members(&mut |this, name| match name {
                    name if reads_as(name, CLIENT_CAPABILITIES) => this.declared(Level::Capabilities),
                    _ => this.skip(),
                }),
                "inputResponses" => this.answers(),
                _ => this.skip(),
            }),
            "result" => this.answer(false),
            _ => this.skip(),
        })
    }

    /// Reads answers, each by a key of its own.
    fn answers(&mut self) -> Result<(), json::Error> {
        if self.reader.kind()? != Kind::Array {
            return self.members(&mut |this, _| this.answer(true));
        }
        self.reader.open_array()?;
        while self.reader.element()? {
            self.answer(true)?;
        }
        Ok(())
    }

    /// Reads an answer, or what may be one with an envelope of its own.
    fn answer(&mut self, wrapped: bool) -> Result<(), json::Error> {
        if self.reader.kind()? == Kind::Array {
            return self.empty();
        }
        self.members(&mut |this, name| match name {
            name if reads_as(name, "roots") => {
                let span = this.reader.value()?.raw_span();
                this.edits.replace(span.start()..span.end(), this.roots.clone());
                Ok(())
            }
            name if wrapped && reads_as(name, "result") => this.answer(false),
            _ => this.skip(),
        })
    }

    /// Reads each member of an object with its name; of anything else nothing.
    fn members(&mut self, each: &mut dyn FnMut(&mut Self, &str) -> Result<(), json::Error>) -> Result<(), json::Error> {
        if self.reader.kind()? != Kind::Object {
            return self.skip();
        }
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            let name = key.decode(self.text).unwrap_or_default();
            each(self, &name)?;
        }
        Ok(())
    }

    fn skip(&mut self) -> Result<(), json::Error> {
        self.reader.value().map(drop)
    }

    fn declared(&mut self, level: Level) -> Result<(), json::Error> {
        match self.reader.kind()? {
            Kind::Object => self.object(level),
            Kind::Array => self.empty(),
            _ => self.skip(),
        }
    }

    /// Some readers take the items of an array for the members of an object.
    fn empty(&mut self) -> Result<(), json::Error> {
        let span = self.reader.value()?.raw_span();
        self.edits.replace(span.start()..span.end(), Bytes::from_static(b"{}"));
        Ok(())
    }

    fn object(&mut self, level: Level) -> Result<(), json::Error> {
        let mut cuts = Cuts::within(self.reader.at());
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            let start = key.span().start() - 1;
            let fate = self.fate(level, &key.decode(self.text).unwrap_or_default());
            match fate {
                Fate::Enter(within) => self.declared(within),
                Fate::Cut | Fate::Keep => self.skip(),
            }?;
            let member = start..self.reader.at();
            if matches!(fate, Fate::Cut) { cuts.cut(member) } else { cuts.keep(member, &mut self.edits) }
        }
        cuts.close(&mut self.edits);
        Ok(())
    }

    fn fate(&self, level: Level, name: &str) -> Fate {
        let named = |known: &(&str, Reach)| reads_as(name, known.0).then_some(known.1);
        let known: &[(&str, Reach)] = match level {
            Level::Capabilities if reads_as(name, "tasks") => return Fate::Enter(Level::Tasks),
            Level::Tasks if reads_as(name, "requests") => return Fate::Enter(Level::Requests),
            Level::Tasks => &[],
            Level::Capabilities | Level::Requests => {
                &[("elicitation", Reach::Elicitation), ("roots", Reach::Roots), ("sampling", Reach::Sampling)]
            }
        };
        match known.iter().find_map(named) {
            Some(reach) if !self.reach.permits(reach) => Fate::Cut,
            Some(_) | None => Fate::Keep,
        }
    }
}
