//! What can go wrong with fences.

use std::error::Error;
use std::fmt;

use super::FenceId;

/// Why there is no fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FenceError {
    /// The operating system gives no randomness.
    Randomness,
    /// The bodies hold every character that could mark words.
    NoMark,
}

impl fmt::Display for FenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Randomness => "the operating system gives no randomness for a fence",
            Self::NoMark => "the text holds every character that could mark its words",
        })
    }
}

impl Error for FenceError {}

/// What no [`FenceId`] may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidFenceId;

impl fmt::Display for InvalidFenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an id in a fence has 1 to {} of the characters a-z, 0-9, _ and -", FenceId::MAX_BYTES)
    }
}

impl Error for InvalidFenceId {}

/// Why a text is not what a [`Fence`](super::Fence) makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotFenced {
    /// Its first line opens no fence.
    Header,
    /// Its last line does not close the fence that its first line opens.
    Footer,
    /// What is between them is not in the encoding that the first line names.
    Encoding,
    /// What is between them holds a look-alike of a marker that is not escaped.
    LookAlike,
}

impl fmt::Display for NotFenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "the text does not begin with the line that opens a fence",
            Self::Footer => "the text does not end with the line that closes its fence",
            Self::Encoding => "the fenced text is not in the encoding that its fence names",
            Self::LookAlike => "the fenced text holds a marker that is not escaped",
        })
    }
}

impl Error for NotFenced {}
