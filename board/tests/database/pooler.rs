//! A transaction pooler in front of a PostgreSQL server. The pooler gives a client a different session after each
//! transaction.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// The name of a server's socket.
const SOCKET: &str = ".s.PGSQL.5432";
/// The number of a request for TLS.
const TLS: [u8; 4] = 80_877_103_u32.to_be_bytes();
/// The number of sessions that a client uses in turn.
const SESSIONS: usize = 2;

/// A pooler. It runs until the test ends.
#[derive(Debug)]
pub(crate) struct Pooler {
    folder: TempDir,
    database: String,
    changes: Arc<AtomicUsize>,
}

impl Pooler {
    pub(crate) fn in_front_of(url: &str) -> Result<Self> {
        let (address, database) = url.rsplit_once('/').context("it names a database")?;
        let (user, server) = address.rsplit_once('@').context("it names a server")?;
        let server = format!("{}/{SOCKET}", server.replace("%2F", "/"));
        let folder = tempfile::tempdir()?;
        let listener = UnixListener::bind(folder.path().join(SOCKET))?;
        let changes = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&changes);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, count) = (server.clone(), Arc::clone(&count));
                // The thread ends when the client closes its connection.
                thread::spawn(move || drop(serve(client, &server, &count)));
            }
        });
        let user = user.rsplit('/').next().unwrap_or_default();
        let database = format!("{user} {database}");
        Ok(Self {
            folder,
            database,
            changes,
        })
    }

    pub(crate) fn url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        let (user, database) = self.database.split_once(' ').unwrap_or_default();
        format!("postgres://{user}@{folder}/{database}")
    }

    /// Returns the number of times that a client got a different session.
    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }
}

fn serve(mut client: UnixStream, server: &str, changes: &AtomicUsize) -> Result<()> {
    let mut start = read_untyped(&mut client)?;
    if start.get(4..8) == Some(&TLS) {
        client.write_all(b"N")?;
        start = read_untyped(&mut client)?;
    }
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        let mut session = UnixStream::connect(server)?;
        session.write_all(&start)?;
        let (reply, _) = read_until_ready(&mut session)?;
        if number == 0 {
            client.write_all(&reply)?;
        }
        sessions.push(session);
    }
    loop {
        for session in &mut sessions {
            loop {
                let mut kinds = Vec::new();
                // A message is a statement, or a sequence of messages up to a Sync.
                while !matches!(kinds.last(), Some(b'Q' | b'S')) {
                    let (kind, message) = read_typed(&mut client)?;
                    session.write_all(&message)?;
                    kinds.push(kind);
                }
                let (reply, state) = read_until_ready(session)?;
                client.write_all(&reply)?;
                if state == b'I' {
                    break;
                }
            }
            changes.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Reads the server's answer to its end. Returns the bytes of the answer, and the state of the transaction.
fn read_until_ready(session: &mut UnixStream) -> Result<(Vec<u8>, u8)> {
    let mut reply = Vec::new();
    loop {
        let (kind, message) = read_typed(session)?;
        reply.extend_from_slice(&message);
        if kind == b'Z' {
            let state = *message.last().context("a state")?;
            return Ok((reply, state));
        }
    }
}

/// Reads a message that does not begin with a type. The protocol uses such messages only at the start of a connection.
/// Returns the length and the content of the message.
fn read_untyped(from: &mut UnixStream) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let count = u32::from_be_bytes(length) as usize;
    ensure!((4..1 << 20).contains(&count), "{count} bytes");
    let mut message = vec![0; count];
    message[..4].copy_from_slice(&length);
    from.read_exact(&mut message[4..])?;
    Ok(message)
}

fn read_typed(from: &mut UnixStream) -> Result<(u8, Vec<u8>)> {
    let mut kind = [0];
    from.read_exact(&mut kind)?;
    let mut message = kind.to_vec();
    message.extend(read_untyped(from)?);
    Ok((kind[0], message))
}
