//! The paths, and the requests to each path.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use ring_proto::andrews::RequestAnswer;
use tokio::time::timeout;

use super::clients::ClientConnection;
use super::output::{
    Body, JSON_TYPE, Refusal, method_response, posts_response, refusal_response, response,
    response_with_body, written_response,
};
use super::{LoopHandle, host, input, view};
use crate::posts::{BoardRequest, RequestResult};

pub(super) const BODY_BYTES_MAX: usize = 16_384;
/// Maximum number of bytes of a read. The maximum applies to the sum of the posts and their JSON. A read contains at
/// most 1 MiB of text, one more post, and the other fields of 1,000 posts. In JSON, each character may be escaped.
const READ_ANSWER_BYTES_MAX: u32 = 2_304 << 10;
/// The time limit for the arrival of a request's head. The same limit applies to the arrival of the body.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("board.js");
const LIVE: &str = include_str!("live.js");
const STYLE: &str = include_str!("board.css");

/// Answers a request.
pub(super) async fn respond(
    loop_handle: Arc<LoopHandle>,
    client: Arc<ClientConnection>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    if let Err(refusal) = host::check(request.headers(), request.version(), &loop_handle.names) {
        return Ok(refusal_response(&refusal));
    }
    let path = request.uri().path();
    let result = match (path, request.method()) {
        ("/posts", &Method::POST) => answer_post(&loop_handle, &client, request).await,
        ("/posts", &Method::GET) => answer_read(&loop_handle, &client, &request).await,
        ("/posts", _) => Ok(method_response("GET, POST")),
        ("/" | "/board.js" | "/live.js" | "/board.css" | "/ring" | "/events", method)
            if method != Method::GET =>
        {
            Ok(method_response("GET"))
        }
        ("/", _) => Ok(response(StatusCode::OK, "text/html; charset=utf-8", PAGE)),
        ("/board.js", _) => Ok(response(StatusCode::OK, "text/javascript", SCRIPT)),
        ("/live.js", _) => Ok(response(StatusCode::OK, "text/javascript", LIVE)),
        ("/board.css", _) => Ok(response(StatusCode::OK, "text/css", STYLE)),
        ("/ring", _) => answer_status(&loop_handle).await,
        ("/events", _) => answer_events(&loop_handle, &client, &request).await,
        _ => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is nothing at this path; the page is at /",
        )),
    };
    Ok(result.unwrap_or_else(|refusal| refusal_response(&refusal)))
}

/// Returns the refusal of a post because the node has ended. The node did not write the post.
fn node_end_refusal() -> Refusal {
    Refusal::of_answer(RequestAnswer::Token)
}

async fn run_request(
    loop_handle: &LoopHandle,
    request: BoardRequest,
) -> Result<RequestResult, Refusal> {
    let result = loop_handle
        .run_request(request)
        .await
        .ok_or_else(node_end_refusal)?;
    result.map_err(Refusal::of_answer)
}

async fn answer_post(
    loop_handle: &LoopHandle,
    client: &ClientConnection,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    input::check_origin(request.headers())?;
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
    let body = timeout(REQUEST_TIMEOUT, body).await.map_err(|_| {
        let text = "the request was not complete in time";
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "late", text)
    })?;
    let body = body.map_err(|error| {
        if error.downcast_ref::<LengthLimitError>().is_some() {
            let text = format!("the body is longer than {BODY_BYTES_MAX} bytes");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text)
        } else {
            Refusal::bad_request("the body cannot be read")
        }
    })?;
    let body = body.to_bytes();
    let paid = loop_handle
        .clients
        .count_post(client, body.len(), Instant::now());
    paid.map_err(Refusal::too_fast)?;
    let post = input::parse_post(&body, now())?;
    match run_request(loop_handle, BoardRequest::Post(post)).await? {
        RequestResult::Written {
            id,
            sequence,
            is_old,
        } => Ok(written_response(id, sequence, is_old)),
        RequestResult::Posts(_) => Err(Refusal::of_answer(RequestAnswer::Unknown)),
    }
}

/// Returns the time in milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    i64::try_from(millis).unwrap_or(i64::MAX)
}

async fn answer_read(
    loop_handle: &LoopHandle,
    client: &ClientConnection,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let (after, limit) = input::parse_range(request.uri().query())?;
    // Reserve the bytes before the read, because posts in memory count too.
    let reserved = timeout(
        REQUEST_TIMEOUT,
        loop_handle.clients.reserve(client, READ_ANSWER_BYTES_MAX),
    )
    .await;
    let reserved = reserved
        .ok()
        .flatten()
        .ok_or_else(|| Refusal::of_answer(RequestAnswer::Crowded))?;
    match run_request(loop_handle, BoardRequest::Read { after, limit }).await? {
        RequestResult::Posts(found) => Ok(posts_response(&found, after, reserved)),
        RequestResult::Written { .. } => Err(Refusal::of_answer(RequestAnswer::Unknown)),
    }
}

async fn answer_status(loop_handle: &LoopHandle) -> Result<Response<Body>, Refusal> {
    let status = loop_handle.status().await.ok_or_else(node_end_refusal)?;
    Ok(response(StatusCode::OK, JSON_TYPE, status))
}

async fn answer_events(
    loop_handle: &Arc<LoopHandle>,
    client: &ClientConnection,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let after = input::parse_start(request.headers(), request.uri().query())?;
    let view_permit = client.reserve_view().ok_or_else(Refusal::too_many_views)?;
    let subscription = loop_handle.listeners.subscribe(after);
    let subscription = subscription.ok_or_else(|| Refusal::of_answer(RequestAnswer::Crowded))?;
    loop_handle.wake_loop();
    let status = loop_handle.status().await.ok_or_else(node_end_refusal)?;
    let body = view::body(Arc::clone(loop_handle), subscription, view_permit, status);
    Ok(response_with_body(
        StatusCode::OK,
        "text/event-stream",
        body,
    ))
}
