//! Connections and their limits.

use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::LoopHandle;
use super::clients::{CONNECTIONS_MAX, ClientConnection};
use super::connection::Connection;
use super::routes::{REQUEST_TIMEOUT, respond};

/// Maximum bytes of a request's head.
pub(super) const HEAD_BYTES_MAX: usize = 16_384;
/// The size of each buffer of a connection. The kernel doubles the size. Without this limit, the buffers could grow to
/// megabytes. Their memory counts towards the memory limit of the unit.
pub(super) const SOCKET_BUFFER_BYTES: usize = 32 << 10;
/// If a client acknowledges no byte, or takes no byte, during this time, the kernel closes the connection.
const CLIENT_SILENCE_MAX: Duration = Duration::from_secs(10);
/// The pause of the server after it found no free descriptor for a new connection.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// The server keeps a refused connection until the client has read the server's answer. The constant is the maximum
/// number of such connections. The server closes any further refused connection at once.
pub(super) const REFUSALS_MAX: usize = 32;
/// The maximum time after the last answer during which the node waits until the client stops sending.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum number of bytes that the node reads and discards after its last answer.
const UNREAD_BYTES_MAX: u64 = 1 << 20;
/// The answer to a client that does not complete the head of a request in time. The HTTP library does not send such an
/// answer itself.
const TIMEOUT_RESPONSE: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\n\
    connection: close\r\ncontent-length: 63\r\n\r\n\
    {\"error\":\"late\",\"text\":\"the request was not complete in time\"}\n";
/// The answer to a client that has too many connections.
const TOO_MANY_CONNECTIONS_RESPONSE: &[u8] =
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\n\
    connection: close\r\nretry-after: 1\r\ncontent-length: 63\r\n\r\n\
    {\"error\":\"rate\",\"text\":\"this client has too many connections\"}\n";

/// Starts a thread that serves requests until the process ends. The thread does not inherit the loop's priority.
///
/// # Errors
/// Returns an error if the listener cannot be used, or if the thread cannot start.
pub(crate) fn start(listener: TcpListener, loop_handle: LoopHandle) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    set_socket_options(&listener)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        // One thread checks passwords, because a check uses much memory.
        .max_blocking_threads(1)
        .build()?;
    thread::Builder::new()
        .name("http".to_owned())
        .spawn(move || runtime.block_on(serve(listener, Arc::new(loop_handle))))?;
    Ok(())
}

/// Sets the options that the connections of a listener inherit.
fn set_socket_options(listener: &TcpListener) -> io::Result<()> {
    let socket = SockRef::from(listener);
    socket.set_send_buffer_size(SOCKET_BUFFER_BYTES)?;
    socket.set_recv_buffer_size(SOCKET_BUFFER_BYTES)?;
    let period = CLIENT_SILENCE_MAX / 2;
    let asks = TcpKeepalive::new().with_time(period).with_interval(period);
    socket.set_tcp_keepalive(&asks)?;
    socket.set_tcp_user_timeout(Some(CLIENT_SILENCE_MAX))
}

async fn serve(listener: TcpListener, loop_handle: Arc<LoopHandle>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, address)) => {
                let Some(client) = loop_handle.clients.admit(address.ip(), Instant::now()) else {
                    refuse_connection(stream, &refusals);
                    continue;
                };
                let loop_handle = Arc::clone(&loop_handle);
                tokio::spawn(async move {
                    serve_connection(stream, loop_handle, Arc::new(client)).await;
                    drop(place);
                });
            }
            Err(_) => sleep(ACCEPT_RETRY_INTERVAL).await,
        }
    }
}

/// Tells a client that it has too many connections. Other clients can use the slot of the connection at once.
fn refuse_connection(stream: TcpStream, refusals: &Arc<Semaphore>) {
    // The answer fits into the buffer of a new socket. If the client has disconnected, it does not need the answer.
    let _ = SockRef::from(&stream).send(TOO_MANY_CONNECTIONS_RESPONSE);
    if let Ok(place) = Arc::clone(refusals).try_acquire_owned() {
        tokio::spawn(async move {
            drain_and_close(stream).await;
            drop(place);
        });
    }
}

/// Closes a connection after its last answer. First reads the remaining input. If bytes from the client stayed unread,
/// the kernel would send a reset. Many clients discard an unread answer when a reset arrives.
async fn drain_and_close(mut stream: TcpStream) {
    let rest = async {
        stream.shutdown().await?;
        copy(&mut stream.take(UNREAD_BYTES_MAX), &mut sink()).await
    };
    // If the client does not stop sending, the connection is closed anyway.
    let _ = timeout(CLOSE_TIMEOUT, rest).await;
}

async fn serve_connection(
    stream: TcpStream,
    loop_handle: Arc<LoopHandle>,
    client: Arc<ClientConnection>,
) {
    let service = service_fn(|request| {
        let (loop_handle, client) = (Arc::clone(&loop_handle), Arc::clone(&client));
        Box::pin(respond(loop_handle, client, request))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(Connection::new(stream), service);
    let ended = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    let mut stream = connection.into_parts().io.into_stream();
    if ended.is_err_and(|error| error.is_timeout()) {
        // If the client has gone, the answer is not needed.
        let _ = stream.write_all(TIMEOUT_RESPONSE).await;
    }
    drain_and_close(stream).await;
}
