//! Why a message cannot be marked.

use crate::json;

/// Why a message cannot be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmarkable {
    /// Lenient readers take a member's name for another one.
    AmbiguousKey,
    /// `content` is no array, and a block would have to be added to it.
    Content,
    /// The operating system gives no randomness for a fence.
    Fence,
    /// A URI, a media type or the type of a block has a character that none may have.
    IllegalCharacter,
    Json(json::Error),
    /// `_meta` is no object.
    Meta,
    /// The text is neither an object nor an array of objects, or one of these has not the form of a message.
    NotAMessage,
    /// The result is no object, and so has no place for a tag.
    Result,
    /// So much would be tagged or fenced that the message would grow beyond measure.
    TooManyParts,
    /// A result stands beside an error or a method.
    TwoOutcomes,
    /// Nobody has asked for this answer.
    Unasked,
}

impl From<json::Error> for Unmarkable {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}
