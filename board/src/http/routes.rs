//! The paths, and the requests to each path.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use ring_proto::andrews::RequestAnswer;
use tokio::time::timeout;

use super::clients::{Client, ClientConnection};
use super::login::Visitor;
use super::output::{
    Body, HTML_TYPE, JSON_TYPE, Refusal, login_response, method_response, posts_response,
    redirect_response, refusal_response, response, response_with_body, written_response,
};
use super::sessions::SessionEnd;
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

/// The part of the page that ends a session. A page without a password does not have this part.
const LOGOUT: &str =
    "<form id=\"logout\" method=\"post\" action=\"logout\"><button>Log out</button></form>\n";

/// Answers a request.
pub(super) async fn respond(
    loop_handle: Arc<LoopHandle>,
    connection: Arc<ClientConnection>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let answer = answer(&loop_handle, &connection, request).await;
    Ok(answer.unwrap_or_else(|refusal| refusal_response(&refusal)))
}

async fn answer(
    loop_handle: &Arc<LoopHandle>,
    connection: &ClientConnection,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let (headers, rules) = (request.headers(), &loop_handle.rules);
    host::check(headers, request.version(), &rules.names)?;
    let path = request.uri().path().to_owned();
    let methods = methods(&path, rules.login.is_some()).ok_or_else(|| {
        let text = "there is nothing at this path; the page is at /";
        Refusal::new(StatusCode::NOT_FOUND, "not_found", text)
    })?;
    let is_post = request.method() == Method::POST;
    if !methods.split(", ").any(|it| it == request.method()) {
        return Ok(method_response(methods));
    }
    if is_post {
        input::check_origin(headers)?;
    }
    let client = client_of(loop_handle, connection, headers);
    // The login needs these files.
    match path.as_str() {
        "/board.js" => return Ok(response(StatusCode::OK, "text/javascript", SCRIPT)),
        "/live.js" => return Ok(response(StatusCode::OK, "text/javascript", LIVE)),
        "/board.css" => return Ok(response(StatusCode::OK, "text/css", STYLE)),
        _ => {}
    }
    let mut session = None;
    if let Some(login) = &rules.login {
        match path.as_str() {
            "/login" if is_post => return login.log_in(loop_handle, &client, request).await,
            "/login" => return Ok(login_response(None)),
            "/logout" => return Ok(login.log_out(headers)),
            _ => {}
        }
        let is_use = is_post || path == "/";
        match login
            .identify(loop_handle, &client, headers, is_use)
            .await?
        {
            Visitor::Known(end) => session = end,
            Visitor::Stranger if path == "/" => return Ok(redirect_response("login")),
            Visitor::Stranger => return Err(Refusal::no_login()),
        }
    }
    match path.as_str() {
        "/posts" if is_post => answer_post(loop_handle, &client, request).await,
        "/posts" => answer_read(loop_handle, &client, &request).await,
        "/ring" => answer_status(loop_handle).await,
        "/events" => answer_events(loop_handle, &client, session, &request).await,
        _ if rules.login.is_some() => Ok(response(StatusCode::OK, HTML_TYPE, PAGE)),
        _ => Ok(response(
            StatusCode::OK,
            HTML_TYPE,
            PAGE.replace(LOGOUT, ""),
        )),
    }
}

/// Returns the methods of a path, or `None` if there is no such path.
fn methods(path: &str, has_login: bool) -> Option<&'static str> {
    match path {
        "/posts" => Some("GET, POST"),
        "/login" if has_login => Some("GET, POST"),
        "/logout" if has_login => Some("POST"),
        "/" | "/board.js" | "/live.js" | "/board.css" | "/ring" | "/events" => Some("GET"),
        _ => None,
    }
}

/// Returns the client of a request. If a reverse proxy of this machine forwards the request, the client is not the
/// proxy.
fn client_of(
    loop_handle: &LoopHandle,
    connection: &ClientConnection,
    headers: &HeaderMap,
) -> Client {
    let peer = connection.client();
    let is_proxy = loop_handle.rules.is_behind_proxy && peer.address().is_loopback();
    match host::forwarded_address(headers).filter(|_| is_proxy) {
        Some(address) => loop_handle.clients.client(address, Instant::now()),
        None => peer.clone(),
    }
}

/// Reads the body of a request.
pub(super) async fn read_body(request: Request<Incoming>) -> Result<Bytes, Refusal> {
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
    Ok(body.to_bytes())
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
    client: &Client,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    input::check_type(request.headers(), JSON_TYPE)?;
    let body = read_body(request).await?;
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
    client: &Client,
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
    client: &Client,
    session: Option<SessionEnd>,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let after = input::parse_start(request.headers(), request.uri().query())?;
    let view_permit = client.reserve_view().ok_or_else(Refusal::too_many_views)?;
    let subscription = loop_handle.listeners.subscribe(after);
    let subscription = subscription.ok_or_else(|| Refusal::of_answer(RequestAnswer::Crowded))?;
    loop_handle.wake_loop();
    let status = loop_handle.status().await.ok_or_else(node_end_refusal)?;
    let body = view::body(
        Arc::clone(loop_handle),
        subscription,
        view_permit,
        session,
        status,
    );
    Ok(response_with_body(
        StatusCode::OK,
        "text/event-stream",
        body,
    ))
}

#[cfg(test)]
mod tests {
    use super::{LOGOUT, PAGE};

    #[test]
    fn only_a_page_with_a_password_has_a_logout() {
        assert_eq!(PAGE.matches(LOGOUT).count(), 1);
        assert!(!PAGE.replace(LOGOUT, "").contains("logout"));
    }
}
