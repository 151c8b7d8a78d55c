//! What was known elsewhere, and is to be known there again.

use super::filter::Filter;
use super::table::{Table, shard};
use crate::store::TaintKey;
use crate::trust::Taint;

/// What a row takes in a file, with a short cause.
const WRITTEN: u64 = 80;

impl Table {
    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// With the filter that was, of whatever size. Nothing may have been joined before.
    pub(crate) fn restore(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// From here on coarsenings count.
    pub(crate) fn start(&mut self) {
        *self.coarsenings.get_mut() = 0;
    }

    /// Joins what is known from elsewhere.
    pub(crate) fn absorb(&self, key: TaintKey, taint: &Taint) {
        if !taint.is_clean() {
            self.join(&mut self.lock(shard(key.principal)), key, taint);
        }
    }

    /// All rows of a shard, as they are at one moment.
    pub(crate) fn each(&self, shard: usize, mut each: impl FnMut(TaintKey, Taint)) {
        self.lock(shard).iter().for_each(|row| each(row.key(), row.taint(&self.causes)));
    }

    /// About what all of it takes in a file.
    pub(crate) fn written_size(&self) -> u64 {
        let filter = if self.filter.is_empty() { 0 } else { self.filter.words().count() as u64 * 8 };
        self.used() as u64 * WRITTEN + filter
    }
}
