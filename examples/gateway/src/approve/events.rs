//! An answer in JSON, or among events.

use axum::body::Body;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

/// The bytes that an answer may have.
const MAX_BYTES: usize = 16 << 20;

/// The answer to the request with this id.
pub(super) async fn answer(head: &Parts, body: Body, id: &str) -> Result<Bytes, String> {
    let media = head.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    let body = Limited::new(body, MAX_BYTES);
    let found = if media.trim_start().starts_with("text/event-stream") {
        among_events(body, id).await?
    } else {
        Some(body.collect().await.map_err(|error| failed(error.as_ref()))?.to_bytes())
    };
    found
        .filter(|bytes| is_answer(bytes, id))
        .ok_or_else(|| format!("the server does not answer (HTTP {})", head.status))
}

fn failed(error: &(dyn std::error::Error + 'static)) -> String {
    let too_large = error.is::<LengthLimitError>();
    if too_large { "the server's answer is too large" } else { "the server's answer ends early" }.to_owned()
}

/// A stream may go on behind the answer.
async fn among_events(mut body: Limited<Body>, id: &str) -> Result<Option<Bytes>, String> {
    let mut received = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| failed(error.as_ref()))?.into_data() {
            received.extend_from_slice(&data);
        }
        let text = String::from_utf8_lossy(&received).replace("\r\n", "\n").replace('\r', "\n");
        let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        if let Some(found) = whole.split("\n\n").map(data_of).find(|data| is_answer(data.as_bytes(), id)) {
            return Ok(Some(found.into()));
        }
    }
    Ok(None)
}

/// The data of an event.
fn data_of(event: &str) -> String {
    let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
    Vec::from_iter(lines.map(|line| line.strip_prefix(' ').unwrap_or(line))).join("\n")
}

fn is_answer(text: &[u8], id: &str) -> bool {
    let message: Value = serde_json::from_slice(text).unwrap_or_default();
    message.get("id").is_some_and(|found| found == id)
        && (message.get("result").is_some() || message.get("error").is_some())
}
