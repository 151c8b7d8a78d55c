//! What is told of a medium in its place.

use crate::json::{Value, fold};

/// What a media type may have in characters.
const MAX_MEDIA_TYPE: usize = 80;

/// How a block is told of by its type, from the one that says least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    Text,
    /// It is a medium if it has the parts of one.
    File,
    Audio,
    Image,
}

impl Label {
    /// Of the type of a block, as lenient readers may read it.
    pub(super) fn of(kind: Value, text: &[u8]) -> Self {
        let name = kind.as_text().and_then(|kind| kind.decode(text).ok()).unwrap_or_default();
        match &*fold(&name) {
            "audio" => Self::Audio,
            "image" => Self::Image,
            _ if name == "text" => Self::Text,
            _ => Self::File,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Image => "image",
            Self::File | Self::Text => "file",
        }
    }
}

/// What is known of a medium.
#[derive(Debug, Default)]
pub(super) struct Medium {
    /// There is one.
    pub(super) is_there: bool,
    bytes: Option<usize>,
    media_type: Option<String>,
}

impl Medium {
    /// It has this for its bytes.
    pub(super) fn has(&mut self, value: Value, text: &[u8]) {
        self.is_there = true;
        let base64 = value.as_text().and_then(|base64| base64.decode(text).ok());
        self.bytes = base64.map(|base64| decoded_len(&base64)).or(self.bytes);
    }

    /// It says to be of this type, which is told if nobody can read more than one out of it.
    pub(super) fn is_of(&mut self, value: Value, text: &[u8]) {
        let written = value.as_text().and_then(|written| written.decode(text).ok()).unwrap_or_default();
        let essence = written.split(';').next().unwrap_or_default().trim();
        self.media_type = is_media_type(essence).then(|| essence.to_owned()).or(self.media_type.take());
    }

    /// What stands in its place. No character of it has to be escaped.
    pub(super) fn notice(&self, label: Label) -> String {
        let bytes = self.bytes.map(|bytes| format!("{bytes} bytes"));
        let facts = Vec::from_iter(self.media_type.clone().into_iter().chain(bytes)).join(", ");
        let colon = if facts.is_empty() { "" } else { ": " };
        ["[", label.name(), colon, &facts, "]"].concat()
    }
}

/// The bytes that a text in base64 stands for, whatever its alphabet and its lines.
fn decoded_len(base64: &str) -> usize {
    let digits = base64.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    digits / 4 * 3 + digits % 4 * 3 / 4
}

/// Whether a text is a media type (RFC 9110, section 8.3.1) without parameters, and not a long one.
fn is_media_type(text: &str) -> bool {
    let is_token = |text: &str| {
        let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !text.is_empty() && text.bytes().all(is_tchar)
    };
    text.len() <= MAX_MEDIA_TYPE
        && text.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_that_of_what_is_coded() {
        for (text, length) in
            [("", 0), ("QQ==", 1), ("QQ", 1), ("QUI=", 2), ("QUJD", 3), ("QUJD\nQUI=\n", 5), ("=", 0), ("_-8", 2)]
        {
            assert_eq!(decoded_len(text), length, "{text:?}");
        }
    }

    #[test]
    fn media_types_are_short_and_have_no_blanks() {
        let long = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
        for text in ["image/png", "image/svg+xml", "x/y", long] {
            assert!(is_media_type(text), "{text}");
        }
        let longest = format!("a/{}", "b".repeat(78));
        assert!(is_media_type(&longest) && !is_media_type(&(longest + "b")));
        for text in ["", "image", "/png", "image/", "a/b/c", "a/b c", "a/b\"", "a/b\n", "a/\u{e4}", "a/b]", "a/b, 1"] {
            assert!(!is_media_type(text), "{text}");
        }
    }
}
