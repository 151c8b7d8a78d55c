//! Durations as people write them: `500ms`, `30s`, `2m`, `12h`, `7d`.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let invalid = || format!("`{text}` is no duration such as `500ms`, `30s`, `2m`, `12h` or `7d`");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or_else(invalid)?;
    let number: u64 = number.parse().map_err(|_| invalid())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return Err(invalid()),
    };
    match number.checked_mul(milliseconds) {
        Some(0) => Err(format!("`{text}` is no time at all")),
        Some(total) => Ok(Duration::from_millis(total)),
        None => Err(format!("`{text}` is too long")),
    }
}

pub(super) fn check(text: &str) -> Result<(), String> {
    parse(text).map(drop)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}
