//! Which requests there are.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use ring_proto::andrews::Answer;
use tokio::time::timeout;

use super::clients::Visit;
use super::output::{Body, JSON, Refusal, answer, not_allowed, posts, refused, with_body, written};
use super::{Counter, host, input, view};
use crate::posts::{Found, Wanted};

/// Bytes of a body, at most.
pub(super) const BODY: usize = 16_384;
/// Bytes of posts that were read, at most, as JSON and before: a MiB of text and one post more, each character escaped, and the
/// other fields of 1,000 posts.
const READ: u32 = 2_304 << 10;
/// How long a body may take.
pub(super) const WHOLE: Duration = Duration::from_secs(10);

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("board.js");
const LIVE: &str = include_str!("live.js");
const STYLE: &str = include_str!("board.css");

/// Answers a request.
pub(super) async fn respond(
    counter: Arc<Counter>,
    visit: Arc<Visit>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    if let Err(refusal) = host::check(request.headers(), request.version(), &counter.names) {
        return Ok(refused(&refusal));
    }
    let path = request.uri().path();
    let answered = match (path, request.method()) {
        ("/posts", &Method::POST) => post(&counter, &visit, request).await,
        ("/posts", &Method::GET) => read(&counter, &visit, &request).await,
        ("/posts", _) => Ok(not_allowed("GET, POST")),
        ("/" | "/board.js" | "/live.js" | "/board.css" | "/ring" | "/events", method)
            if method != Method::GET =>
        {
            Ok(not_allowed("GET"))
        }
        ("/", _) => Ok(answer(StatusCode::OK, "text/html; charset=utf-8", PAGE)),
        ("/board.js", _) => Ok(answer(StatusCode::OK, "text/javascript", SCRIPT)),
        ("/live.js", _) => Ok(answer(StatusCode::OK, "text/javascript", LIVE)),
        ("/board.css", _) => Ok(answer(StatusCode::OK, "text/css", STYLE)),
        ("/ring", _) => ring(&counter).await,
        ("/events", _) => listen(&counter, &visit, &request).await,
        _ => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is nothing here; see /",
        )),
    };
    Ok(answered.unwrap_or_else(|refusal| refused(&refusal)))
}

/// The node has ended: nothing was written.
fn ended() -> Refusal {
    Refusal::of(Answer::Token)
}

async fn ask(counter: &Counter, wanted: Wanted) -> Result<Found, Refusal> {
    let answered = counter.ask(wanted).await.ok_or_else(ended)?;
    answered.map_err(Refusal::of)
}

async fn post(
    counter: &Counter,
    visit: &Visit,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    input::check_origin(request.headers())?;
    let body = Limited::new(request.into_body(), BODY).collect();
    let body = timeout(WHOLE, body).await.map_err(|_| {
        let text = "the request was not whole in time";
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "late", text)
    })?;
    let body = body.map_err(|error| {
        if error.downcast_ref::<LengthLimitError>().is_some() {
            let text = format!("a body has {BODY} bytes at most");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text)
        } else {
            Refusal::malformed("the body cannot be read")
        }
    })?;
    let body = body.to_bytes();
    let paid = counter.clients.pay(visit, body.len(), Instant::now());
    paid.map_err(Refusal::too_fast)?;
    let post = input::post(&body, now())?;
    match ask(counter, Wanted::Post(post)).await? {
        Found::Written {
            id,
            sequence,
            is_old,
        } => Ok(written(id, sequence, is_old)),
        Found::Posts(_) => Err(Refusal::of(Answer::Unknown)),
    }
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    i64::try_from(millis).unwrap_or(i64::MAX)
}

async fn read(
    counter: &Counter,
    visit: &Visit,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let (after, limit) = input::range(request.uri().query())?;
    // Before it is read: posts that wait for a client count too.
    let share = timeout(WHOLE, counter.clients.reserve(visit, READ)).await;
    let share = share
        .ok()
        .flatten()
        .ok_or_else(|| Refusal::of(Answer::Crowded))?;
    match ask(counter, Wanted::Read { after, limit }).await? {
        Found::Posts(found) => Ok(posts(&found, after, share)),
        Found::Written { .. } => Err(Refusal::of(Answer::Unknown)),
    }
}

async fn ring(counter: &Counter) -> Result<Response<Body>, Refusal> {
    let status = counter.ring().await.ok_or_else(ended)?;
    Ok(answer(StatusCode::OK, JSON, status))
}

async fn listen(
    counter: &Arc<Counter>,
    visit: &Visit,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let after = input::after(request.headers(), request.uri().query())?;
    let place = visit.watch().ok_or_else(Refusal::too_many_views)?;
    let ear = counter.listeners.add(after);
    let ear = ear.ok_or_else(|| Refusal::of(Answer::Crowded))?;
    counter.ring_bell();
    let status = counter.ring().await.ok_or_else(ended)?;
    let body = view::body(Arc::clone(counter), ear, place, status);
    Ok(with_body(StatusCode::OK, "text/event-stream", body))
}
