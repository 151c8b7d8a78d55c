//! What a JSON value says, as 32 bytes.
//!
//! White space, the order of members and the spelling of strings say nothing; all else does, the text of numbers
//! included, since parsers read `1` and `1.0` differently. Every value is written into the hash as text that tells where
//! it ends: its kind, the length of what follows, and that. A member of an object is hashed on its own, so that the
//! object's can be put in order without being kept.

use sha2::{Digest, Sha256};

use crate::json::{Error, Kind, Reader, Text};

/// The digest of a value, without what stands at a path of names in it: an object that lacks nothing but that is not
/// there either.
///
/// # Errors
///
/// It cannot be read exactly. What is left out is read by the grammar only.
pub(super) fn digest(text: &[u8], left_out: &[&str]) -> Result<[u8; 32], Error> {
    let mut walk = Walk { text, reader: Reader::tolerant(text)?, members: Vec::new() };
    let mut hash = Sha256::new_with_prefix(b"v");
    walk.value(&mut hash, left_out)?;
    walk.reader.end()?;
    Ok(hash.finalize().into())
}

struct Walk<'a> {
    text: &'a [u8],
    reader: Reader<'a, true>,
    /// The members of the objects that are open, innermost last.
    members: Vec<[u8; 32]>,
}

impl Walk<'_> {
    /// Whether it is an object that has no members.
    fn value(&mut self, hash: &mut Sha256, left_out: &[&str]) -> Result<bool, Error> {
        match self.reader.kind()? {
            Kind::Array => self.array(hash)?,
            Kind::Object => return self.object(hash, left_out),
            Kind::Bool | Kind::Null | Kind::Number | Kind::String => self.scalar(hash)?,
        }
        Ok(false)
    }

    fn array(&mut self, hash: &mut Sha256) -> Result<(), Error> {
        hash.update(b"[");
        self.reader.open_array()?;
        while self.reader.element()? {
            self.value(hash, &[])?;
        }
        hash.update(b"]");
        Ok(())
    }

    fn object(&mut self, hash: &mut Sha256, left_out: &[&str]) -> Result<bool, Error> {
        let outside = self.members.len();
        self.reader.open_object()?;
        while let Some(name) = self.reader.key()? {
            match left_out.split_first() {
                Some((outer, [])) if name.is(self.text, outer) => {
                    self.reader.value()?;
                }
                Some((outer, inner)) if name.is(self.text, outer) => self.member(name, inner)?,
                _ => self.member(name, &[])?,
            }
        }
        let members = self.members.get_mut(outside..).unwrap_or_default();
        let empty = members.is_empty();
        members.sort_unstable();
        hash.update(b"{");
        hash.update((members.len() as u64).to_be_bytes());
        hash.update(members.as_flattened());
        self.members.truncate(outside);
        Ok(empty)
    }

    fn member(&mut self, name: Text, left_out: &[&str]) -> Result<(), Error> {
        let mut hash = Sha256::new_with_prefix(b"m");
        write(&mut hash, b'"', &name.wtf8(self.text));
        let empty = self.value(&mut hash, left_out)?;
        if !empty || left_out.is_empty() {
            self.members.push(hash.finalize().into());
        }
        Ok(())
    }

    fn scalar(&mut self, hash: &mut Sha256) -> Result<(), Error> {
        let value = self.reader.value()?;
        match value.as_text() {
            Some(text) => write(hash, b'"', &text.wtf8(self.text)),
            // The first byte tells a literal from the others, and from a number.
            None if value.kind == Kind::Number => write(hash, b'0', value.raw(self.text)),
            None => hash.update(value.raw(self.text).get(..1).unwrap_or_default()),
        }
        Ok(())
    }
}

fn write(hash: &mut Sha256, kind: u8, bytes: &[u8]) {
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests;
