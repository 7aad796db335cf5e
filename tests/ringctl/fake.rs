//! A daemon that does what the test says.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use ring_segment::limit::PATIENCE;

/// A lease that lasts longer than any test.
pub const LONG: Duration = Duration::from_secs(3600);

/// By this a client asks whether anybody is there.
const VERSION: &[u8] = br#"{"request":"version""#;

/// CLOCK_BOOTTIME.
pub fn boot_time() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has this clock");
    Duration::from(now)
}

/// A control socket with nobody behind it but the test.
pub struct Fake {
    _directory: TempDir,
    path: PathBuf,
    listener: UnixListener,
}

impl Fake {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("eth0.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let patience = TimeVal::seconds(PATIENCE.as_secs().cast_signed());
        setsockopt(&listener, sockopt::ReceiveTimeout, &patience).expect("set");
        Self {
            _directory: directory,
            path,
            listener,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file beside the socket.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// The next client that does not only ask whether anybody is there.
    pub fn client(&self) -> Client {
        loop {
            let mut client = self.any_client();
            let first = client.reader.fill_buf().unwrap_or_default();
            if !first.starts_with(VERSION) {
                return client;
            }
            client.is_there();
        }
    }

    /// The next client, whatever it wants.
    pub fn any_client(&self) -> Client {
        let (stream, _) = self.listener.accept().expect("a client");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        Client {
            reader: BufReader::new(stream),
        }
    }

    /// The next client, who asks for the lock and gets it for `lease`.
    pub fn grant(&self, lease: Duration) -> Client {
        let mut client = self.client();
        assert_eq!(client.request()["request"], "lock");
        client.grant(lease);
        client
    }
}

/// A client of the fake.
pub struct Client {
    reader: BufReader<UnixStream>,
}

impl Client {
    /// What it asks for; `null` if it has hung up. What it hands over is passed over, as an earlier
    /// version of the daemon does.
    pub fn request(&mut self) -> Value {
        loop {
            let request = self.any_request();
            if request["request"] != "bind" {
                return request;
            }
        }
    }

    /// Lets go of what it hands over.
    pub fn drop_bound(&mut self) {
        assert_eq!(self.any_request()["request"], "bind");
    }

    fn any_request(&mut self) -> Value {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => Value::Null,
            Ok(_) => serde_json::from_str(&line).expect("a request"),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Value::Null,
            Err(error) => panic!("nothing is asked: {error}"),
        }
    }

    /// Answers the question whether anybody is there.
    pub fn is_there(&mut self) {
        assert_eq!(self.request(), json!({"request": "version"}));
        let version = json!({"protocol": 1, "ringd": "0.1.0", "interface": "eth0"});
        self.say(&json!({"version": version}));
    }

    pub fn say(&mut self, reply: &Value) {
        self.say_all(std::slice::from_ref(reply));
    }

    fn say_all(&mut self, replies: &[Value]) {
        // All at once: one that does not want to know what it is may be gone after a part.
        let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
        let lines = lines.join("\n") + "\n";
        let said = self.reader.get_mut().write_all(lines.as_bytes());
        said.expect("it listens");
    }

    /// Grants the lock for `lease`; until when, on CLOCK_BOOTTIME.
    pub fn grant(&mut self, lease: Duration) -> Duration {
        let until = boot_time() + lease;
        self.say(&granted(until));
        until
    }

    /// Takes the lock away as soon as it is granted: the work must end within `left`.
    pub fn grant_and_lose(&mut self, lease: Duration, left: Duration) {
        let now = boot_time();
        self.say_all(&[granted(now + lease), lost(now + left)]);
    }

    pub fn renew(&mut self, lease: Duration) {
        let until = boot_time() + lease;
        self.say(&json!({"renewed": {"until_ns": nanos(until)}}));
    }

    /// Takes the lock away; the work must end within `left`.
    pub fn lose(&mut self, left: Duration) -> Duration {
        let until = boot_time() + left;
        self.say(&lost(until));
        until
    }

    /// Waits for the lock to be given back.
    pub fn unlocked(&mut self) {
        assert_eq!(self.request(), json!({"request": "unlock"}));
        self.say(&json!({"unlocked": {}}));
    }

    /// The process that asks.
    pub fn pid(&self) -> Pid {
        let peer = getsockopt(self.reader.get_ref(), sockopt::PeerCredentials);
        Pid::from_raw(peer.expect("a local peer").pid())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).expect("not that late")
}

fn granted(until: Duration) -> Value {
    json!({"granted": {
        "token": {"progress": 1795, "author": "02:00:00:00:00:01", "number": 7, "fencing": "1795-02:00:00:00:00:01-7"},
        "fencing": "1795-02:00:00:00:00:01-7",
        "grade": "alone",
        "data": "00ff",
        "until_ns": nanos(until),
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
