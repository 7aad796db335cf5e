use ring_control::{Grant, NoRequest, REQUEST_LEN_MAX, Reply, monitor_socket_path};
use ring_proto::time::Instant;
use ring_runtime::net::ancillary;

use super::{ACCEPTS_PER_ROUND, ClientLimits, Program, Server};
use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

mod monitor;

type Request = ring_control::Request<NoRequest>;

const MAX_CLIENTS: usize = 64;
const MAX_MONITORS: usize = 3;
/// A number of bytes that a socket cannot take while its peer does not read.
const LONG_REPLY_LEN: usize = 400_000;
const STATUS: &[u8] = b"{\"request\":\"status\"}\n";

/// A server with a clock that the test controls.
struct Rig {
    server: Server,
    path: PathBuf,
    /// Time of the clock. The time advances only by the test, and by answers that cost time.
    now: Cell<Instant>,
    /// Number of status requests.
    answers: usize,
    reply: String,
    _directory: TempDir,
}

impl Rig {
    fn new(reply: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        Self {
            server: Server::listen(
                Program("ringd"),
                &path,
                ClientLimits {
                    control: MAX_CLIENTS,
                    monitor: MAX_MONITORS,
                },
            )
            .unwrap(),
            path,
            now: Cell::new(Instant::from_nanos(1_000_000_000_000)),
            answers: 0,
            reply: reply.to_owned(),
            _directory: directory,
        }
    }

    fn connect(&self) -> UnixStream {
        Self::connect_to(&self.path)
    }

    fn connect_monitor(&self) -> UnixStream {
        Self::connect_to(&monitor_socket_path(&self.path))
    }

    fn connect_to(path: &Path) -> UnixStream {
        let client = UnixStream::connect(path).unwrap();
        client.set_nonblocking(true).unwrap();
        client
    }

    /// Serves one round. The round begins at the time `later` after the previous round. It does not begin before the
    /// end of the server's pause.
    fn run_round(&mut self, later: Duration) {
        let due = self.server.resume().unwrap_or_default();
        self.now.set((self.now.get() + later).max(due));
        self.serve(Duration::ZERO);
    }

    /// Serves one round at the current time. Each answer costs the server the time `cost`.
    fn serve(&mut self, cost: Duration) {
        let (now, answers, reply) = (&self.now, &mut self.answers, &self.reply);
        self.server.serve(
            now.get(),
            true,
            || now.get(),
            |_, request: Request, _| {
                assert_eq!(request, Request::Status);
                *answers += 1;
                now.set(now.get() + cost);
                Some(Reply::Error(reply.clone()))
            },
        );
    }

    fn run_rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.run_round(Duration::from_millis(10));
        }
    }
}

/// Returns the received text, and whether the server closed the connection.
fn take(mut client: &UnixStream) -> (String, bool) {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        match client.read(&mut part) {
            Ok(0) => return (String::from_utf8(bytes).unwrap(), true),
            Ok(len) => bytes.extend_from_slice(&part[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return (String::from_utf8(bytes).unwrap(), false);
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                return (String::from_utf8(bytes).unwrap(), true);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Closes a client's connection in all processes. Dropping the connection is not enough, because another test may start
/// a process at this moment. This process may get a copy of the descriptor.
fn close_for_good(client: &UnixStream) {
    client.shutdown(Shutdown::Both).unwrap();
}

fn is_served(rig: &mut Rig) -> bool {
    let mut client = rig.connect();
    client.write_all(STATUS).unwrap();
    rig.run_rounds(2);
    take(&client).0 == format!("{{\"error\":\"{}\"}}\n", rig.reply)
}

#[test]
fn a_removed_socket_is_made_again_and_its_clients_stay() {
    let mut rig = Rig::new("fine");
    let mut before = rig.connect();
    rig.run_rounds(2);
    for _ in 0..2 {
        std::fs::remove_file(&rig.path).unwrap();
        rig.server.check_sockets();
        rig.server.check_sockets();
        let mut after = rig.connect();
        for client in [&mut before, &mut after] {
            client.write_all(STATUS).unwrap();
            rig.run_rounds(3);
            assert!(client.read(&mut [0; 100]).unwrap() > 0);
        }
    }
}

#[test]
fn a_file_that_replaced_the_socket_is_kept() {
    let mut rig = Rig::new("fine");
    std::fs::remove_file(&rig.path).unwrap();
    std::fs::write(&rig.path, "theirs").unwrap();
    rig.server.check_sockets();
    assert_eq!(std::fs::read(&rig.path).unwrap(), b"theirs");
    std::fs::remove_file(&rig.path).unwrap();
    rig.server.check_sockets();
    rig.connect();
}

#[test]
fn one_request_after_the_other_is_answered() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    for _ in 0..3 {
        client.write_all(STATUS).unwrap();
        rig.run_rounds(2);
        assert_eq!(take(&client), ("{\"error\":\"fine\"}\n".to_owned(), false));
    }
}

#[test]
fn an_invalid_request_gets_an_error_and_the_next_one_an_answer() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    client.write_all(b"{\"request\":7}\n").unwrap();
    rig.run_rounds(2);
    assert!(take(&client).0.contains("unknown message"));
    client.write_all(STATUS).unwrap();
    rig.run_rounds(1);
    assert_eq!(take(&client).0, "{\"error\":\"fine\"}\n");
    assert_eq!(rig.answers, 1);
}

#[test]
fn requests_that_come_together_are_answered_one_per_round() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    client.write_all(&STATUS.repeat(100)).unwrap();
    rig.run_rounds(2);
    assert!(rig.answers <= 2);
    let mut text = String::new();
    for _ in 0..100 {
        rig.run_rounds(1);
        text += &take(&client).0;
    }
    assert_eq!(text.lines().count(), 100);
    client.shutdown(Shutdown::Write).unwrap();
    rig.run_rounds(1);
    assert!(take(&client).1);
}

#[test]
fn clients_that_ask_in_one_round_share_one_answer() {
    let mut rig = Rig::new("fine");
    let clients: Vec<_> = (0..ACCEPTS_PER_ROUND).map(|_| rig.connect()).collect();
    rig.run_rounds(1);
    for mut client in &clients {
        client.write_all(STATUS).unwrap();
    }
    rig.run_rounds(1);
    assert!(clients.iter().all(|client| !take(client).0.is_empty()));
    assert_eq!(rig.answers, 1);
}

#[test]
fn a_line_without_end_is_refused() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    client.write_all(&[b'x'; REQUEST_LEN_MAX]).unwrap();
    rig.run_rounds(3);
    let (text, closed) = take(&client);
    assert!(text.contains("4096 bytes"), "{text}");
    assert!(closed);
    assert!(is_served(&mut rig));
}

#[test]
fn one_client_too_many_gets_an_error_and_the_others_stay() {
    let mut rig = Rig::new("fine");
    let mut clients = Vec::new();
    for _ in 0..MAX_CLIENTS / ACCEPTS_PER_ROUND {
        clients.extend((0..ACCEPTS_PER_ROUND).map(|_| rig.connect()));
        rig.run_rounds(1);
    }
    let refused = rig.connect();
    rig.run_rounds(1);
    let (text, closed) = take(&refused);
    assert!(text.contains("try again") && closed, "{text}");
    assert!(
        clients
            .iter()
            .all(|client| take(client) == (String::new(), false))
    );
    clients.iter().for_each(close_for_good);
    rig.run_rounds(MAX_CLIENTS / ACCEPTS_PER_ROUND);
    assert!(is_served(&mut rig));
}

#[test]
fn a_client_without_a_whole_request_is_closed() {
    let mut rig = Rig::new("fine");
    let (silent, mut dripping) = (rig.connect(), rig.connect());
    rig.run_rounds(1);
    for _ in 0..4 {
        dripping.write_all(b"x").unwrap();
        rig.run_round(Duration::from_secs(1));
    }
    assert!(!take(&silent).1 && !take(&dripping).1);
    rig.run_round(Duration::from_secs(2));
    assert!(take(&silent).1 && take(&dripping).1);
}

#[test]
fn a_client_that_never_reads_is_closed_and_does_no_harm() {
    let mut rig = Rig::new(&"x".repeat(LONG_REPLY_LEN));
    let mut lazy = rig.connect();
    lazy.write_all(&STATUS.repeat(10)).unwrap();
    rig.run_rounds(5);
    assert_eq!(rig.answers, 1, "no second reply before the first is taken");
    rig.reply = "fine".to_owned();
    assert!(is_served(&mut rig));
    rig.run_round(Duration::from_secs(6));
    let (text, closed) = take(&lazy);
    assert!(text.len() < LONG_REPLY_LEN && closed, "{}", text.len());
}

#[test]
fn a_long_reply_is_written_as_it_is_taken() {
    let mut rig = Rig::new(&"x".repeat(LONG_REPLY_LEN));
    let mut client = rig.connect();
    client.write_all(STATUS).unwrap();
    let mut text = String::new();
    for _ in 0..1000 {
        rig.run_rounds(1);
        text += &take(&client).0;
        if text.ends_with('\n') {
            break;
        }
    }
    assert_eq!(text.len(), LONG_REPLY_LEN + "{\"error\":\"\"}\n".len());
}

#[test]
fn a_client_that_is_gone_is_forgotten() {
    let mut rig = Rig::new(&"x".repeat(LONG_REPLY_LEN));
    for _ in 0..3 * ACCEPTS_PER_ROUND {
        let mut client = rig.connect();
        client.write_all(STATUS).unwrap();
        rig.run_rounds(1);
        close_for_good(&client);
        rig.run_rounds(1);
    }
    assert_eq!(rig.server.clients.iter().flatten().count(), 0);
}

#[test]
fn long_work_is_followed_by_a_pause() {
    let mut rig = Rig::new("slow");
    let mut client = rig.connect();
    client.write_all(STATUS).unwrap();
    let busy = Duration::from_millis(2);
    // The first round accepts the client, and the second round answers it.
    rig.serve(busy);
    rig.serve(busy);
    assert_eq!(take(&client).0, "{\"error\":\"slow\"}\n");
    let resume = rig.server.resume().unwrap();
    assert!(resume.since(rig.now.get()) > busy * 3);
    client.write_all(STATUS).unwrap();
    rig.now.set(resume.before(Duration::from_nanos(1)));
    rig.serve(busy);
    assert_eq!(
        take(&client).0,
        "",
        "the server does not answer before the pause is over"
    );
    rig.now.set(resume);
    rig.serve(busy);
    assert_eq!(take(&client).0, "{\"error\":\"slow\"}\n");
}

#[test]
fn busy_clients_get_a_tenth_of_the_time() {
    let mut rig = Rig::new("fine");
    let mut clients: Vec<_> = (0..4).map(|_| rig.connect()).collect();
    let (start, mut used, mut served) = (rig.now.get(), Duration::ZERO, 0);
    while rig.now.get().since(start) < Duration::from_millis(500) {
        for client in &mut clients {
            // The client sends as much as its socket takes, and reads the replies.
            while client.write_all(STATUS).is_ok() {}
            served += take(client).0.lines().count();
        }
        let before = rig.now.get();
        rig.serve(Duration::from_micros(300));
        used += rig.now.get().since(before);
        rig.now.set(rig.now.get() + Duration::from_micros(200));
    }
    let tenth = Duration::from_millis(45)..Duration::from_millis(55);
    assert!(tenth.contains(&used), "{used:?} of 500ms");
    assert!(served > clients.len() * 100, "{served} answers");
}

#[test]
fn a_holders_descriptors_come_with_the_request_that_they_were_sent_with() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    let holder = ask_for_lock(&mut rig, &mut client);
    let mut other = rig.connect();
    let send = |client: &UnixStream| {
        let (near, far) = UnixStream::pair().unwrap();
        let bind = b"{\"request\":\"bind\"}\n";
        ancillary::send(client, bind, &[far.as_fd()]).unwrap();
        near
    };
    let (now, mut came) = (rig.now.get(), Vec::new());
    let mut serve = |server: &mut Server| {
        for _ in 0..3 {
            let answer = |_, request, descriptors: &mut Vec<_>| {
                came.push((request, descriptors.len()));
                Some(Reply::Done {})
            };
            server.serve(now, true, || now, answer);
        }
    };
    let assert_closed = |mut client: &UnixStream, mut near: UnixStream| {
        let mut output = Vec::new();
        // The connection may be reset, because the server leaves bytes unread.
        let _ = client.read_to_end(&mut output);
        let output = String::from_utf8(output).unwrap();
        assert!(output.ends_with("may send descriptors\"}\n"), "{output}");
        assert_eq!(near.read(&mut [0]).unwrap(), 0, "the connection is closed");
    };
    let near = send(&other);
    serve(&mut rig.server);
    assert_closed(&other, near);
    let grant = Grant {
        token: None,
        fencing: String::new(),
        grade: None,
        data: String::new(),
        until_ns: 0,
        clock: None,
    };
    rig.server.send(now, holder, &Reply::Granted(grant));
    let mut near = send(&client);
    client.write_all(STATUS).unwrap();
    serve(&mut rig.server);
    assert_eq!(
        near.read(&mut [0]).unwrap(),
        0,
        "a descriptor that is not kept is closed"
    );
    rig.server.set_lasting(now, holder, false);
    let near = send(&client);
    serve(&mut rig.server);
    assert_closed(&client, near);
    other = rig.connect();
    other.write_all(STATUS).unwrap();
    serve(&mut rig.server);
    let (bind, status) = (Request::Bind, Request::Status);
    assert_eq!(came, [(bind, 1), (status.clone(), 0), (status, 0)]);
}

/// Sends a request for a lock. Its answer comes later.
fn ask_for_lock(rig: &mut Rig, client: &mut UnixStream) -> u64 {
    client.write_all(b"{\"request\":\"lock\"}\n").unwrap();
    let mut asked = None;
    let now = rig.now.get();
    for _ in 0..2 {
        rig.server.serve(
            now,
            true,
            || now,
            |peer, request, _| {
                assert!(matches!(request, Request::Lock(_)));
                asked = Some(peer);
                None
            },
        );
    }
    let peer = asked.expect("the request has arrived");
    assert_eq!(peer.pid, i32::try_from(std::process::id()).ok());
    peer.id
}

#[test]
fn late_and_unsolicited_messages_keep_their_order() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    let id = ask_for_lock(&mut rig, &mut client);
    assert_eq!(take(&client).0, "");
    for text in ["one", "two"] {
        let reply = Reply::Error(text.to_owned());
        rig.server.send(rig.now.get(), id, &reply);
    }
    assert_eq!(
        take(&client).0,
        "{\"error\":\"one\"}\n{\"error\":\"two\"}\n"
    );
    rig.server.send(rig.now.get(), id + 1, &Reply::Done {});
    assert_eq!(take(&client).0, "", "the reply was for another client");
}

#[test]
fn a_client_that_may_be_silent_stays_and_its_end_is_noticed() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    let id = ask_for_lock(&mut rig, &mut client);
    rig.server.set_lasting(rig.now.get(), id, true);
    rig.run_round(Duration::from_secs(3600));
    assert!(!take(&client).1);
    assert_eq!(rig.server.take_gone(), None);
    close_for_good(&client);
    rig.run_round(Duration::ZERO);
    assert_eq!(rig.server.take_gone(), Some(id));
    assert_eq!(rig.server.take_gone(), None);
}

#[test]
fn a_client_that_does_not_read_its_messages_is_closed() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    let id = ask_for_lock(&mut rig, &mut client);
    rig.server.set_lasting(rig.now.get(), id, true);
    let reply = Reply::Error("x".repeat(10_000));
    let closed_after = (0..100).find(|_| {
        rig.server.send(rig.now.get(), id, &reply);
        rig.server.take_gone() == Some(id)
    });
    assert!(closed_after.is_some(), "a megabyte waits for the client");
}
