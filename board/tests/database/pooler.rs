//! A pooler of transactions before a PostgreSQL server: after each transaction a client has another session.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// The name of a server's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";
/// The request for TLS, by its number.
const TLS: [u8; 4] = 80_877_103_u32.to_be_bytes();
/// Sessions that a client has in turn.
const SESSIONS: usize = 2;

/// One that runs as long as the test does.
#[derive(Debug)]
pub(crate) struct Pooler {
    folder: TempDir,
    database: String,
    changes: Arc<AtomicUsize>,
}

impl Pooler {
    /// One before the server of a URL.
    pub(crate) fn before(url: &str) -> Result<Self> {
        let (place, database) = url.rsplit_once('/').context("it names a database")?;
        let (user, server) = place.rsplit_once('@').context("it names a server")?;
        let server = format!("{}/{SOCKET}", server.replace("%2F", "/"));
        let folder = tempfile::tempdir()?;
        let listener = UnixListener::bind(folder.path().join(SOCKET))?;
        let changes = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&changes);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, count) = (server.clone(), Arc::clone(&count));
                // A client that goes away ends it.
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

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        let (user, database) = self.database.split_once(' ').unwrap_or_default();
        format!("postgres://{user}@{folder}/{database}")
    }

    /// How often a client has got another session.
    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }
}

fn serve(mut client: UnixStream, server: &str, changes: &AtomicUsize) -> Result<()> {
    let mut start = untyped(&mut client)?;
    if start.get(4..8) == Some(&TLS) {
        client.write_all(b"N")?;
        start = untyped(&mut client)?;
    }
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        let mut session = UnixStream::connect(server)?;
        session.write_all(&start)?;
        let (said, _) = until_ready(&mut session)?;
        if number == 0 {
            client.write_all(&said)?;
        }
        sessions.push(session);
    }
    loop {
        for session in &mut sessions {
            loop {
                let mut asked = Vec::new();
                // A statement, or several messages up to a Sync.
                while !matches!(asked.last(), Some(b'Q' | b'S')) {
                    let (kind, message) = typed(&mut client)?;
                    session.write_all(&message)?;
                    asked.push(kind);
                }
                let (said, state) = until_ready(session)?;
                client.write_all(&said)?;
                if state == b'I' {
                    break;
                }
            }
            changes.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What a server says until it waits for the next statement, and in which state.
fn until_ready(session: &mut UnixStream) -> Result<(Vec<u8>, u8)> {
    let mut said = Vec::new();
    loop {
        let (kind, message) = typed(session)?;
        said.extend_from_slice(&message);
        if kind == b'Z' {
            let state = *message.last().context("a state")?;
            return Ok((said, state));
        }
    }
}

/// A message of the start: its length, and what follows.
fn untyped(from: &mut UnixStream) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let count = u32::from_be_bytes(length) as usize;
    ensure!((4..1 << 20).contains(&count), "{count} bytes");
    let mut message = vec![0; count];
    message[..4].copy_from_slice(&length);
    from.read_exact(&mut message[4..])?;
    Ok(message)
}

fn typed(from: &mut UnixStream) -> Result<(u8, Vec<u8>)> {
    let mut kind = [0];
    from.read_exact(&mut kind)?;
    let mut message = kind.to_vec();
    message.extend(untyped(from)?);
    Ok((kind[0], message))
}
