//! Clients that each request a name, release it and request it again. Each client has at most one unanswered request.
//! One thread drives all clients.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::median::median;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) trait Exchange {
    /// Requests a name exclusively.
    fn request(&mut self, name: &str) -> Result<()>;

    fn release(&mut self, name: &str) -> Result<()>;

    /// Checks whether the answer to the last request has arrived. Does not wait.
    fn poll(&mut self) -> Result<bool>;

    fn wait(&mut self) -> Result<()> {
        let began = Instant::now();
        while !self.poll()? {
            ensure!(began.elapsed() < ANSWER_TIMEOUT, "no answer");
        }
        Ok(())
    }
}

pub(crate) struct Figures {
    pub grants: u64,
    /// Duration of the measurement. The grants happened during this time.
    pub took: Duration,
    pub median: Duration,
}

/// Makes all clients request and release their names for some time.
pub(crate) fn measure<E: Exchange>(clients: &mut [E], time: Duration) -> Result<Figures> {
    let names: Vec<String> = (0..clients.len()).map(|at| format!("key{at:05}")).collect();
    let began = Instant::now();
    // Time of each client's request, or `None` while the client releases its name.
    let mut requested = Vec::with_capacity(clients.len());
    for (client, name) in clients.iter_mut().zip(&names) {
        requested.push(Some(Instant::now()));
        client.request(name)?;
    }
    let mut times = Vec::new();
    while began.elapsed() < time {
        for ((client, name), since) in clients.iter_mut().zip(&names).zip(&mut requested) {
            if !client.poll()? {
                continue;
            }
            if let Some(since) = since.take() {
                times.push(since.elapsed());
                client.release(name)?;
            } else {
                *since = Some(Instant::now());
                client.request(name)?;
            }
        }
    }
    let took = began.elapsed();
    // Releases the held names, so that the next measurement can use them.
    for ((client, name), since) in clients.iter_mut().zip(&names).zip(&requested) {
        client.wait()?;
        if since.is_some() {
            client.release(name)?;
            client.wait()?;
        }
    }
    let grants = times.len() as u64;
    Ok(Figures {
        grants,
        took,
        median: median(times),
    })
}

/// Connection on which answers arrive in the order of the requests.
struct Stream {
    stream: TcpStream,
    buf: Vec<u8>,
}

impl Stream {
    fn connect(to: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let buf = Vec::new();
        Ok(Self { stream, buf })
    }

    fn send(&mut self, text: &str) -> Result<()> {
        self.buf.clear();
        // A short request fits into the kernel's buffer, so this write does not block.
        Ok(self.stream.write_all(text.as_bytes())?)
    }

    /// Returns the bytes received since the last request.
    fn next_message(&mut self) -> Result<&str> {
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => bail!("the connection was closed"),
            Ok(len) => self.buf.extend_from_slice(&chunk[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        Ok(std::str::from_utf8(&self.buf)?)
    }
}

/// `SET name … NX` and `DEL name`.
pub(crate) struct Redis(Stream);

impl Redis {
    pub(crate) fn connect(to: SocketAddr) -> Result<Self> {
        Ok(Self(Stream::connect(to)?))
    }
}

impl Exchange for Redis {
    fn request(&mut self, name: &str) -> Result<()> {
        let len = name.len();
        self.0.send(&format!(
            "*4\r\n$3\r\nSET\r\n${len}\r\n{name}\r\n$1\r\n1\r\n$2\r\nNX\r\n"
        ))
    }

    fn release(&mut self, name: &str) -> Result<()> {
        let len = name.len();
        self.0
            .send(&format!("*2\r\n$3\r\nDEL\r\n${len}\r\n{name}\r\n"))
    }

    fn poll(&mut self) -> Result<bool> {
        let answer = self.0.next_message()?;
        if !answer.ends_with("\r\n") {
            return Ok(false);
        }
        ensure!(
            matches!(answer, "+OK\r\n" | ":1\r\n"),
            "unexpected answer {answer}"
        );
        Ok(true)
    }
}

/// A transaction that creates a missing key, and the deletion of the key, through the HTTP gateway. Names contain only
/// letters and digits. The length of a name is a multiple of four, so each name is valid Base64.
pub(crate) struct Etcd(Stream);

impl Etcd {
    pub(crate) fn connect(to: SocketAddr) -> Result<Self> {
        Ok(Self(Stream::connect(to)?))
    }

    fn post(&mut self, path: &str, body: &str) -> Result<()> {
        let len = body.len();
        self.0.send(&format!(
            "POST /v3/{path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {len}\r\n\r\n{body}"
        ))
    }

    /// Returns the body of the answer if it is complete.
    fn answer(&mut self) -> Result<Option<&str>> {
        let Some((head, body)) = self.0.next_message()?.split_once("\r\n\r\n") else {
            return Ok(None);
        };
        ensure!(
            head.starts_with("HTTP/1.1 200"),
            "unexpected answer {head}: {body}"
        );
        let mut lines = head.lines();
        let len = lines.find_map(|line| line.strip_prefix("Content-Length: "));
        let len: usize = len.context("the answer has no length")?.parse()?;
        Ok((body.len() >= len).then_some(body))
    }

    pub(crate) fn leads(&mut self) -> Result<bool> {
        self.post("maintenance/status", "{}")?;
        let began = Instant::now();
        loop {
            if let Some(body) = self.answer()? {
                let status: serde_json::Value = serde_json::from_str(body)?;
                return Ok(status["leader"] == status["header"]["member_id"]);
            }
            ensure!(began.elapsed() < ANSWER_TIMEOUT, "no answer");
        }
    }
}

impl Exchange for Etcd {
    fn request(&mut self, name: &str) -> Result<()> {
        let compare = format!(
            r#"{{"key":"{name}","target":"CREATE","create_revision":"0","result":"EQUAL"}}"#
        );
        let put = format!(r#"{{"request_put":{{"key":"{name}","value":"MQ=="}}}}"#);
        let body = format!(r#"{{"compare":[{compare}],"success":[{put}]}}"#);
        self.post("kv/txn", &body)
    }

    fn release(&mut self, name: &str) -> Result<()> {
        self.post("kv/deleterange", &format!(r#"{{"key":"{name}"}}"#))
    }

    fn poll(&mut self) -> Result<bool> {
        let Some(body) = self.answer()? else {
            return Ok(false);
        };
        let is_done = body.contains(r#""succeeded":true"#) || body.contains(r#""deleted":"1""#);
        ensure!(is_done, "unexpected answer {body}");
        Ok(true)
    }
}
