//! Connections, and what one may cost.

use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ringd::sys::nice;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::Semaphore;

use super::Counter;
use super::routes::{WHOLE, respond};

/// Connections at a time; others wait to be accepted.
const CONNECTIONS: usize = 512;
/// Bytes of a request's head, at most.
const HEAD: usize = 16_384;
/// After a connection could not be accepted, for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// The default nice value: the loop goes first.
const NICE: i32 = 0;
/// What is sent to who does not end the head of a request. The server's library says nothing itself.
const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n\
    content-length: 60\r\n\r\n{\"error\":\"late\",\"text\":\"the request was not whole in time\"}\n";

/// Serves requests in a thread of its own, until the process ends.
///
/// # Errors
/// The listener cannot be used, or there can be no thread.
pub fn start(listener: TcpListener, counter: Counter) -> io::Result<()> {
    listener.set_nonblocking(true)?;
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

async fn serve(listener: TcpListener, counter: Arc<Counter>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, _)) => {
                let counter = Arc::clone(&counter);
                tokio::spawn(async move {
                    converse(stream, counter).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn converse(stream: TcpStream, counter: Arc<Counter>) {
    let service = service_fn(|request| Box::pin(respond(Arc::clone(&counter), request)));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(WHOLE)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let ended = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    if ended.is_err_and(|error| error.is_timeout()) {
        let mut stream = connection.into_parts().io.into_inner();
        // Who has gone need not be told.
        let _ = stream.write_all(LATE).await;
    }
}
