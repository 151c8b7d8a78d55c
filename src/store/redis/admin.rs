//! What operators do.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use redis::{Cmd, ErrorKind, FromRedisValue, Value};
use tokio::time::timeout;

use super::exchange::{Session, taint};
use super::script::Script;
use super::value::Known;
use crate::store::{Clearance, Cursor, Page, StoreError, TaintKey, Visit, registry};
use crate::trust::Taint;

/// How many clearings the stream of them keeps at least.
const AUDITED: u32 = 10_000;

/// How many keys are asked for at once.
const SCANNED: u32 = 1000;

impl Session {
    /// One command of an operator.
    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<Result<T, redis::RedisError>, StoreError> {
        let asked = async {
            let mut up = self.link.get(None).await?;
            Ok(command.query_async(&mut up.connection).await)
        };
        timeout(self.patience, asked).await.unwrap_or(Err(StoreError::TimedOut))
    }

    pub(super) async fn inspect(&self, key: TaintKey) -> Result<Taint, StoreError> {
        let visit = Visit::read(key, 0);
        let found = timeout(self.patience, self.exchange(&visit)).await;
        let [principal, conversation] = found.unwrap_or(Err(StoreError::TimedOut))?.0.before;
        Ok(taint(if key.conversation.is_some() { conversation } else { principal }))
    }

    /// Tells the audit, and then clears: what was cleared is in the audit even if one of the two fails.
    pub(super) async fn clear(&self, key: TaintKey, clearance: &Clearance) -> Result<Taint, StoreError> {
        let conversation = key.conversation.map(|conversation| conversation.to_string()).unwrap_or_default();
        let mut audit = redis::cmd("XADD");
        audit.arg(format!("{}audit", self.prefix())).arg("MAXLEN").arg("~").arg(AUDITED).arg("*");
        audit.arg("actor").arg(clearance.actor()).arg("reason").arg(clearance.reason());
        audit.arg("principal").arg(key.principal.to_string()).arg("conversation").arg(&conversation);
        self.ask::<Value>(&audit).await?.map_err(|error| self.fail(&error))?;
        // Later than the epochs that a server has lost.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let arguments = [conversation, now.to_string(), self.retention()];
        let cleared = async {
            let mut up = self.link.get(None).await?;
            let run = up.scripts.run(&mut up.connection, Script::Clear, &self.key(key), &arguments).await;
            run.map_err(|error| self.fail(&error))
        };
        let value = timeout(self.patience, cleared).await.unwrap_or(Err(StoreError::TimedOut))?;
        let Value::BulkString(text) = value else { return Err(StoreError::Unavailable) };
        self.cache.forget(key);
        Ok(taint(Known::read(&text)))
    }

    pub(super) async fn list(&self, after: Option<Cursor>, limit: usize) -> Result<Page, StoreError> {
        let after = after.map(|cursor| registry::key(cursor.as_str()).ok_or(StoreError::NoSuchCursor)).transpose()?;
        let (limit, mut entries) = (limit.max(1), Vec::new());
        let mut from = after.map(|key| key.principal.to_string());
        let mut first = true;
        loop {
            let principals = self.principals(from.as_deref(), first, limit.saturating_add(1)).await?;
            for name in &principals {
                let all = self.entries(name).await?.into_iter();
                entries.extend(all.filter(|(key, _)| after.is_none_or(|after| *key > after)));
                if entries.len() > limit {
                    entries.truncate(limit);
                    let next = entries.last().map(|(key, _)| registry::cursor(key));
                    return Ok(Page { entries, next });
                }
            }
            match principals.last() {
                Some(last) => (from, first) = (Some(last.clone()), false),
                None => return Ok(Page { entries, next: None }),
            }
        }
    }

    /// The first principals from one on, or behind it, in order, by looking through all keys.
    async fn principals(
        &self,
        from: Option<&str>,
        inclusive: bool,
        limit: usize,
    ) -> Result<BTreeSet<String>, StoreError> {
        let prefix = format!("{}{{", self.prefix());
        let pattern = format!("{}*", escape(&prefix));
        let behind = |name: &str| from.is_none_or(|from| name > from || (inclusive && name == from));
        let (mut found, mut cursor) = (BTreeSet::new(), String::from("0"));
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCANNED);
            let answer = self.ask::<(String, Vec<Vec<u8>>)>(&scan).await?;
            let (next, keys) = answer.map_err(|error| self.fail(&error))?;
            for key in keys {
                let name = std::str::from_utf8(&key).ok().and_then(|key| key.strip_prefix(&prefix)?.strip_suffix('}'));
                found.extend(name.filter(|name| behind(name) && registry::key(name).is_some()).map(String::from));
                while found.len() > limit {
                    found.pop_last();
                }
            }
            if next == "0" {
                return Ok(found);
            }
            cursor = next;
        }
    }

    /// All that is marked of a principal, in the order of keys.
    async fn entries(&self, name: &str) -> Result<Vec<(TaintKey, Taint)>, StoreError> {
        let Some(principal) = registry::key(name) else { return Ok(Vec::new()) };
        let answer = self.ask::<Vec<(String, Vec<u8>)>>(redis::cmd("HGETALL").arg(self.key(principal))).await?;
        let fields = match answer {
            Ok(fields) => fields,
            // It is none of ours, or a field is no text.
            Err(error) if matches!(error.kind(), ErrorKind::Extension | ErrorKind::UnexpectedReturnType) => {
                return Ok(vec![(principal, Taint::assumed())]);
            }
            Err(error) => return Err(self.fail(&error)),
        };
        let key = |field: &str| if field == "p" { Some(principal) } else { registry::key(&format!("{name}{field}")) };
        let entry = |(field, text): (String, Vec<u8>)| Some((key(&field)?, taint(Known::read(&text))));
        let mut entries: Vec<_> = fields.into_iter().filter_map(entry).collect();
        entries.retain(|(_, taint)| !taint.is_clean());
        entries.sort_by_key(|(key, _)| *key);
        Ok(entries)
    }
}

/// As a pattern that only matches a text itself.
fn escape(text: &str) -> String {
    let special = |letter| matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^');
    text.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}
