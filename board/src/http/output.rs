//! How requests are answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use ring_proto::andrews::Answer;
use serde::Serialize;

use super::clients::Share;
use crate::posts::Post;

/// What is sent.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Allows scripts, styles and connections of this node; and no frame around the page.
const POLICY: &str =
    "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'";

/// The type of JSON.
pub(super) const JSON: &str = "application/json";

#[derive(Serialize)]
struct PostJson<'a> {
    id: i64,
    author: &'a str,
    text: &'a str,
    node: u32,
    sequence: u64,
    time_ms: i64,
}

impl<'a> From<&'a Post> for PostJson<'a> {
    fn from(post: &'a Post) -> Self {
        Self {
            id: post.id,
            author: &post.author,
            text: &post.text,
            node: post.node,
            sequence: post.sequence,
            time_ms: post.time_ms,
        }
    }
}

#[derive(Serialize)]
struct PostsJson<'a> {
    posts: Vec<PostJson<'a>>,
    last: i64,
}

#[derive(Serialize)]
struct WrittenJson {
    id: i64,
    sequence: u64,
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    error: &'a str,
    text: &'a str,
}

/// A value as JSON: numbers, text and lists, nothing that JSON lacks.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A post, in one line.
pub(super) fn post_json(post: &Post) -> Arc<str> {
    text(&PostJson::from(post)).into()
}

/// A request that cannot be answered as it wishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// For programs.
    pub word: &'static str,
    /// For people.
    pub text: String,
    /// When to ask again; zero: it would hear the same.
    pub wait: Duration,
}

impl Refusal {
    /// One with these words.
    pub(super) fn new(status: StatusCode, word: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            word,
            text: text.into(),
            wait: Duration::ZERO,
        }
    }

    /// What is wrong with what was sent.
    pub(super) fn malformed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", text)
    }

    /// A client, or all clients together, post too much.
    pub(super) fn too_fast(wait: Duration) -> Self {
        let text = "too many posts: nothing was written; ask again later, with the same key";
        Self {
            wait,
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate", text)
        }
    }

    /// One client has too many live views.
    pub(super) fn too_many_views() -> Self {
        let text = "this client has too many live views";
        Self {
            wait: Duration::from_secs(1),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate", text)
        }
    }

    /// That the machine has answered so.
    pub(super) fn of(answer: Answer) -> Self {
        let text = match answer {
            Answer::Token => "the token did not come in time: nothing was written",
            Answer::Database => "the database does not answer: nothing was written",
            Answer::Unknown | Answer::Done { .. } => {
                "the commit was not answered in time: it may have been written; ask again with the same key"
            }
            Answer::Crowded => "too many requests wait: nothing was written",
        };
        let word = answer.error().unwrap_or("unknown");
        Self {
            wait: Duration::from_secs(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, word, text)
        }
    }
}

/// An answer with a body of a type.
pub(super) fn answer(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Body> {
    with_body(status, kind, Full::new(body.into()).boxed_unsync())
}

/// The same with a body that is not there yet.
pub(super) fn with_body(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers: [(HeaderName, &'static str); 4] = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// An answer that keeps its share of all answers until it is sent, or its connection ends.
struct Counted {
    text: Box<str>,
    _share: Share,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Posts that were read, after this one.
pub(super) fn posts(found: &[Post], after: i64, mut share: Share) -> Response<Body> {
    let posts: Vec<_> = found.iter().map(PostJson::from).collect();
    let last = found.last().map_or(after, |post| post.id);
    let text = text(&PostsJson { posts, last }).into_boxed_str();
    share.shrink(text.len());
    let body = Bytes::from_owner(Counted {
        text,
        _share: share,
    });
    answer(StatusCode::OK, JSON, body)
}

/// A post that is in the table.
pub(super) fn written(id: i64, sequence: u64, is_old: bool) -> Response<Body> {
    let status = if is_old {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    answer(status, JSON, text(&WrittenJson { id, sequence }))
}

/// Why not.
pub(super) fn refused(refusal: &Refusal) -> Response<Body> {
    let said = ErrorJson {
        error: refusal.word,
        text: &refusal.text,
    };
    let mut response = answer(refusal.status, JSON, text(&said));
    if !refusal.wait.is_zero() {
        // Whole seconds, and not too early.
        let seconds = refusal.wait.as_millis().div_ceil(1_000);
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Only these methods are known there.
pub(super) fn not_allowed(methods: &'static str) -> Response<Body> {
    let text = format!("the methods here: {methods}");
    let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method", text);
    let mut response = refused(&refusal);
    let value = HeaderValue::from_static(methods);
    response.headers_mut().insert(ALLOW, value);
    response
}
