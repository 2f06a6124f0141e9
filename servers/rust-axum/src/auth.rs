//! Lets a request pass only with a Bearer token that is signed with HS256 and
//! our secret and whose exp lies in the future.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::{
    body::to_bytes,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::Sha256;

use crate::api::error;

const MAX_IGNORED_BYTES: usize = 256 * 1024;

#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    pub fn new(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes a key of any length"))
    }
}

pub async fn require_token(State(key): State<Key>, request: Request, next: Next) -> Response {
    if bearer(request.headers()).is_some_and(|token| is_valid(token, &key)) {
        return next.run(request).await;
    }
    // hyper closes a connection whose request it has not read to its end.
    _ = to_bytes(request.into_body(), MAX_IGNORED_BYTES).await;
    let refusal = error(StatusCode::UNAUTHORIZED, "a valid token is required");
    ([(header::WWW_AUTHENTICATE, "Bearer")], refusal).into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(token)
}

fn is_valid(token: &str, key: &Key) -> bool {
    expiry(token, key).is_some_and(|exp| exp > now_s())
}

/// The exp of a token whose signature is right.
fn expiry(token: &str, key: &Key) -> Option<f64> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    if decode(header)?.get("alg")?.as_str()? != "HS256" {
        return None;
    }
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
    // verify_slice compares in constant time.
    key.0
        .clone()
        .chain_update(signed)
        .verify_slice(&signature)
        .ok()?;
    decode(claims)?.get("exp")?.as_f64()
}

fn decode(part: &str) -> Option<Map<String, Value>> {
    let json = BASE64_URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&json).ok()
}

fn now_s() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}
