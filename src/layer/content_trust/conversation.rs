//! Which conversation a request is of.

use http::HeaderName;
use http::request::Parts;

use crate::binding::VerifiedSession;
use crate::identity::{HonestHost, Principal};
use crate::message::Inspection;
use crate::store::{ConversationKey, TaintKey};
use crate::trust::TrustFault;

/// What a name of a conversation may have in bytes.
const MAX_NAME_BYTES: usize = 1024;

/// What names a conversation. Only hosts that are [honest](HonestHost) about it are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConversationSource {
    /// A header of the request, such as `x-openai-session`.
    Header(HeaderName),
    /// A member of `params._meta`, such as `openai/session`.
    Meta(Box<str>),
    /// The `Mcp-Session-Id` of the transport, if a [binding layer](crate::layer::binding) further out has verified it. Many
    /// clients have a session for each call, or one for all conversations: it is what the host makes of it.
    SessionId,
}

/// Whose memory a request is about.
///
/// Of several sources the first that names something counts; a header and a member of `_meta` that both do must agree.
pub(super) fn key(
    sources: &[ConversationSource],
    head: &Parts,
    inspection: Option<&Inspection>,
) -> Result<TaintKey, TrustFault> {
    let principal = head.extensions.get::<Principal>();
    let key = principal.map_or_else(TaintKey::anonymous, TaintKey::of);
    if sources.is_empty() || head.extensions.get::<HonestHost>().is_none() {
        return Ok(key);
    }
    let mut names = Vec::new();
    for source in sources {
        if let Some(name) = named(source, head, inspection)? {
            names.push((source, name));
        }
    }
    let mut mirrored = names.iter().filter(|(source, _)| **source != ConversationSource::SessionId);
    let first = mirrored.next();
    if mirrored.any(|(_, name)| first.is_some_and(|(_, first)| first != name)) {
        return Err(TrustFault::ConversationAmbiguous);
    }
    Ok(names.into_iter().next().map_or(key, |(_, name)| match name {
        Named::Session(conversation) => key.with_conversation(conversation),
        // What a header and `_meta` say alike is one name.
        Named::Text(name) => key.with_conversation(ConversationKey::of("conversation", &name)),
    }))
}

/// How a conversation is named.
#[derive(PartialEq, Eq)]
enum Named {
    Session(ConversationKey),
    Text(Vec<u8>),
}

/// What a source says: one thing, or nothing.
fn named(
    source: &ConversationSource,
    head: &Parts,
    inspection: Option<&Inspection>,
) -> Result<Option<Named>, TrustFault> {
    let mut names: Vec<_> = match source {
        ConversationSource::Header(name) => of_header(head, name),
        // Only what a layer further out has verified: anybody can make up another.
        ConversationSource::SessionId => {
            return Ok(VerifiedSession::of(&head.extensions).map(|session| Named::Session(session.conversation())));
        }
        ConversationSource::Meta(member) => of_meta(inspection, member)?,
    };
    let name = names.pop();
    let one = names.is_empty() && name.as_ref().is_none_or(|name| (1..=MAX_NAME_BYTES).contains(&name.len()));
    if one { Ok(name.map(Named::Text)) } else { Err(TrustFault::ConversationAmbiguous) }
}

fn of_header(head: &Parts, name: &HeaderName) -> Vec<Vec<u8>> {
    head.headers.get_all(name).iter().map(|value| value.as_bytes().to_vec()).collect()
}

/// What the messages of a body say, each name once.
fn of_meta(inspection: Option<&Inspection>, member: &str) -> Result<Vec<Vec<u8>>, TrustFault> {
    let mut names = Vec::new();
    for message in inspection.into_iter().flat_map(Inspection::messages) {
        let Some(named) = message.meta().get(member) else { continue };
        let name = named.as_str().and_then(Result::ok).ok_or(TrustFault::ConversationAmbiguous)?;
        if !names.iter().any(|known: &Vec<u8>| *known == name.as_bytes()) {
            names.push(name.as_bytes().to_vec());
        }
    }
    Ok(names)
}
