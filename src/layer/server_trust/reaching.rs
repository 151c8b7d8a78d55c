//! What a server asks of its client: what it may not, never gets there.

use bytes::Bytes;
use http::response::Parts;
use memchr::memchr;

use super::judge::Judge;
use crate::answer::{DenialKind, Requester};
use crate::json::{Cuts, Edits};
use crate::response::{Origin, Rewrite, Unreadable};
use crate::server::{Asked, ServerRefusal, Unclear};

/// Looks for what a server asks for in the response to one request.
pub(super) struct Reaching {
    pub(super) judge: Judge,
    pub(super) requester: Requester,
}

impl Rewrite for Reaching {
    fn head(&self, _: &mut Parts) -> Result<(), Unreadable> {
        Ok(())
    }

    fn concerns(&self, _: &[u8]) -> bool {
        true
    }

    fn edits(&self, message: &Bytes, _: &mut Origin<'_>) -> Result<Edits, Unreadable> {
        let messages = Asked::read(message, self.judge.standing.reach)?;
        if let Some(reach) = messages.iter().find_map(|asked| asked.answer) {
            return Err(Unreadable::Refused(ServerRefusal::ReachBack(reach)));
        }
        match messages.iter().find_map(|asked| asked.request) {
            None => Ok(Edits::new()),
            Some(reach) if messages.iter().all(|asked| asked.request.is_some()) => {
                Err(Unreadable::Unwanted(ServerRefusal::ReachBack(reach)))
            }
            Some(_) => Ok(self.cut(message, &messages)),
        }
    }

    fn holds_answers(&self) -> bool {
        true
    }

    fn is_exact(&self) -> bool {
        true
    }
}

impl Reaching {
    /// What goes from a batch that has answers as well.
    fn cut(&self, batch: &[u8], messages: &[Asked]) -> Edits {
        let mut edits = Edits::new();
        let mut cuts = Cuts::within(memchr(b'[', batch).unwrap_or_default());
        for asked in messages {
            match asked.request {
                None => cuts.keep(asked.range.clone(), &mut edits),
                Some(reach) => {
                    cuts.cut(asked.range.clone());
                    let kind = DenialKind::Server(ServerRefusal::ReachBack(reach));
                    self.judge.guard.front.refuse_response(&self.requester, kind);
                }
            }
        }
        cuts.close(&mut edits);
        edits
    }
}

impl From<Unclear> for Unreadable {
    fn from(unclear: Unclear) -> Self {
        match unclear {
            Unclear::AmbiguousKey => Self::AmbiguousKey,
            Unclear::Json(error) => Self::Json(error),
            Unclear::NotAMessage => Self::NotAMessage,
            Unclear::ResultArray => Self::ResultArray,
            Unclear::TooMany => Self::Unmarkable,
        }
    }
}
