//! A connection that ends if its client stops reading.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// The maximum time in which the kernel must accept all bytes of an answer, or of one event of a live view.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Connection {
    stream: TokioIo<TcpStream>,
    /// The time limit of the present write. At the limit, the connection ends, unless the kernel has accepted all
    /// bytes.
    limit: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream: TokioIo::new(stream),
            limit: None,
        }
    }

    /// Returns the stream with no time limit.
    pub(super) fn into_stream(self) -> TcpStream {
        self.stream.into_inner()
    }

    fn apply_limit(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            return written;
        }
        let limit = self
            .limit
            .get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        ready!(limit.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl Read for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.apply_limit(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.apply_limit(context, written)
    }

    /// Ends the time limit. The server calls this function when it has written all bytes.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.limit = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::{ErrorKind, Read};
    use std::pin::Pin;
    use std::time::Duration;

    use hyper::rt::Write;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::runtime::Builder;
    use tokio::time::Instant;

    use super::{Connection, WRITE_TIMEOUT};

    /// Writes `parts` parts to a client that reads only the first `reads` parts. Returns the error of the write, or
    /// `None` if the write succeeds.
    async fn write(parts: usize, reads: usize) -> Option<ErrorKind> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let mut client = client.unwrap().into_std().unwrap();
        client.set_nonblocking(false).unwrap();
        let mut connection = Connection::new(accepted.unwrap().0);
        let mut part = vec![0; 1 << 16];
        for at in 0..parts {
            let mut rest = part.len();
            while rest > 0 {
                let wrote = poll_fn(|context| {
                    Pin::new(&mut connection).poll_write(context, &vec![0; rest])
                });
                match wrote.await {
                    Ok(count) => rest -= count,
                    Err(error) => return Some(error.kind()),
                }
            }
            let flushed = poll_fn(|context| Pin::new(&mut connection).poll_flush(context));
            flushed.await.unwrap();
            if at < reads {
                client.read_exact(&mut part).unwrap();
            }
        }
        None
    }

    #[test]
    fn a_client_that_does_not_read_is_given_up_and_one_that_reads_is_not() {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let start = Instant::now();
            // These are more bytes than the kernel accepts for a client that does not read.
            assert_eq!(write(1_024, 1_024).await, None);
            assert_eq!(start.elapsed(), Duration::ZERO);
            assert_eq!(write(1_024, 0).await, Some(ErrorKind::TimedOut));
            let took = start.elapsed();
            assert!(
                took >= WRITE_TIMEOUT && took < 2 * WRITE_TIMEOUT,
                "{took:?}"
            );
        });
    }
}
