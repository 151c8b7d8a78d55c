//! Why a file cannot be the memory of sessions.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file that cannot be opened: which, and why. It is left as it was.
#[derive(Debug)]
pub struct OpenError {
    path: PathBuf,
    problem: OpenProblem,
}

impl OpenError {
    pub(super) fn new(path: &Path, problem: OpenProblem) -> Self {
        Self { path: path.into(), problem }
    }

    /// Which file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why.
    #[must_use]
    pub fn problem(&self) -> &OpenProblem {
        &self.problem
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.problem {
            OpenProblem::Io(error) => Some(error),
            OpenProblem::InUse | OpenProblem::NoJournal | OpenProblem::Version(_) | OpenProblem::Damaged(_) => None,
        }
    }
}

/// Why a file cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenProblem {
    /// Another store has it.
    InUse,
    /// It does not begin as a journal does, or is empty.
    NoJournal,
    /// It was written by another version of this crate, which has this number.
    Version(u8),
    /// What is written there, counted in bytes, is not what was written.
    Damaged(u64),
    /// It cannot be read or written.
    Io(io::Error),
}

impl From<io::Error> for OpenProblem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for OpenProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => f.write_str("in use by another store"),
            Self::NoJournal => f.write_str("not a journal of sessions"),
            Self::Version(version) => write!(f, "a journal of version {version}, which is not known"),
            Self::Damaged(at) => write!(f, "damaged at byte {at}"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}
