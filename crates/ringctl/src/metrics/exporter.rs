//! `ringctl exporter`: an HTTP server for Prometheus. It asks the daemon at most once per request, and changes
//! nothing.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::help::EXPORTER;
use super::snapshot::Snapshot;
use crate::Error;

/// Maximum number of connections.
const CONNECTIONS_MAX: usize = 64;
/// Maximum time of a connection, from its beginning to the last byte of the answer. A client may have to wait for the
/// end of an earlier scrape before its own scrape begins.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after an error of the listener, such as too many open files.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// The format of the metrics, in the spelling of the OpenMetrics specification.
const OPENMETRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const PLAIN_TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PATH: &str = "/metrics";

/// Options of `ringctl exporter`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = EXPORTER)]
pub(crate) struct ExporterOptions {
    /// Listen at this IP address and port.
    ///
    /// Every program that can connect to this address can read the metrics, without a password. The default address
    /// accepts only programs of this machine.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    pub listen: SocketAddr,
}

/// Finds the socket of the daemon.
pub(crate) type FindSocket = dyn Fn() -> Result<PathBuf, Error> + Send + Sync;

/// Serves metrics until the process ends. Before each scrape, `find_socket` finds the daemon.
///
/// # Errors
/// Fails if several daemons run and the user did not choose one, or if the address cannot be used.
pub(crate) fn serve(address: SocketAddr, find_socket: Box<FindSocket>) -> anyhow::Result<()> {
    if let Err(error @ Error::Several { .. }) = find_socket() {
        return Err(error.into());
    }
    let failed = |reason| Error::Listen { address, reason };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(Error::System)?;
    report(&format!("serving http://{address}{PATH}"));
    let exporter = Exporter {
        find_socket,
        last: Mutex::new(None),
    };
    runtime
        .block_on(accept(listener, Arc::new(exporter)))
        .map_err(failed)?;
    Ok(())
}

/// Prints a line for the log of the service. If the line cannot be printed, the exporter continues.
fn report(text: &str) {
    let _ = writeln!(io::stderr(), "ringctl: {text}");
}

async fn accept(listener: TcpListener, exporter: Arc<Exporter>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, _)) => {
                let exporter = Arc::clone(&exporter);
                tokio::spawn(async move {
                    serve_connection(stream, exporter).await;
                    drop(place);
                });
            }
            Err(_) => sleep(ACCEPT_RETRY_INTERVAL).await,
        }
    }
}

async fn serve_connection(stream: TcpStream, exporter: Arc<Exporter>) {
    let service = service_fn(|request| {
        let exporter = Arc::clone(&exporter);
        async move { Ok::<_, Infallible>(exporter.respond(request).await) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    // If the client is too slow or the connection fails, the connection ends without an answer.
    let _ = timeout(CONNECTION_TIMEOUT, connection).await;
}

struct Exporter {
    find_socket: Box<FindSocket>,
    /// The last scrape. The mutex stays locked during a scrape, so that there is only one scrape at a time. The answers
    /// of a daemon with many locks are large.
    last: Mutex<Option<Scrape>>,
}

/// An answer of the daemon, or the reason why it did not answer.
struct Scrape {
    ended: Instant,
    text: String,
    /// The reason why the daemon did not answer.
    error: Option<String>,
}

impl Exporter {
    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.uri().path() != PATH {
            let text = format!("not found: the metrics are at {PATH}\n");
            return response(StatusCode::NOT_FOUND, PLAIN_TEXT, text);
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let text = "method not allowed: use GET\n".to_owned();
            let mut answer = response(StatusCode::METHOD_NOT_ALLOWED, PLAIN_TEXT, text);
            let allowed = HeaderValue::from_static("GET, HEAD");
            answer.headers_mut().insert(ALLOW, allowed);
            return answer;
        }
        response(StatusCode::OK, OPENMETRICS, self.scrape().await)
    }

    /// Returns the metrics. Asks the daemon, unless another scrape has asked it after the beginning of this request.
    async fn scrape(self: Arc<Self>) -> String {
        let arrived = Instant::now();
        let mut last = self.last.lock().await;
        if let Some(newer) = last.as_ref().filter(|it| it.ended >= arrived) {
            return newer.text.clone();
        }
        let exporter = Arc::clone(&self);
        // The thread of the HTTP server must not wait for a daemon.
        let asking = spawn_blocking(move || Snapshot::take((exporter.find_socket)()));
        let Ok(Snapshot { text, error }) = asking.await else {
            return String::new();
        };
        let error = error.map(|error| error.to_string());
        let last_error = last.as_ref().and_then(|it| it.error.as_ref());
        if last_error != error.as_ref() {
            report(error.as_deref().unwrap_or("the daemon answers again"));
        }
        let answer = text.clone();
        *last = Some(Scrape {
            ended: Instant::now(),
            text,
            error,
        });
        answer
    }
}

fn response(status: StatusCode, format: HeaderValue, text: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, format);
    answer
}
