//! Answers to requests.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use ring_proto::andrews::RequestAnswer;
use serde::Serialize;

use super::clients::ReservedBytes;
use crate::posts::Post;

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The content policy of the page. The policy allows scripts, styles and connections only if they come from or go to
/// this node. No other page may show this page in a frame.
const CONTENT_POLICY: &str =
    "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'";
/// The headers of all answers, in addition to the type. With the Referrer-Policy `no-referrer`, browsers would send
/// `Origin: null` with the form of the login.
const COMMON_HEADERS: [(HeaderName, &str); 6] = [
    (CACHE_CONTROL, "no-store"),
    (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];
/// The challenge of a request without a session and without a password. Browsers ignore this scheme. They would show
/// their own dialog for 'Basic'.
const CHALLENGE: &str = "Cookie realm=\"board\", form-action=\"login\"";

pub(super) const JSON_TYPE: &str = "application/json";
pub(super) const HTML_TYPE: &str = "text/html; charset=utf-8";
pub(super) const FORM_TYPE: &str = "application/x-www-form-urlencoded";

const LOGIN_PAGE: &str = include_str!("login.html");
/// The place of the login page that shows why the last login failed.
const RESULT_PLACE: &str = "<p id=\"result\" role=\"alert\">";

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

/// Returns a value as JSON_TYPE. The values in this module can always be encoded.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Encodes a post as JSON_TYPE in a single line.
pub(super) fn post_json(post: &Post) -> Arc<str> {
    to_json(&PostJson::from(post)).into()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The status code.
    pub status: StatusCode,
    /// The word for programs.
    pub word: &'static str,
    /// The sentence for people.
    pub text: String,
    /// The time after which the client should repeat the request. The time is zero if a repeated request would also
    /// fail.
    pub retry_after: Duration,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, word: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            word,
            text: text.into(),
            retry_after: Duration::ZERO,
        }
    }

    /// Creates the refusal of a malformed request.
    pub(super) fn bad_request(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", text)
    }

    /// Creates the refusal of a post because its client posts too fast.
    pub(super) fn too_fast(wait: Duration) -> Self {
        let text = "too many posts: no post was written; try again later with the same key";
        Self {
            retry_after: wait,
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate", text)
        }
    }

    /// Creates the refusal of a live view because its client already has too many live views.
    pub(super) fn too_many_views() -> Self {
        let text = "this client has too many live views";
        Self {
            retry_after: Duration::from_secs(1),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate", text)
        }
    }

    /// Creates the refusal of a request without a session and without a password.
    pub(super) fn no_login() -> Self {
        let text =
            "log in at /login with a browser, or send the password by HTTP Basic authentication";
        Self::new(StatusCode::UNAUTHORIZED, "login", text)
    }

    pub(super) fn wrong_password() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "login", "the password is wrong")
    }

    /// Creates the refusal of a password because there were too many wrong passwords.
    pub(super) fn too_many_logins(wait: Duration) -> Self {
        let text = "too many wrong passwords: try again later";
        Self {
            retry_after: wait,
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate", text)
        }
    }

    /// Creates the refusal that corresponds to an answer of the state machine.
    pub(super) fn of_answer(answer: RequestAnswer) -> Self {
        let text = match answer {
            RequestAnswer::Token => "the token did not come in time: no post was written",
            RequestAnswer::Database => "the database does not answer: no post was written",
            RequestAnswer::Unknown | RequestAnswer::Done { .. } => {
                "the database did not confirm the commit in time: the post may have been written; try again with the \
                 same key"
            }
            RequestAnswer::Crowded => "too many requests wait: no post was written",
        };
        let word = answer.error().unwrap_or("unknown");
        Self {
            retry_after: Duration::from_secs(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, word, text)
        }
    }
}

pub(super) fn response(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Body> {
    response_with_body(status, kind, Full::new(body.into()).boxed_unsync())
}

/// Returns a response whose body is sent later.
pub(super) fn response_with_body(
    status: StatusCode,
    kind: &'static str,
    body: Body,
) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in COMMON_HEADERS.into_iter().chain([(CONTENT_TYPE, kind)]) {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// A text with its reserved bytes. The bytes stay reserved until the text is sent or the connection ends.
struct ReservedText {
    text: Box<str>,
    _reserved: ReservedBytes,
}

impl AsRef<[u8]> for ReservedText {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

pub(super) fn posts_response(
    found: &[Post],
    after: i64,
    mut reserved: ReservedBytes,
) -> Response<Body> {
    let posts: Vec<_> = found.iter().map(PostJson::from).collect();
    let last = found.last().map_or(after, |post| post.id);
    let text = to_json(&PostsJson { posts, last }).into_boxed_str();
    reserved.shrink(text.len());
    let body = Bytes::from_owner(ReservedText {
        text,
        _reserved: reserved,
    });
    response(StatusCode::OK, JSON_TYPE, body)
}

/// Returns the response to a post that is in the table.
pub(super) fn written_response(id: i64, sequence: u64, is_old: bool) -> Response<Body> {
    let status = if is_old {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    response(status, JSON_TYPE, to_json(&WrittenJson { id, sequence }))
}

pub(super) fn refusal_response(refusal: &Refusal) -> Response<Body> {
    let error = ErrorJson {
        error: refusal.word,
        text: &refusal.text,
    };
    let mut response = response(refusal.status, JSON_TYPE, to_json(&error));
    add_refusal_headers(&mut response, refusal);
    response
}

/// Returns the page of the login. `refusal` is the refusal of the last login.
pub(super) fn login_response(refusal: Option<&Refusal>) -> Response<Body> {
    let Some(refusal) = refusal else {
        return response(StatusCode::OK, HTML_TYPE, LOGIN_PAGE);
    };
    // The texts of these refusals contain no characters that have a meaning in HTML.
    let page = LOGIN_PAGE.replace(RESULT_PLACE, &format!("{RESULT_PLACE}{}", refusal.text));
    let mut response = response(refusal.status, HTML_TYPE, page);
    add_refusal_headers(&mut response, refusal);
    response
}

/// Returns an answer that sends a browser to another page.
pub(super) fn redirect_response(page: &'static str) -> Response<Body> {
    let mut response = response(StatusCode::SEE_OTHER, JSON_TYPE, "");
    let value = HeaderValue::from_static(page);
    response.headers_mut().insert(LOCATION, value);
    response
}

fn add_refusal_headers(response: &mut Response<Body>, refusal: &Refusal) {
    if refusal.status == StatusCode::UNAUTHORIZED {
        let value = HeaderValue::from_static(CHALLENGE);
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    if !refusal.retry_after.is_zero() {
        // The header contains whole seconds. They are rounded up, so that the client does not try again too early.
        let seconds = refusal.retry_after.as_millis().div_ceil(1_000);
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
}

/// Returns the response to a request with a method that is not allowed for the path.
pub(super) fn method_response(methods: &'static str) -> Response<Body> {
    let text = format!("this path accepts only the methods {methods}");
    let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method", text);
    let mut response = refusal_response(&refusal);
    let value = HeaderValue::from_static(methods);
    response.headers_mut().insert(ALLOW, value);
    response
}
