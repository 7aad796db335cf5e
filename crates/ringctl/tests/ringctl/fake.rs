//! A fake daemon. The test controls it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use ring_segment::limit::WAIT_LIMIT;

/// A lease that lasts longer than every test.
pub(crate) const ENDLESS_LEASE: Duration = Duration::from_secs(3600);

/// Returns the time of CLOCK_BOOTTIME.
pub(crate) fn boot_time() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has this clock");
    Duration::from(now)
}

/// A fake daemon at a control socket. The fake daemon closes the descriptors that clients pass with `bind`.
pub(crate) struct FakeDaemon {
    _directory: TempDir,
    path: PathBuf,
    listener: UnixListener,
    /// The answer to `bind`; `None` if the daemon does not answer `bind`.
    bind_answer: Option<Value>,
}

impl FakeDaemon {
    pub(crate) fn new() -> Self {
        Self::with_bind_answer(Some(json!({"done": {}})))
    }

    /// Creates a fake daemon with this answer to `bind`. With `None`, it does not answer `bind`.
    pub(crate) fn with_bind_answer(bind_answer: Option<Value>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("eth0.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let patience = TimeVal::seconds(WAIT_LIMIT.as_secs().cast_signed());
        setsockopt(&listener, sockopt::ReceiveTimeout, &patience).expect("set");
        Self {
            _directory: directory,
            path,
            listener,
            bind_answer,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file next to the socket.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// Accepts the next client that is not a probe. Answers probes that arrive before this client.
    pub(crate) fn next_client(&self) -> Client {
        loop {
            let mut client = self.next_connection();
            let first = client.request();
            if first["request"] != "version" {
                client.first = Some(first);
                return client;
            }
            client.send_version();
        }
    }

    /// Accepts the next client, even a probe.
    pub(crate) fn next_connection(&self) -> Client {
        let (stream, _) = self.listener.accept().expect("a client");
        Client::new(stream, self.bind_answer.clone())
    }

    /// Answers all later clients. All of them must be probes.
    pub(crate) fn answer_probes(&self) {
        let listener = self.listener.try_clone().expect("a copy");
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                Client::new(stream, None).answer_probe();
            }
        });
    }

    /// Accepts the next client. This client must request the lock. Grants the lock for `lease`.
    pub(crate) fn accept_and_grant(&self, lease: Duration) -> Client {
        let mut client = self.next_client();
        assert_eq!(client.request()["request"], "lock");
        client.grant(lease);
        client
    }
}

/// A client of the fake daemon.
pub(crate) struct Client {
    stream: UnixStream,
    /// The first request, if it was read but not yet returned.
    first: Option<Value>,
    requests: Receiver<Value>,
}

impl Client {
    fn new(stream: UnixStream, bind_answer: Option<Value>) -> Self {
        let reader = BufReader::new(stream.try_clone().expect("a copy"));
        let (sender, requests) = mpsc::channel();
        // The thread ends with the connection.
        thread::spawn(move || read_requests(reader, bind_answer.as_ref(), &sender));
        Self {
            stream,
            first: None,
            requests,
        }
    }

    /// Returns the next request; `null` if the client closed the connection.
    pub(crate) fn request(&mut self) -> Value {
        if let Some(first) = self.first.take() {
            return first;
        }
        match self.requests.recv_timeout(WAIT_LIMIT) {
            Ok(request) => request,
            Err(RecvTimeoutError::Disconnected) => Value::Null,
            Err(RecvTimeoutError::Timeout) => panic!("the client sends no request"),
        }
    }

    /// Answers the next request. It must be a probe.
    pub(crate) fn answer_probe(&mut self) {
        assert_eq!(self.request(), json!({"request": "version"}));
        self.send_version();
    }

    fn send_version(&mut self) {
        let version = json!({"protocol": 1, "ringd": "0.1.0", "interface": "eth0"});
        self.send(&json!({"version": version}));
    }

    pub(crate) fn send(&mut self, reply: &Value) {
        self.send_all(std::slice::from_ref(reply));
    }

    fn send_all(&mut self, replies: &[Value]) {
        // One write sends all lines. Between two writes, a client that rejects the first line could close the
        // connection.
        let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
        let lines = lines.join("\n") + "\n";
        let sent = self.stream.write_all(lines.as_bytes());
        sent.expect("the client reads");
    }

    /// Grants the lock for `lease`. Returns the end of the lease on CLOCK_BOOTTIME.
    pub(crate) fn grant(&mut self, lease: Duration) -> Duration {
        let until = boot_time() + lease;
        self.send(&grant_message(until));
        until
    }

    /// Grants the lock for `lease`, as a daemon does that cannot identify its clock.
    pub(crate) fn grant_by_unknown_clock(&mut self, lease: Duration) {
        let mut reply = grant_message(boot_time() + lease);
        reply["granted"]["clock"].take();
        self.send(&reply);
    }

    /// Grants the lock, and reports the loss of the lock in the same write. The work must end within `left`.
    pub(crate) fn grant_and_lose(&mut self, lease: Duration, left: Duration) {
        let now = boot_time();
        self.send_all(&[grant_message(now + lease), lost(now + left)]);
    }

    pub(crate) fn renew(&mut self, lease: Duration) {
        let until = boot_time() + lease;
        self.send(&json!({"renewed": {"until_ns": nanos(until)}}));
    }

    /// Reports the loss of the lock. Returns the time by which the work must end: `left` from now.
    pub(crate) fn lose(&mut self, left: Duration) -> Duration {
        let until = boot_time() + left;
        self.send(&lost(until));
        until
    }

    /// Waits for the release of the lock, and confirms it.
    pub(crate) fn wait_for_unlock(&mut self) {
        assert_eq!(self.request()["request"], "unlock");
        self.send(&json!({"unlocked": {}}));
    }

    /// Waits until the client releases the lock or closes the connection. If it releases the lock, confirms the
    /// release.
    pub(crate) fn confirm_unlock_or_end(&mut self) {
        if self.request()["request"] == "unlock" {
            // The client may end before it reads the answer.
            let _ = writeln!(self.stream, "{}", json!({"unlocked": {}}));
        }
    }

    /// Returns the stream, for bytes that are no message.
    pub(crate) fn stream(&self) -> UnixStream {
        self.stream.try_clone().expect("a copy")
    }

    /// Returns the client's process.
    pub(crate) fn pid(&self) -> Pid {
        let peer = getsockopt(&self.stream, sockopt::PeerCredentials);
        Pid::from_raw(peer.expect("a local peer").pid())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The reading thread has a copy of the stream, so dropping it does not close the connection.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Passes all requests except `bind` to the test until the client closes the connection. It reads from the socket
/// without taking descriptors, so the kernel closes the passed descriptors.
fn read_requests(
    mut reader: BufReader<UnixStream>,
    bind_answer: Option<&Value>,
    requests: &Sender<Value>,
) {
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|len| len > 0) {
        let request: Value = serde_json::from_str(&line).expect("a request");
        line.clear();
        if request["request"] != "bind" {
            // The send fails if the test has ended.
            let _ = requests.send(request);
        } else if let Some(answer) = bind_answer {
            let _ = reader.get_mut().write_all(format!("{answer}\n").as_bytes());
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).expect("not that late")
}

/// Describes this process's clock, as a daemon does that cannot read the kernel's boot id.
fn clock() -> Value {
    let offsets = fs::read_to_string("/proc/self/timens_offsets").expect("it is there");
    let line = offsets.lines().find(|line| line.starts_with("boottime"));
    let words = line.expect("it is there").split_whitespace().skip(1);
    let words: Vec<i64> = words.map(|word| word.parse().expect("a number")).collect();
    json!({"offset_ns": words[0] * 1_000_000_000 + words[1]})
}

fn grant_message(until: Duration) -> Value {
    json!({"granted": {
        "token": {"progress": 1795, "author": "02:00:00:00:00:01", "number": 7, "fencing": "1795-02:00:00:00:00:01-7"},
        "fencing": "1795-02:00:00:00:00:01-7",
        "grade": "alone",
        "data": "00ff",
        "until_ns": nanos(until),
        "clock": clock(),
        "position": 0,
    }})
}

fn lost(until: Duration) -> Value {
    json!({"lost": {
        "why": "stronger_token",
        "text": "another node has a stronger token",
        "until_ns": nanos(until),
    }})
}
