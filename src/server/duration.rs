//! Durations as people write them: `500ms`, `30s`, `2m`, `12h`, `7d`, or a number of seconds.

use std::time::Duration;

use serde::Serializer;
use serde_json::Value;

use super::error::{ServerError, ServerProblem};
use super::written::Spot;

pub(super) fn read(spot: &Spot<'_>) -> Result<Duration, ServerError> {
    let duration = match spot.value {
        Value::String(text) => parse(text).ok_or_else(|| ServerProblem::Duration(text.clone())),
        Value::Number(number) => {
            number.as_u64().map(Duration::from_secs).ok_or_else(|| ServerProblem::Duration(number.to_string()))
        }
        _ => Err(ServerProblem::NotA("a duration")),
    };
    duration.map_err(|problem| spot.error(problem))
}

fn parse(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(milliseconds).map(Duration::from_millis)
}

pub(super) fn write<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    match duration.as_millis() {
        whole if whole % 1000 == 0 => serializer.collect_str(&format_args!("{}s", whole / 1000)),
        milliseconds => serializer.collect_str(&format_args!("{milliseconds}ms")),
    }
}
