//! Binding ids, and verifying what was bound.

use std::error::Error;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac;

use super::{BindingFault, BindingKey, VerifiedSession, VerifiedTask};
use crate::identity::Principal;
use crate::secret::{Keyed, write, write_principal};

/// The bytes that a server's id may have.
const MAX_ID: usize = 1024;
/// The bytes that a bound id may have: looked at before anything is decoded or hashed.
const MAX_BOUND: usize = 1536;
/// The bytes of what says whose an id is: half of a digest.
const SHORT: usize = 16;
const DIGEST: usize = 32;

/// Binds the ids of one server to one principal, and knows them again.
///
/// A bound id carries the server's id (in base64, since servers choose any text), what it is, of which server and for
/// whom, and a session's also when it was given out. All of it is under an HMAC-SHA256. The epoch of a principal has no
/// part in it: a refreshed token keeps its session.
///
/// # Example
///
/// ```
/// use std::time::SystemTime;
///
/// use tower_toolgate::Principal;
/// use tower_toolgate::binding::{Binder, BindingFault, BindingKey};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = BindingKey::random()?;
/// let (ana, bob) = (Principal::new("oauth", "ana")?, Principal::new("oauth", "bob")?);
/// let bound = Binder::new(&key, Some("files"), Some(&ana)).bind_session("1868a90c", SystemTime::now())?;
///
/// // A new token of the same user:
/// let refreshed = ana.with_epoch("token-2");
/// let session = Binder::new(&key, Some("files"), Some(&refreshed)).verify_session(&bound)?;
/// assert_eq!(session.id(), "1868a90c");
///
/// let foreign = Binder::new(&key, Some("files"), Some(&bob)).verify_session(&bound);
/// assert_eq!(foreign, Err(BindingFault::OtherPrincipal));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Binder {
    key: BindingKey,
    server: Option<Box<str>>,
    owner: Vec<u8>,
}

/// What an id is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Session,
    Task,
}

impl Kind {
    /// What it is called under the HMAC, and what its bound ids start with.
    const fn label(self) -> (&'static [u8], &'static str) {
        match self {
            Self::Session => (b"session", "v1"),
            Self::Task => (b"task", "t1"),
        }
    }

    /// Whether a bound id starts as one of this kind does.
    fn check(self, version: &str) -> Result<(), BindingFault> {
        let other = if self == Self::Session { Self::Task } else { Self::Session };
        let number = version.strip_prefix(['v', 't']).unwrap_or_default();
        match version {
            own if own == self.label().1 => Ok(()),
            foreign if foreign == other.label().1 => Err(BindingFault::OtherKind),
            _ if number.starts_with(|digit: char| digit.is_ascii_digit()) => Err(BindingFault::OtherVersion),
            _ => Err(BindingFault::Malformed),
        }
    }
}

/// What a bound id says.
struct Claim {
    id: String,
    /// In seconds since 1970; 0 for a task.
    minted: u64,
    tag: [u8; SHORT + SHORT + DIGEST],
}

impl Binder {
    /// Binds with a key, for a server and a principal. Where neither is known, all that is not known is one.
    #[must_use]
    pub fn new(key: &BindingKey, server: Option<&str>, principal: Option<&Principal>) -> Self {
        let mut owner = Vec::new();
        if let Some(principal) = principal {
            write_principal(&mut owner, principal);
        }
        Self { key: key.clone(), server: server.map(Into::into), owner }
    }

    /// Binds the id of a session, which was given out at a time.
    ///
    /// # Errors
    ///
    /// It is empty, too long, or not of visible ASCII: no id of a session (MCP, Streamable HTTP, "Session Management").
    pub fn bind_session(&self, id: &str, minted: SystemTime) -> Result<String, Unbindable> {
        if !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Unbindable);
        }
        let minted = minted.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.bind(Kind::Session, id, minted)
    }

    /// Binds the id of a task: always to the same text, so that a client can compare.
    ///
    /// # Errors
    ///
    /// It is empty or too long.
    pub fn bind_task(&self, id: &str) -> Result<String, Unbindable> {
        self.bind(Kind::Task, id, 0)
    }

    /// Verifies the bound id of a session.
    ///
    /// # Errors
    ///
    /// It was not made for this principal and server, by a key that is known.
    pub fn verify_session(&self, bound: &str) -> Result<VerifiedSession, BindingFault> {
        let Claim { id, minted, .. } = self.verify(Kind::Session, bound)?;
        let minted = UNIX_EPOCH.checked_add(Duration::from_secs(minted)).ok_or(BindingFault::Malformed)?;
        Ok(VerifiedSession::new(&id, minted, self.server.as_deref()))
    }

    /// Verifies the bound id of a task.
    ///
    /// # Errors
    ///
    /// As for [`verify_session`](Self::verify_session).
    pub fn verify_task(&self, bound: &str) -> Result<VerifiedTask, BindingFault> {
        self.verify(Kind::Task, bound).map(|claim| VerifiedTask::new(&claim.id))
    }

    fn bind(&self, kind: Kind, id: &str, minted: u64) -> Result<String, Unbindable> {
        if id.is_empty() || id.len() > MAX_ID {
            return Err(Unbindable);
        }
        let key = self.key.current();
        let whose = [self.audience(key), self.owner(key)].map(|mac| mac.finalize().into_bytes());
        let mut tag: Vec<u8> = whose.into_iter().flat_map(|digest| digest.into_iter().take(SHORT)).collect();
        let digest = seal(key, kind, id, minted, &tag).finalize().into_bytes();
        tag.extend_from_slice(&digest);
        let (id, tag) = (URL_SAFE_NO_PAD.encode(id), URL_SAFE_NO_PAD.encode(tag));
        let version = kind.label().1;
        Ok(match kind {
            Kind::Session => format!("{version}.{id}.{minted}.{tag}"),
            Kind::Task => format!("{version}.{id}.{tag}"),
        })
    }

    fn verify(&self, kind: Kind, bound: &str) -> Result<Claim, BindingFault> {
        let claim = Claim::read(kind, bound)?;
        let (whose, digest) = claim.tag.split_at(SHORT + SHORT);
        let (audience, owner) = whose.split_at(SHORT);
        let sealed = |key: &&Keyed| seal(key, kind, &claim.id, claim.minted, whose).verify_slice(digest).is_ok();
        let key = self.key.all().find(sealed).ok_or(BindingFault::Forged)?;
        // What the seal covers is true: what follows says of whom, for those who look into a theft.
        self.audience(key).verify_truncated_left(audience).map_err(|_| BindingFault::OtherServer)?;
        self.owner(key).verify_truncated_left(owner).map_err(|_| BindingFault::OtherPrincipal)?;
        Ok(claim)
    }

    fn audience(&self, key: &Keyed) -> Keyed {
        let mut server = Vec::new();
        write(&mut server, self.server.as_deref());
        key.clone().chain_update(b"tower-toolgate/binding/1/server\0").chain_update(server)
    }

    fn owner(&self, key: &Keyed) -> Keyed {
        key.clone().chain_update(b"tower-toolgate/binding/1/principal\0").chain_update(&self.owner)
    }
}

impl fmt::Debug for Binder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binder").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Claim {
    /// Reads a bound id. Each has one spelling.
    fn read(kind: Kind, bound: &str) -> Result<Self, BindingFault> {
        if bound.len() > MAX_BOUND {
            return Err(BindingFault::TooLong);
        }
        let mut parts = bound.split('.');
        let mut next = || parts.next().ok_or(BindingFault::Malformed);
        kind.check(next()?)?;
        let id = decode(next()?).and_then(|id| String::from_utf8(id).ok()).ok_or(BindingFault::Malformed)?;
        let minted = match kind {
            Kind::Session => seconds(next()?).ok_or(BindingFault::Malformed)?,
            Kind::Task => 0,
        };
        let tag = decode(next()?).and_then(|tag| tag.try_into().ok()).ok_or(BindingFault::Malformed)?;
        match parts.next() {
            None => Ok(Self { id, minted, tag }),
            Some(_) => Err(BindingFault::Malformed),
        }
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

fn seconds(text: &str) -> Option<u64> {
    text.parse().ok().filter(|seconds: &u64| seconds.to_string() == text)
}

/// What makes a bound id true.
fn seal(key: &Keyed, kind: Kind, id: &str, minted: u64, whose: &[u8]) -> Keyed {
    let [length, minted] = [id.len() as u64, minted].map(u64::to_be_bytes);
    let sealed = key.clone().chain_update(b"tower-toolgate/binding/1/seal\0").chain_update(kind.label().0);
    sealed.chain_update(b"\0").chain_update(length).chain_update(id).chain_update(minted).chain_update(whose)
}

/// An id that no protocol allows, or that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unbindable;

impl fmt::Display for Unbindable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id of a server must be of 1 to 1024 bytes, and a session's of visible ASCII")
    }
}

impl Error for Unbindable {}
