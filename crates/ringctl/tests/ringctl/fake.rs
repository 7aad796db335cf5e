//! A daemon that does what the test says.

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

use ring_segment::limit::PATIENCE;

/// A lease that lasts longer than any test.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// CLOCK_BOOTTIME.
pub(crate) fn boot_time() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has this clock");
    Duration::from(now)
}

/// A control socket with nobody behind it but the test. It takes what clients hand over to it by `bind`, and
/// keeps nothing of it.
pub(crate) struct Fake {
    _directory: TempDir,
    path: PathBuf,
    listener: UnixListener,
    /// What it answers to `bind`; `None`: nothing.
    to_bind: Option<Value>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self::answering_bind(Some(json!({"done": {}})))
    }

    /// One that answers `bind` like this, or not at all.
    pub(crate) fn answering_bind(to_bind: Option<Value>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("eth0.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let patience = TimeVal::seconds(PATIENCE.as_secs().cast_signed());
        setsockopt(&listener, sockopt::ReceiveTimeout, &patience).expect("set");
        Self {
            _directory: directory,
            path,
            listener,
            to_bind,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A file beside the socket.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// The next client that does not only ask whether anybody is there.
    pub(crate) fn client(&self) -> Client {
        loop {
            let mut client = self.any_client();
            let first = client.request();
            if first["request"] != "version" {
                client.first = Some(first);
                return client;
            }
            client.say_version();
        }
    }

    /// The next client, whatever it wants.
    pub(crate) fn any_client(&self) -> Client {
        let (stream, _) = self.listener.accept().expect("a client");
        Client::new(stream, self.to_bind.clone())
    }

    /// From now on nobody comes who does not only ask whether anybody is there, and who does is answered.
    pub(crate) fn answer_probes(&self) {
        let listener = self.listener.try_clone().expect("a copy");
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                Client::new(stream, None).is_there();
            }
        });
    }

    /// The next client, who asks for the lock and gets it for `lease`.
    pub(crate) fn grant(&self, lease: Duration) -> Client {
        let mut client = self.client();
        assert_eq!(client.request()["request"], "lock");
        client.grant(lease);
        client
    }
}

/// A client of the fake.
pub(crate) struct Client {
    stream: UnixStream,
    /// Its first request, if that was taken and not looked at.
    first: Option<Value>,
    requests: Receiver<Value>,
}

impl Client {
    fn new(stream: UnixStream, to_bind: Option<Value>) -> Self {
        let reader = BufReader::new(stream.try_clone().expect("a copy"));
        let (sender, requests) = mpsc::channel();
        // It ends with the connection.
        thread::spawn(move || listen(reader, to_bind.as_ref(), &sender));
        Self {
            stream,
            first: None,
            requests,
        }
    }

    /// What it asks for; `null` if it has hung up.
    pub(crate) fn request(&mut self) -> Value {
        if let Some(first) = self.first.take() {
            return first;
        }
        match self.requests.recv_timeout(PATIENCE) {
            Ok(request) => request,
            Err(RecvTimeoutError::Disconnected) => Value::Null,
            Err(RecvTimeoutError::Timeout) => panic!("nothing is asked"),
        }
    }

    /// Answers the question whether anybody is there.
    pub(crate) fn is_there(&mut self) {
        assert_eq!(self.request(), json!({"request": "version"}));
        self.say_version();
    }

    fn say_version(&mut self) {
        let version = json!({"protocol": 1, "ringd": "0.1.0", "interface": "eth0"});
        self.say(&json!({"version": version}));
    }

    pub(crate) fn say(&mut self, reply: &Value) {
        self.say_all(std::slice::from_ref(reply));
    }

    fn say_all(&mut self, replies: &[Value]) {
        // All at once: one that does not want to know what it is may be gone after a part.
        let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
        let lines = lines.join("\n") + "\n";
        let said = self.stream.write_all(lines.as_bytes());
        said.expect("it listens");
    }

    /// Grants the lock for `lease`; until when, on CLOCK_BOOTTIME.
    pub(crate) fn grant(&mut self, lease: Duration) -> Duration {
        let until = boot_time() + lease;
        self.say(&granted(until));
        until
    }

    /// Grants the lock for `lease` as a daemon does that does not know its clock.
    pub(crate) fn grant_by_unknown_clock(&mut self, lease: Duration) {
        let mut reply = granted(boot_time() + lease);
        reply["granted"]["clock"].take();
        self.say(&reply);
    }

    /// Takes the lock away as soon as it is granted: the work must end within `left`.
    pub(crate) fn grant_and_lose(&mut self, lease: Duration, left: Duration) {
        let now = boot_time();
        self.say_all(&[granted(now + lease), lost(now + left)]);
    }

    pub(crate) fn renew(&mut self, lease: Duration) {
        let until = boot_time() + lease;
        self.say(&json!({"renewed": {"until_ns": nanos(until)}}));
    }

    /// Takes the lock away; the work must end within `left`.
    pub(crate) fn lose(&mut self, left: Duration) -> Duration {
        let until = boot_time() + left;
        self.say(&lost(until));
        until
    }

    /// Waits for the lock to be given back.
    pub(crate) fn unlocked(&mut self) {
        assert_eq!(self.request()["request"], "unlock");
        self.say(&json!({"unlocked": {}}));
    }

    /// The process that asks.
    pub(crate) fn pid(&self) -> Pid {
        let peer = getsockopt(&self.stream, sockopt::PeerCredentials);
        Pid::from_raw(peer.expect("a local peer").pid())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Who reads has a copy.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Passes requests on, but for `bind`, until the client hangs up. To read as this does lets go of what is
/// handed over.
fn listen(mut reader: BufReader<UnixStream>, to_bind: Option<&Value>, requests: &Sender<Value>) {
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|len| len > 0) {
        let request: Value = serde_json::from_str(&line).expect("a request");
        line.clear();
        if request["request"] != "bind" {
            // The test may be over.
            let _ = requests.send(request);
        } else if let Some(answer) = to_bind {
            let _ = reader.get_mut().write_all(format!("{answer}\n").as_bytes());
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).expect("not that late")
}

/// The clock of this process, as a daemon names it that cannot see which boot of the kernel it is.
fn clock() -> Value {
    let offsets = fs::read_to_string("/proc/self/timens_offsets").expect("it is there");
    let line = offsets.lines().find(|line| line.starts_with("boottime"));
    let words = line.expect("it is there").split_whitespace().skip(1);
    let words: Vec<i64> = words.map(|word| word.parse().expect("a number")).collect();
    json!({"offset_ns": words[0] * 1_000_000_000 + words[1]})
}

fn granted(until: Duration) -> Value {
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
