//! Pages of what is marked.

use super::memory::Table;
use super::{ConversationKey, Cursor, Page, PrincipalKey, StoreError, TaintKey};

/// A page behind a cursor. Keys keep their places whatever is marked or cleared meanwhile.
pub(super) fn page(table: &Table, after: Option<&Cursor>, limit: usize) -> Result<Page, StoreError> {
    let after = after.map(|cursor| key(cursor.as_str()).ok_or(StoreError::NoSuchCursor)).transpose()?;
    let limit = limit.max(1);
    let mut entries = table.after(after, limit.saturating_add(1));
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(|(key, _)| cursor(key));
    Ok(Page { entries, next })
}

/// The hexadecimal digits of a key.
pub(super) fn cursor(key: &TaintKey) -> Cursor {
    let conversation = key.conversation.map(|conversation| conversation.to_string()).unwrap_or_default();
    Cursor::new(&format!("{}{conversation}", key.principal))
}

pub(super) fn key(text: &str) -> Option<TaintKey> {
    let bytes = |text: &str| {
        let digits = text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok()?;
        (digits && text.len() == 32).then(|| number.to_be_bytes())
    };
    let (principal, conversation) = text.split_at_checked(32)?;
    let conversation = if conversation.is_empty() { None } else { Some(bytes(conversation)?) };
    let principal = PrincipalKey::from_bytes(bytes(principal)?);
    Some(TaintKey { principal, conversation: conversation.map(ConversationKey::from_bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_a_key() {
        let principal = TaintKey { principal: PrincipalKey::from_bytes([7; 16]), conversation: None };
        let conversation = principal.with_conversation(ConversationKey::from_bytes([0xff; 16]));
        for one in [principal, conversation] {
            assert_eq!(key(cursor(&one).as_str()), Some(one));
        }
        for text in ["", "x", &"0".repeat(33), &"é".repeat(16), &"+".repeat(32), &"0".repeat(65)] {
            assert_eq!(key(text), None, "{text}");
        }
    }
}
