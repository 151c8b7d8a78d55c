//! What is written down, as bytes. Numbers are little-endian.

use super::super::memory::{Filter, Table};
use crate::store::{Clearance, ConversationKey, PrincipalKey, TaintKey};
use crate::trust::{Cause, Facts, Taint};

const JOIN: u8 = 1;
const CLEAR: u8 = 2;
const FILTER: u8 = 3;

/// Instead of the length of a cause that is not there.
const NONE: u16 = u16::MAX;

pub(super) fn join(to: &mut Vec<u8>, key: TaintKey, taint: &Taint) {
    to.push(JOIN);
    put_key(to, key);
    to.extend(taint.facts.bits().to_le_bytes());
    [taint.first, taint.last, taint.marks].into_iter().for_each(|number| to.extend(number.to_le_bytes()));
    to.push(taint.coarse.into());
    let cause = taint.cause.as_ref().map(|cause| cause.as_str().as_bytes());
    let length = cause.map_or(NONE, |cause| u16::try_from(cause.len()).unwrap_or(NONE));
    to.extend(length.to_le_bytes());
    to.extend(cause.filter(|_| length != NONE).unwrap_or_default());
}

pub(super) fn clear(to: &mut Vec<u8>, key: TaintKey, clearance: &Clearance) {
    to.push(CLEAR);
    put_key(to, key);
    for text in [clearance.actor(), clearance.reason()] {
        to.extend((text.len() as u64).to_le_bytes());
        to.extend(text.as_bytes());
    }
}

/// A part of a filter, and how much is still to come.
pub(super) fn filter(to: &mut Vec<u8>, words: &[u64], left: usize) {
    to.push(FILTER);
    to.extend((words.len() as u64).to_le_bytes());
    to.extend((left as u64).to_le_bytes());
    words.iter().for_each(|word| to.extend(word.to_le_bytes()));
}

fn put_key(to: &mut Vec<u8>, key: TaintKey) {
    to.push(key.conversation.is_some().into());
    to.extend(key.principal.as_bytes());
    to.extend(key.conversation.iter().flat_map(ConversationKey::as_bytes));
}

/// Puts records back into a table.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// What of a filter has come.
    words: Vec<u64>,
}

impl Replay {
    /// All records of a payload; `None` if they are no records.
    pub(super) fn payload(&mut self, mut bytes: &[u8], table: &mut Table) -> Option<()> {
        while !bytes.is_empty() {
            self.record(&mut bytes, table)?;
        }
        Some(())
    }

    fn record(&mut self, from: &mut &[u8], table: &mut Table) -> Option<()> {
        match u8::from_le_bytes(take(from)?) {
            JOIN => table.absorb(take_key(from)?, &take_taint(from)?),
            CLEAR => {
                let key = take_key(from)?;
                take_text(from)?;
                take_text(from)?;
                table.clear(key, |_| ());
            }
            FILTER => self.filter(from, table)?,
            _ => return None,
        }
        Some(())
    }

    fn filter(&mut self, from: &mut &[u8], table: &mut Table) -> Option<()> {
        let (words, left) = (take_u64(from)?, take_u64(from)?);
        for _ in 0..words {
            self.words.push(take_u64(from)?);
        }
        if left == 0 {
            table.restore(Filter::of_words(self.words.drain(..))?);
        }
        Some(())
    }
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*taken)
}

fn take_u64(from: &mut &[u8]) -> Option<u64> {
    take(from).map(u64::from_le_bytes)
}

fn take_bytes<'a>(from: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(usize::try_from(length).ok()?)?;
    *from = rest;
    Some(taken)
}

fn take_text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let length = take_u64(from)?;
    std::str::from_utf8(take_bytes(from, length)?).ok()
}

fn take_bool(from: &mut &[u8]) -> Option<bool> {
    match take(from)? {
        [0] => Some(false),
        [1] => Some(true),
        _ => None,
    }
}

fn take_key(from: &mut &[u8]) -> Option<TaintKey> {
    let has_conversation = take_bool(from)?;
    let principal = PrincipalKey::from_bytes(take(from)?);
    let conversation = if has_conversation { Some(ConversationKey::from_bytes(take(from)?)) } else { None };
    Some(TaintKey { principal, conversation })
}

fn take_taint(from: &mut &[u8]) -> Option<Taint> {
    let facts = Facts::from_bits(u16::from_le_bytes(take(from)?));
    let [first, last, marks] = [take_u64(from)?, take_u64(from)?, take_u64(from)?];
    let coarse = take_bool(from)?;
    let cause = match u16::from_le_bytes(take(from)?) {
        NONE => None,
        length => Some(Cause::new(std::str::from_utf8(take_bytes(from, length.into())?).ok()?)),
    };
    Some(Taint { facts, first, last, marks, cause, coarse })
}
