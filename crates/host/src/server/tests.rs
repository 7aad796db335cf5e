use ring_control::{Grant, MAX_REQUEST, NoRequest, Reply};
use ring_proto::time::Instant;
use ring_runtime::net::ancillary;

use super::{ACCEPTED, Program, Server};
use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

type Request = ring_control::Request<NoRequest>;

const MAX_CLIENTS: usize = 64;
/// More than a socket takes before it is read from.
const LONG: usize = 400_000;
const STATUS: &[u8] = b"{\"request\":\"status\"}\n";

/// A server whose time the test makes.
struct Rig {
    server: Server,
    path: PathBuf,
    /// It stands still unless the test or an answer moves it.
    now: Cell<Instant>,
    /// How often the status was asked for.
    answers: usize,
    reply: String,
    _directory: TempDir,
}

impl Rig {
    fn new(reply: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        Self {
            server: Server::listen(Program("ringd"), &path, MAX_CLIENTS).unwrap(),
            path,
            now: Cell::new(Instant::from_nanos(1_000_000_000_000)),
            answers: 0,
            reply: reply.to_owned(),
            _directory: directory,
        }
    }

    fn connect(&self) -> UnixStream {
        let client = UnixStream::connect(&self.path).unwrap();
        client.set_nonblocking(true).unwrap();
        client
    }

    /// One round, `later` than the one before, and not before the server may work again.
    fn round(&mut self, later: Duration) {
        let due = self.server.resume().unwrap_or_default();
        self.now.set((self.now.get() + later).max(due));
        self.serve(Duration::ZERO);
    }

    /// A round right now, in which an answer takes `cost`.
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

    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.round(Duration::from_millis(10));
        }
    }
}

/// What has arrived, and whether the server has hung up.
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

/// The client's end, as the kernel tells of it when the last copy of its descriptor is closed; a
/// process that another test starts just now may have one.
fn end(client: &UnixStream) {
    client.shutdown(Shutdown::Both).unwrap();
}

fn is_served(rig: &mut Rig) -> bool {
    let mut client = rig.connect();
    client.write_all(STATUS).unwrap();
    rig.rounds(2);
    take(&client).0 == format!("{{\"error\":\"{}\"}}\n", rig.reply)
}

#[test]
fn a_socket_that_was_removed_is_made_again_and_its_clients_stay() {
    let mut rig = Rig::new("fine");
    let mut before = rig.connect();
    rig.rounds(2);
    for _ in 0..2 {
        std::fs::remove_file(&rig.path).unwrap();
        rig.server.look_after_socket();
        rig.server.look_after_socket();
        let mut after = rig.connect();
        for client in [&mut before, &mut after] {
            client.write_all(STATUS).unwrap();
            rig.rounds(3);
            assert!(client.read(&mut [0; 100]).unwrap() > 0);
        }
    }
}

#[test]
fn a_file_in_the_place_of_the_socket_is_left_alone() {
    let mut rig = Rig::new("fine");
    std::fs::remove_file(&rig.path).unwrap();
    std::fs::write(&rig.path, "theirs").unwrap();
    rig.server.look_after_socket();
    assert_eq!(std::fs::read(&rig.path).unwrap(), b"theirs");
    std::fs::remove_file(&rig.path).unwrap();
    rig.server.look_after_socket();
    rig.connect();
}

#[test]
fn one_request_after_the_other_is_answered() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    for _ in 0..3 {
        client.write_all(STATUS).unwrap();
        rig.rounds(2);
        assert_eq!(take(&client), ("{\"error\":\"fine\"}\n".to_owned(), false));
    }
}

#[test]
fn what_is_no_request_gets_an_error_and_the_next_one_an_answer() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    client.write_all(b"{\"request\":7}\n").unwrap();
    rig.rounds(2);
    assert!(take(&client).0.contains("unknown message"));
    client.write_all(STATUS).unwrap();
    rig.rounds(1);
    assert_eq!(take(&client).0, "{\"error\":\"fine\"}\n");
    assert_eq!(rig.answers, 1);
}

#[test]
fn requests_that_come_together_are_answered_one_a_round() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    client.write_all(&STATUS.repeat(100)).unwrap();
    rig.rounds(2);
    assert!(rig.answers <= 2);
    let mut text = String::new();
    for _ in 0..100 {
        rig.rounds(1);
        text += &take(&client).0;
    }
    assert_eq!(text.lines().count(), 100);
    client.shutdown(Shutdown::Write).unwrap();
    rig.rounds(1);
    assert!(take(&client).1);
}

#[test]
fn all_who_ask_in_one_round_share_one_answer() {
    let mut rig = Rig::new("fine");
    let clients: Vec<_> = (0..ACCEPTED).map(|_| rig.connect()).collect();
    rig.rounds(1);
    for mut client in &clients {
        client.write_all(STATUS).unwrap();
    }
    rig.rounds(1);
    assert!(clients.iter().all(|client| !take(client).0.is_empty()));
    assert_eq!(rig.answers, 1);
}

#[test]
fn a_line_without_end_is_refused() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    client.write_all(&[b'x'; MAX_REQUEST]).unwrap();
    rig.rounds(3);
    let (text, closed) = take(&client);
    assert!(text.contains("4096 bytes"), "{text}");
    assert!(closed);
    assert!(is_served(&mut rig));
}

#[test]
fn one_client_too_many_is_told_so_and_the_others_stay() {
    let mut rig = Rig::new("fine");
    let mut clients = Vec::new();
    for _ in 0..MAX_CLIENTS / ACCEPTED {
        clients.extend((0..ACCEPTED).map(|_| rig.connect()));
        rig.rounds(1);
    }
    let refused = rig.connect();
    rig.rounds(1);
    let (text, closed) = take(&refused);
    assert!(text.contains("try again") && closed, "{text}");
    assert!(
        clients
            .iter()
            .all(|client| take(client) == (String::new(), false))
    );
    clients.iter().for_each(end);
    rig.rounds(MAX_CLIENTS / ACCEPTED);
    assert!(is_served(&mut rig));
}

#[test]
fn a_client_that_says_nothing_or_drips_is_let_go() {
    let mut rig = Rig::new("fine");
    let (silent, mut dripping) = (rig.connect(), rig.connect());
    rig.rounds(1);
    for _ in 0..4 {
        dripping.write_all(b"x").unwrap();
        rig.round(Duration::from_secs(1));
    }
    assert!(!take(&silent).1 && !take(&dripping).1);
    rig.round(Duration::from_secs(2));
    assert!(take(&silent).1 && take(&dripping).1);
}

#[test]
fn a_client_that_never_reads_is_let_go_and_disturbs_nobody() {
    let mut rig = Rig::new(&"x".repeat(LONG));
    let mut lazy = rig.connect();
    lazy.write_all(&STATUS.repeat(10)).unwrap();
    rig.rounds(5);
    assert_eq!(rig.answers, 1, "no second reply before the first is taken");
    rig.reply = "fine".to_owned();
    assert!(is_served(&mut rig));
    rig.round(Duration::from_secs(6));
    let (text, closed) = take(&lazy);
    assert!(text.len() < LONG && closed, "{}", text.len());
}

#[test]
fn a_long_reply_is_written_as_it_is_taken() {
    let mut rig = Rig::new(&"x".repeat(LONG));
    let mut client = rig.connect();
    client.write_all(STATUS).unwrap();
    let mut text = String::new();
    for _ in 0..1000 {
        rig.rounds(1);
        text += &take(&client).0;
        if text.ends_with('\n') {
            break;
        }
    }
    assert_eq!(text.len(), LONG + "{\"error\":\"\"}\n".len());
}

#[test]
fn a_client_that_is_gone_is_forgotten() {
    let mut rig = Rig::new(&"x".repeat(LONG));
    for _ in 0..3 * ACCEPTED {
        let mut client = rig.connect();
        client.write_all(STATUS).unwrap();
        rig.rounds(1);
        end(&client);
        rig.rounds(1);
    }
    assert_eq!(rig.server.clients.iter().flatten().count(), 0);
}

#[test]
fn work_that_took_long_is_paid_for_by_a_pause() {
    let mut rig = Rig::new("slow");
    let mut client = rig.connect();
    client.write_all(STATUS).unwrap();
    let busy = Duration::from_millis(2);
    // The first round accepts, the second answers.
    rig.serve(busy);
    rig.serve(busy);
    assert_eq!(take(&client).0, "{\"error\":\"slow\"}\n");
    let resume = rig.server.resume().unwrap();
    assert!(resume.since(rig.now.get()) > busy * 3);
    client.write_all(STATUS).unwrap();
    rig.now.set(resume.before(Duration::from_nanos(1)));
    rig.serve(busy);
    assert_eq!(take(&client).0, "", "not before the pause is over");
    rig.now.set(resume);
    rig.serve(busy);
    assert_eq!(take(&client).0, "{\"error\":\"slow\"}\n");
}

#[test]
fn hammering_clients_get_a_tenth_of_the_time() {
    let mut rig = Rig::new("fine");
    let mut clients: Vec<_> = (0..4).map(|_| rig.connect()).collect();
    let (start, mut used, mut served) = (rig.now.get(), Duration::ZERO, 0);
    while rig.now.get().since(start) < Duration::from_millis(500) {
        for client in &mut clients {
            // It sends all that its socket takes, and reads.
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
fn descriptors_come_with_the_request_of_a_holder_that_they_were_sent_with() {
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
    let is_let_go = |mut client: &UnixStream, mut near: UnixStream| {
        let mut said = Vec::new();
        // It may be reset: what it has sent is not read.
        let _ = client.read_to_end(&mut said);
        let said = String::from_utf8(said).unwrap();
        assert!(said.ends_with("may hand descriptors over\"}\n"), "{said}");
        assert_eq!(near.read(&mut [0]).unwrap(), 0, "it is closed");
    };
    let near = send(&other);
    serve(&mut rig.server);
    is_let_go(&other, near);
    let grant = Grant {
        token: None,
        fencing: String::new(),
        grade: None,
        data: String::new(),
        until_ns: 0,
        clock: None,
    };
    rig.server.tell(now, holder, &Reply::Granted(grant));
    let mut near = send(&client);
    client.write_all(STATUS).unwrap();
    serve(&mut rig.server);
    assert_eq!(
        near.read(&mut [0]).unwrap(),
        0,
        "what nobody keeps is closed"
    );
    rig.server.set_lasting(now, holder, false);
    let near = send(&client);
    serve(&mut rig.server);
    is_let_go(&client, near);
    other = rig.connect();
    other.write_all(STATUS).unwrap();
    serve(&mut rig.server);
    let (bind, status) = (Request::Bind, Request::Status);
    assert_eq!(came, [(bind, 1), (status.clone(), 0), (status, 0)]);
}

/// A request whose answer comes later.
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
    let peer = asked.expect("it has come");
    assert_eq!(peer.pid, i32::try_from(std::process::id()).ok());
    peer.id
}

#[test]
fn what_comes_later_or_unasked_is_told_in_order() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    let id = ask_for_lock(&mut rig, &mut client);
    assert_eq!(take(&client).0, "");
    for text in ["one", "two"] {
        let reply = Reply::Error(text.to_owned());
        rig.server.tell(rig.now.get(), id, &reply);
    }
    assert_eq!(
        take(&client).0,
        "{\"error\":\"one\"}\n{\"error\":\"two\"}\n"
    );
    rig.server.tell(rig.now.get(), id + 1, &Reply::Done {});
    assert_eq!(take(&client).0, "", "that was for somebody else");
}

#[test]
fn one_that_may_be_silent_stays_and_its_end_is_noticed() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    let id = ask_for_lock(&mut rig, &mut client);
    rig.server.set_lasting(rig.now.get(), id, true);
    rig.round(Duration::from_secs(3600));
    assert!(!take(&client).1);
    assert_eq!(rig.server.take_gone(), None);
    end(&client);
    rig.round(Duration::ZERO);
    assert_eq!(rig.server.take_gone(), Some(id));
    assert_eq!(rig.server.take_gone(), None);
}

#[test]
fn one_that_does_not_read_what_it_is_told_is_let_go() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect();
    let id = ask_for_lock(&mut rig, &mut client);
    rig.server.set_lasting(rig.now.get(), id, true);
    let reply = Reply::Error("x".repeat(10_000));
    let told = (0..100).find(|_| {
        rig.server.tell(rig.now.get(), id, &reply);
        rig.server.take_gone() == Some(id)
    });
    assert!(told.is_some(), "a megabyte waits for it");
}
