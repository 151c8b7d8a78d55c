//! What is no text, but is printed: whoever prints it must not be led to print something else.

use super::Unmarkable;
use super::walk::{Walk, Walked};
use crate::json::Value;

/// What a type or a role may have in characters.
const MAX_TOKEN: usize = 64;

impl Walk<'_> {
    pub(super) fn uri(&mut self) -> Walked<Option<Value>> {
        self.exact(is_uri)
    }

    pub(super) fn media_type(&mut self) -> Walked {
        self.exact(is_media_type).map(drop)
    }

    /// The type of a block, or a role.
    pub(super) fn word(&mut self) -> Walked<Option<Value>> {
        self.exact(is_word)
    }

    /// Reads what should be a string of some form; what is nested has the form of none, and is a text.
    fn exact(&mut self, has_form: fn(&str) -> bool) -> Walked<Option<Value>> {
        let value = self.leaf()?;
        let text = value.and_then(Value::as_text).map(|text| text.decode(self.text));
        let is_hostile = text.is_some_and(|text| !text.is_ok_and(|text| has_form(&text)));
        if is_hostile && self.mark.is_external() { Err(Unmarkable::IllegalCharacter) } else { Ok(value) }
    }
}

fn is_word(text: &str) -> bool {
    (1..=MAX_TOKEN).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
}

/// Whether a text can be a URI, as far as others than machines read it: what is not in ASCII stays, since many servers do
/// not escape it.
fn is_uri(text: &str) -> bool {
    !text.chars().any(|c| matches!(c, '<' | '>' | '"') || c.is_control() || c.is_whitespace() || is_format(c))
}

/// Whether a text is a media type with parameters (RFC 9110), or at least the first half of one, or empty.
fn is_media_type(text: &str) -> bool {
    let mut parts = text.split(';').map(|part| part.trim_matches([' ', '\t']));
    let (kind, subtype) = parts.next().map(|kind| kind.split_once('/').unwrap_or((kind, "x"))).unwrap_or_default();
    text.is_empty() || is_token(kind) && is_token(subtype) && parts.all(is_parameter)
}

fn is_parameter(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return text.is_empty() };
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    is_token(name) && (is_token(value) || quoted.is_some_and(is_uri))
}

fn is_token(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token)
}

/// Whether a character is of Unicode's category Cf, or of the plane that is reserved for what is not seen.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_legal_stays() {
        for uri in ["", "a:b", "https://a/b?c=%20#d", "file:///C:/\u{e4}e\u{301}.txt", "urn:x:{y}", "x"] {
            assert!(is_uri(uri), "{uri}");
        }
        for uri in ["a b", "a:\u{a0}", "a:\u{2028}", "a:\u{202e}", "a:\u{e0041}", "a:<", "a:\"", "a:\u{85}"] {
            assert!(!is_uri(uri), "{uri:?}");
        }
    }

    #[test]
    fn media_types_are_those_of_http() {
        for text in [
            "",
            "text",
            "text/plain",
            "text/plain; charset=utf-8",
            "text/html;profile=mcp-app",
            "a/b+c;",
            "multipart/x;boundary=\"a:b/c\" ; d=e",
        ] {
            assert!(is_media_type(text), "{text}");
        }
        for text in
            ["text/", "/plain", "a/b/c", "a/b c", "a/b;c", "a/b;c=d e", "a/b;c=\"d e\"", "a/b;c=\"<\"", "a/\u{e4}"]
        {
            assert!(!is_media_type(text), "{text}");
        }
    }

    #[test]
    fn words_are_short() {
        assert!(is_word("resource_link") && is_word("x-a/b.c") && is_word(&"a".repeat(64)));
        assert!(!is_word("") && !is_word("a b") && !is_word("a\n") && !is_word(&"a".repeat(65)));
    }
}
