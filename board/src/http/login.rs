//! The login. A browser logs in with a form, and then has a session in a cookie. A program sends the password with each
//! request, by HTTP Basic authentication.
//!
//! The node never asks for Basic authentication. So no browser stores the password, and no other site can make a
//! browser send it.

use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderValue, SET_COOKIE};
use hyper::{HeaderMap, Request, Response, StatusCode};
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use super::LoopHandle;
use super::clients::Client;
use super::input::{check_type, header};
use super::output::{Body, FORM_TYPE, Refusal, login_response, redirect_response};
use super::password::Password;
use super::routes::read_body;
use super::sessions::{SessionEnd, Sessions};
use crate::events;

/// The prefix of a cookie's name. A browser accepts such a cookie only from this host, by TLS.
const HOST_PREFIX: &str = "__Host-";

#[derive(Debug)]
pub(crate) struct Login {
    password: Arc<Password>,
    sessions: Sessions,
    /// The name of the cookie. It contains the node's id, because nodes on one address share their cookies.
    cookie: String,
    /// The attributes of the cookie.
    attributes: &'static str,
}

/// The sender of a request.
pub(super) enum Visitor {
    /// A browser with a session, or `None` for a program that knows the password.
    Known(Option<SessionEnd>),
    Stranger,
}

impl Login {
    /// Creates the login of the node with this id. `is_secure` is whether browsers reach the page by TLS.
    pub(crate) fn new(password: Password, id: u32, is_secure: bool) -> Self {
        let prefix = if is_secure { HOST_PREFIX } else { "" };
        Self {
            password: Arc::new(password),
            sessions: Sessions::default(),
            cookie: format!("{prefix}board-{id}"),
            attributes: if is_secure {
                "Path=/; HttpOnly; SameSite=Strict; Secure"
            } else {
                "Path=/; HttpOnly; SameSite=Strict"
            },
        }
    }

    pub(super) fn end_old_sessions(&self) {
        self.sessions.end_old(Instant::now());
    }

    /// Returns the ids of sessions in a request's cookies. Another program on this host may have added cookies with
    /// the same name.
    fn session_ids<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let lines = headers.get_all(COOKIE).into_iter();
        let cookies = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'));
        cookies.filter_map(|cookie| {
            let (name, id) = cookie.trim().split_once('=')?;
            (name == self.cookie).then_some(id)
        })
    }

    /// Finds out who sent a request. A person's request extends the session, a request that the page makes by itself
    /// does not.
    ///
    /// # Errors
    /// Returns a refusal if the request contains a wrong password.
    pub(super) async fn identify(
        &self,
        loop_handle: &Arc<LoopHandle>,
        client: &Client,
        headers: &HeaderMap,
        is_use: bool,
    ) -> Result<Visitor, Refusal> {
        if let Some(password) = basic_password(headers) {
            self.check(loop_handle, client, password).await?;
            return Ok(Visitor::Known(None));
        }
        let now = Instant::now();
        let mut ids = self.session_ids(headers);
        let session = ids.find_map(|id| self.sessions.find(id, is_use, now));
        Ok(session.map_or(Visitor::Stranger, |session| Visitor::Known(Some(session))))
    }

    /// Answers the form of the login. A login always begins a session with a new id.
    pub(super) async fn log_in(
        &self,
        loop_handle: &Arc<LoopHandle>,
        client: &Client,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Refusal> {
        check_type(request.headers(), FORM_TYPE)?;
        let old: Vec<_> = self
            .session_ids(request.headers())
            .map(str::to_owned)
            .collect();
        let body = read_body(request).await?;
        let mut fields = form_urlencoded::parse(&body);
        let password = fields.find_map(|(name, value)| (name == "password").then_some(value));
        let password = password.unwrap_or_default().as_bytes().to_vec();
        if let Err(refusal) = self.check(loop_handle, client, password).await {
            return Ok(login_response(Some(&refusal)));
        }
        let now = Instant::now();
        for id in old {
            self.sessions.end(&id, now);
        }
        let id = self.sessions.begin(now).map_err(|error| {
            let text = format!("cannot draw a random number: {error}; try again");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "unknown", text)
        })?;
        let address = client.address();
        info!(event = events::LOGGED_IN, client = %address, "a browser at {address} has logged in");
        let cookie = format!("{}={id}; {}", self.cookie, self.attributes);
        Ok(with_cookie(redirect_response("./"), &cookie))
    }

    /// Ends the session of a browser, and sends the browser to the login.
    pub(super) fn log_out(&self, headers: &HeaderMap) -> Response<Body> {
        for id in self.session_ids(headers) {
            self.sessions.end(id, Instant::now());
        }
        let cookie = format!("{}=; Max-Age=0; {}", self.cookie, self.attributes);
        with_cookie(redirect_response("login"), &cookie)
    }

    async fn check(
        &self,
        loop_handle: &Arc<LoopHandle>,
        client: &Client,
        password: Vec<u8>,
    ) -> Result<(), Refusal> {
        let clients = &loop_handle.clients;
        let counted = clients.count_login(client, Instant::now());
        counted.map_err(Refusal::too_many_logins)?;
        if self.password.is_known(&password) {
            clients.forgive_login(client, Instant::now());
            return Ok(());
        }
        let (loop_handle, own, client) = (
            Arc::clone(loop_handle),
            Arc::clone(&self.password),
            client.clone(),
        );
        // The worker finishes the check even if the client no longer waits. Otherwise a right password would count as
        // wrong.
        let check = spawn_blocking(move || {
            let is_right = own.verify(&password);
            let address = client.address();
            if is_right {
                loop_handle.clients.forgive_login(&client, Instant::now());
            } else {
                warn!(event = events::LOGIN_FAILED, client = %address, "a wrong password from {address}");
            }
            is_right
        });
        match check.await {
            Ok(true) => Ok(()),
            _ => Err(Refusal::wrong_password()),
        }
    }
}

/// Returns the password of a request with Basic authentication. The user name may be any text.
fn basic_password(headers: &HeaderMap) -> Option<Vec<u8>> {
    let (scheme, encoded) = header(headers, AUTHORIZATION)?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let mut pair = STANDARD.decode(encoded.trim()).unwrap_or_default();
    let colon = pair.iter().position(|&byte| byte == b':');
    // A malformed pair counts as a wrong password.
    Some(pair.split_off(colon.map_or(pair.len(), |at| at + 1)))
}

fn with_cookie(mut response: Response<Body>, cookie: &str) -> Response<Body> {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    response
}
