//! What operators see and do: which sessions are marked, and why; and the one way to clear them.

use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tower_toolgate::Principal;
use tower_toolgate::store::{
    Clearance, ConversationKey, Cursor, Page, PrincipalKey, StoreError, TaintKey, TaintRegistry,
};
use tower_toolgate::trust::{Cause, Taint};

use crate::config::Secret;
use crate::store::AnyStore;

/// The routes, all of which want the operators' key:
///
/// - `GET /sessions?after=CURSOR&limit=N`: what is marked.
/// - `GET /sessions/PRINCIPAL` and `/sessions/PRINCIPAL/CONVERSATION`: what is known of one.
/// - `DELETE` of the same with `{"actor": …, "reason": …}`: clears it, with all its conversations.
/// - `GET /principals/SUBJECT`: the key of whoever holds an API key.
pub fn router(key: &Secret, store: AnyStore) -> Router {
    Router::new()
        .route("/sessions", get(list))
        .route("/sessions/{principal}", get(inspect).delete(clear))
        .route("/sessions/{principal}/{conversation}", get(inspect).delete(clear))
        .route("/principals/{subject}", get(principal))
        .with_state(store)
        .layer(from_fn_with_state(key.clone(), authenticate))
}

async fn authenticate(State(key): State<Secret>, request: Request, next: Next) -> Response {
    let mut values = request.headers().get_all(AUTHORIZATION).iter();
    let token = values.next().filter(|_| values.next().is_none()).and_then(|value| value.as_bytes().get(7..));
    let bearer = request.headers().get(AUTHORIZATION).and_then(|value| value.as_bytes().get(..7));
    let known = bearer.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"Bearer "))
        && token.is_some_and(|token| bool::from(key.expose().as_bytes().ct_eq(token)));
    if known {
        return next.run(request).await;
    }
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], "the operators' key is required\n").into_response()
}

#[derive(Deserialize)]
struct Listing {
    after: Option<String>,
    limit: Option<usize>,
}

/// How many sessions one page has at most.
const MAX_PAGE: usize = 1000;

async fn list(State(store): State<AnyStore>, Query(listing): Query<Listing>) -> Response {
    let after = listing.after.as_deref().map(Cursor::new);
    let limit = listing.limit.unwrap_or(100).clamp(1, MAX_PAGE);
    match store.list(after, limit).await {
        Ok(Page { entries, next, .. }) => {
            let sessions: Vec<_> = entries.iter().map(|(key, taint)| session(*key, taint)).collect();
            Json(json!({"sessions": sessions, "next": next.as_ref().map(Cursor::as_str)})).into_response()
        }
        Err(error) => failed(&error),
    }
}

async fn inspect(State(store): State<AnyStore>, Path(path): Path<Vec<String>>) -> Response {
    let Some(key) = key(&path) else { return no_key() };
    match store.inspect(key).await {
        Ok(taint) => Json(session(key, &taint)).into_response(),
        Err(error) => failed(&error),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clearing {
    actor: String,
    reason: String,
}

async fn clear(State(store): State<AnyStore>, Path(path): Path<Vec<String>>, body: Bytes) -> Response {
    let Some(key) = key(&path) else { return no_key() };
    let clearing = serde_json::from_slice::<Clearing>(&body).ok();
    let Some(clearance) = clearing.and_then(|clearing| Clearance::new(&clearing.actor, &clearing.reason)) else {
        return (StatusCode::BAD_REQUEST, "who clears, and why: {\"actor\": …, \"reason\": …}\n").into_response();
    };
    let (actor, reason) = (clearance.actor().to_owned(), clearance.reason().to_owned());
    match store.clear(key, clearance).await {
        Ok(taint) => {
            tracing::warn!(principal = %key.principal, actor, reason, was = ?taint.facts, "session cleared");
            Json(session(key, &taint)).into_response()
        }
        Err(error) => failed(&error),
    }
}

async fn principal(Path(subject): Path<String>) -> Response {
    match Principal::new("api-key", subject) {
        Ok(principal) => Json(json!({"principal": PrincipalKey::of(&principal).to_string()})).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
}

fn key(path: &[String]) -> Option<TaintKey> {
    let (principal, conversation) = match path {
        [principal] => (principal, None),
        [principal, conversation] => (principal, Some(ConversationKey::from_bytes(bytes(conversation)?))),
        _ => return None,
    };
    Some(TaintKey { principal: PrincipalKey::from_bytes(bytes(principal)?), conversation })
}

/// Sixteen bytes in hexadecimal.
fn bytes(text: &str) -> Option<[u8; 16]> {
    let plain = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes))?
}

fn session(key: TaintKey, taint: &Taint) -> Value {
    json!({
        "principal": key.principal.to_string(),
        "conversation": key.conversation.map(|conversation| conversation.to_string()),
        "tainted": !taint.is_clean(),
        "facts": taint.facts.bits(),
        "first": taint.first,
        "last": taint.last,
        "marks": taint.marks,
        "cause": taint.cause.as_ref().map(Cause::as_str),
        "coarse": taint.coarse,
    })
}

fn no_key() -> Response {
    (StatusCode::BAD_REQUEST, "a principal, and a conversation, is 32 hexadecimal digits\n").into_response()
}

fn failed(error: &StoreError) -> Response {
    let status = match error {
        StoreError::NoSuchCursor => StatusCode::BAD_REQUEST,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, format!("{error}\n")).into_response()
}
