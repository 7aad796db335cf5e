//! Connections, and what one may cost.

use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use ring_runtime::nice;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::Counter;
use super::clients::{CONNECTIONS, Visit};
use super::connection::Connection;
use super::routes::{WHOLE, respond};

/// Bytes of a request's head, at most.
pub(super) const HEAD: usize = 16_384;
/// Buffers of a connection. The kernel would let them grow to megabytes, which count for the unit, and it doubles these.
pub(super) const BUFFER: usize = 32 << 10;
/// The kernel gives up a client that acknowledges no byte, or takes no byte, for this time.
const SILENCE: Duration = Duration::from_secs(10);
/// After a connection could not be accepted, for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum connections that wait for a refused client to read the answer. Further ones are closed at once.
pub(super) const REFUSALS: usize = 32;
/// How long, and for how many bytes, the node waits for a client to stop sending after the last answer.
const FAREWELL: Duration = Duration::from_secs(1);
const UNREAD: u64 = 1 << 20;
/// The default nice value: the loop goes first.
const NICE: i32 = 0;
/// What is sent to who does not end the head of a request. The server's library says nothing itself.
const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n\
    content-length: 60\r\n\r\n{\"error\":\"late\",\"text\":\"the request was not whole in time\"}\n";
/// The answer to a client that has too many connections.
const GREEDY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nconnection: close\r\n\
    retry-after: 1\r\ncontent-length: 63\r\n\r\n{\"error\":\"rate\",\"text\":\"this client has too many connections\"}\n";

/// Serves requests in a thread of its own, until the process ends.
///
/// # Errors
/// The listener cannot be used, or there can be no thread.
pub(crate) fn start(listener: TcpListener, counter: Counter) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    prepare(&listener)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    thread::Builder::new()
        .name("http".to_owned())
        .spawn(move || {
            // Without the right to it is as urgent as the loop.
            let _ = nice::at_least(NICE);
            runtime.block_on(serve(listener, Arc::new(counter)))
        })?;
    Ok(())
}

/// Sets the options that the connections of a listener inherit.
fn prepare(listener: &TcpListener) -> io::Result<()> {
    let socket = SockRef::from(listener);
    socket.set_send_buffer_size(BUFFER)?;
    socket.set_recv_buffer_size(BUFFER)?;
    let period = SILENCE / 2;
    let asks = TcpKeepalive::new().with_time(period).with_interval(period);
    socket.set_tcp_keepalive(&asks)?;
    socket.set_tcp_user_timeout(Some(SILENCE))
}

async fn serve(listener: TcpListener, counter: Arc<Counter>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, address)) => {
                let Some(visit) = counter.clients.admit(address.ip(), Instant::now()) else {
                    refuse(stream, &refusals);
                    continue;
                };
                let counter = Arc::clone(&counter);
                tokio::spawn(async move {
                    converse(stream, counter, Arc::new(visit)).await;
                    drop(place);
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Answers a client that has too many connections. Its place is free for other clients at once.
fn refuse(stream: TcpStream, refusals: &Arc<Semaphore>) {
    // The buffer of a new socket has room for it. A client that has gone need not hear it.
    let _ = SockRef::from(&stream).send(GREEDY);
    if let Ok(place) = Arc::clone(refusals).try_acquire_owned() {
        tokio::spawn(async move {
            close(stream).await;
            drop(place);
        });
    }
}

/// Closes a connection after its last answer. If the kernel closes a socket whose input is not read, it sends a reset, and many
/// clients discard an answer that they have not read before a reset. Therefore the node reads the rest first.
async fn close(mut stream: TcpStream) {
    let rest = async {
        stream.shutdown().await?;
        copy(&mut stream.take(UNREAD), &mut sink()).await
    };
    // A client that sends on has had its time.
    let _ = timeout(FAREWELL, rest).await;
}

async fn converse(stream: TcpStream, counter: Arc<Counter>, visit: Arc<Visit>) {
    let service = service_fn(|request| {
        let (counter, visit) = (Arc::clone(&counter), Arc::clone(&visit));
        Box::pin(respond(counter, visit, request))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(WHOLE)
        .max_buf_size(HEAD)
        .serve_connection(Connection::new(stream), service);
    let ended = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    let mut stream = connection.into_parts().io.into_stream();
    if ended.is_err_and(|error| error.is_timeout()) {
        // Who has gone need not be told.
        let _ = stream.write_all(LATE).await;
    }
    close(stream).await;
}
