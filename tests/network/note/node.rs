//! A node of the shared note, run by the daemon's host.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use ring_note::{Command, Event, Job, Net, Note, Notes, Options, Version, wire};
use ring_proto::Stored;
use ring_proto::time::{Instant, Now, nanos};
use ring_segment::PATIENCE;
use ringd::control::{
    EventHead, EventMessage, Health, NoRequest, NodeStatus, Reply, Request, TokenData,
};
use ringd::driver::{
    Connections, Driver, Environment, Joined, Observe, ReceiveBatch, Store, TransmitBatch,
};
use ringd::host::worker::Bell;
use ringd::host::worker::program::{self, End, Terms};
use ringd::host::{
    Answer, Client, ClientId, Error, Host, LINK, LateLimits, LogFormat, Priority, Program,
    Reaction, Recent, SYSTEM, Server, ShutDown, System, Task, Waiting, Watchers,
};
use ringd::sys::{Interface, TcpNetwork, TcpOptions, UdpLink, UdpOptions};
use serde::Serialize;

/// Where nodes announce and serve the note.
pub const PORT: u16 = 57_900;
/// Upper bound for one transfer.
pub const TRANSFER: Duration = Duration::from_secs(2);

/// The time between two announcements of a node that was told nothing else.
pub const PERIOD: Duration = Duration::from_millis(50);
const SERVED: usize = 16;
const CONNECTIONS: u16 = 32;
/// Datagrams received or sent at a time.
const BATCH: usize = 16;

/// What a process is told to be, by its environment.
#[derive(Debug)]
pub struct Setting {
    /// Its address; the last byte is its number.
    pub address: Ipv4Addr,
    /// The time between two of its announcements.
    pub period: Duration,
    /// The directory of its socket and its note.
    pub folder: PathBuf,
}

impl Setting {
    /// The control socket.
    pub fn control(&self) -> PathBuf {
        self.folder.join("note.sock")
    }

    /// Where the note is stored.
    fn note(&self) -> PathBuf {
        self.folder.join("note")
    }

    /// A note to write at the start, if there is one.
    pub fn first(&self) -> PathBuf {
        self.folder.join("first")
    }

    /// The editor that notes go through, a line for the shell, if there is one.
    pub fn editor(&self) -> PathBuf {
        self.folder.join("editor")
    }

    /// A socket for what is to be written.
    pub fn desk(&self) -> PathBuf {
        self.folder.join("desk")
    }

    /// Runs the node until it is shut down.
    pub fn run(&self) -> Result<()> {
        let interface = Interface::find("eth0")?.context("no interface")?;
        let host = Host::start(Program("note"), &self.control(), LogFormat::Text, false)?;
        let datagrams = UdpLink::bind(
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)),
            &UdpOptions {
                interface: Some((interface.name.clone(), interface.index)),
                ..UdpOptions::default()
            },
        )?;
        let network = TcpNetwork::listen(
            SocketAddr::from((self.address, PORT)),
            TcpOptions {
                interface: Some(interface.name),
                resets: true,
                ..TcpOptions::default()
            },
        )?;
        let disk = Disk(self.note());
        let options = Options {
            id: self.address.octets()[3].into(),
            port: PORT,
            period: self.period,
            transfer: TRANSFER,
            served: SERVED,
        };
        let machine = Notes::new(options, disk.load()?);
        let node = NoteNode {
            started: host.started().monotonic,
            place: self.address.to_string(),
            link: Joined {
                datagrams,
                streams: Connections::new(network, CONNECTIONS),
            },
            disk,
            seen: Seen {
                counters: BTreeMap::new(),
                events: Recent::new(host.started()),
            },
            watchers: Watchers::default(),
            new_watchers: Vec::new(),
            to_write: fs::read(self.first()).into_iter().collect(),
            editor: fs::read_to_string(self.editor()).ok(),
            desk: Desk::open(&self.desk())?,
            is_up: false,
        };
        let received = ReceiveBatch::of(BATCH, wire::ANNOUNCEMENT + 1);
        let transmit = TransmitBatch::of(BATCH, wire::ANNOUNCEMENT);
        host.run(Driver::with_batches(machine, received, transmit), node)?;
        Ok(())
    }
}

/// Stores the note in a file, whole or not at all.
#[derive(Debug)]
struct Disk(PathBuf);

impl Disk {
    fn load(&self) -> Result<Note> {
        let Ok(bytes) = fs::read(&self.0) else {
            return Ok(Note::default());
        };
        let header = bytes.first_chunk().and_then(wire::Header::decode);
        let header = header.context("the stored note is none")?;
        Ok(Note {
            version: header.version,
            sum: header.sum,
            bytes: bytes[wire::HEADER..].into(),
        })
    }

    fn save(&self, note: &Note) -> io::Result<()> {
        let header = wire::Header {
            version: note.version,
            sum: note.sum,
            len: note.bytes.len(),
        };
        let new = self.0.with_extension("new");
        fs::write(&new, [&header.encode()[..], &note.bytes].concat())?;
        fs::rename(&new, &self.0)
    }
}

impl Store<Note> for Disk {
    fn store(&mut self, note: &Note) -> Stored {
        match self.save(note) {
            Ok(()) => Stored::Done,
            Err(_) => Stored::Failed,
        }
    }
}

/// Counts events by their names, and retains them for watchers.
#[derive(Debug)]
struct Seen {
    counters: BTreeMap<String, u64>,
    events: Recent<Entry>,
}

/// An event, and when it was.
#[derive(Debug, Clone)]
struct Entry {
    time_ms: u64,
    name: &'static str,
}

impl Entry {
    /// As watchers are told it.
    fn message(&self, number: u64) -> EventMessage {
        #[derive(Serialize)]
        struct Own {
            length_of_name: usize,
        }
        let head = EventHead {
            number,
            time_ms: self.time_ms,
            event: self.name.to_owned(),
            text: Some(format!("this node has seen {}", self.name)),
        };
        let length_of_name = self.name.len();
        EventMessage::new(&head, &Own { length_of_name })
    }
}

impl Observe<Event> for Seen {
    fn observe(&mut self, now: Now, event: &Event) {
        let name = event.name();
        *self.counters.entry(name.to_owned()).or_default() += 1;
        let time_ms = now.wall / 1_000_000;
        self.events
            .remember(Entry { time_ms, name }, Priority::News);
    }
}

/// What `status` shows: keys of this system's own.
#[derive(Debug, Serialize)]
struct Status<'a> {
    health: Health,
    place: &'a str,
    version: String,
    up_ns: u64,
    length: usize,
    transfers: usize,
    counters: &'a BTreeMap<String, u64>,
}

/// Edits notes and verifies checksums.
#[derive(Debug)]
struct Worker {
    /// A line for the shell that a note goes through before it is written, if there is one.
    editor: Option<String>,
}

impl Worker {
    /// The note as the editor leaves it; `None` if it fails, or is cancelled.
    fn edit(&self, note: Note, bell: &Bell) -> Option<Note> {
        let Some(editor) = &self.editor else {
            return Some(note);
        };
        let terms = Terms {
            input: Some(&note.bytes),
            capture: Some(wire::MAX_NOTE),
            until: std::time::Instant::now() + PATIENCE,
            bell,
        };
        let mut shell = process::Command::new("/bin/sh");
        let outcome = program::run(shell.args(["-c", editor]), &terms, &mut |_| {}).ok()?;
        let is_done = matches!(outcome.end, End::Exit(status) if status.success());
        (is_done && !outcome.output.is_cut).then(|| Note {
            bytes: outcome.output.bytes.into(),
            ..note
        })
    }
}

impl Task for Worker {
    type Job = Job;
    type Answer = Command;

    fn carry_out(&mut self, job: Job, bell: &Bell) -> Command {
        match job {
            Job::Sum(note) => self
                .edit(note, bell)
                .map_or(Command::NotSummed, |note| Job::Sum(note).run()),
            Job::Verify(_) => job.run(),
        }
    }
}

/// Where somebody leaves what is to be written, with a thread of its own that has no part in the loop.
#[derive(Debug)]
struct Desk {
    left: Receiver<Vec<u8>>,
    /// Rings when something was left.
    bell: Arc<Bell>,
}

impl Desk {
    fn open(path: &Path) -> Result<Self> {
        let listener = UnixListener::bind(path)?;
        let bell = Arc::new(Bell::new()?);
        let (sender, left) = mpsc::channel();
        let rings = Arc::clone(&bell);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut bytes = Vec::new();
                if stream.read_to_end(&mut bytes).is_ok() && sender.send(bytes).is_ok() {
                    rings.ring();
                }
            }
        });
        Ok(Self { left, bell })
    }
}

/// For the service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shows(Version);

impl fmt::Display for Shows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shows version {}", self.0)
    }
}

#[derive(Debug)]
struct NoteNode {
    started: Instant,
    place: String,
    link: Joined<UdpLink, Connections<TcpNetwork, SocketAddr>>,
    disk: Disk,
    seen: Seen,
    watchers: Watchers,
    /// Those whose connections may be silent from now on.
    new_watchers: Vec<ClientId>,
    to_write: VecDeque<Vec<u8>>,
    editor: Option<String>,
    desk: Desk,
    /// The machine was told of the network.
    is_up: bool,
}

impl NoteNode {
    fn status(&self, now: Instant, machine: &Notes) -> NodeStatus {
        let note = machine.note();
        // What it is for is to show a note.
        let is_healthy = machine.is_up() && !note.bytes.is_empty();
        let status = Status {
            health: if is_healthy {
                Health::Healthy
            } else {
                Health::Critical
            },
            place: &self.place,
            version: note.version.to_string(),
            up_ns: nanos(now.since(self.started)),
            length: note.bytes.len(),
            transfers: machine.transfers(),
            counters: &self.seen.counters,
        };
        NodeStatus::new("note", &status)
    }
}

impl System for NoteNode {
    type Machine = Notes;
    type Link = Joined<UdpLink, Connections<TcpNetwork, SocketAddr>>;
    type Store = Disk;
    type Observer = Seen;
    type Task = Worker;
    type Request = NoRequest;
    type Condition = Shows;

    fn environment(&mut self) -> Environment<'_, Self::Link, Disk, Seen> {
        Environment {
            link: Some(&mut self.link),
            store: &mut self.disk,
            observer: &mut self.seen,
        }
    }

    fn task(&mut self) -> Option<Worker> {
        let editor = self.editor.take();
        Some(Worker { editor })
    }

    fn register(&mut self, waiting: &Waiting) -> Result<(), Error> {
        waiting.add(&self.link.datagrams, LINK)?;
        waiting.add(self.link.streams.network(), LINK)?;
        waiting.add(&*self.desk.bell, SYSTEM)
    }

    fn own_readable(&mut self, _: Now) -> Result<(), Error> {
        self.desk.bell.silence();
        self.to_write.extend(self.desk.left.try_iter());
        Ok(())
    }

    fn network_readable(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn poll_network(&mut self, _: Instant, _: &Waiting) -> Result<Option<Net>, Error> {
        let all = SocketAddr::from((Ipv4Addr::BROADCAST, PORT));
        let is_known = std::mem::replace(&mut self.is_up, true);
        Ok((!is_known).then_some(Net::Up(all)))
    }

    fn link_failed(&mut self, _: Instant, _: &io::Error) -> Net {
        Net::Down
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn answer(
        &mut self,
        now: Now,
        client: Client,
        request: Request<NoRequest>,
        _: &mut Vec<OwnedFd>,
        machine: &Notes,
    ) -> Answer<Command> {
        let events = &self.seen.events;
        let latest = events.latest();
        let reaction = match request {
            Request::Status => Reaction::Status,
            Request::Watch { from, turns } => {
                self.new_watchers.push(client.id);
                self.watchers.add(client.id, from, turns, events)
            }
            Request::DataGet => Reaction::Reply(Reply::Data(TokenData {
                hex: digits(&machine.note().bytes),
                token: None,
            })),
            Request::DataSet { hex, .. } => match bytes(&hex) {
                Some(bytes) => Reaction::Command(Command::Write(bytes), Reply::Done {}),
                None => Reaction::error("these are no hexadecimal digits"),
            },
            _ => Reaction::error("a note has no such thing"),
        };
        reaction.answer(latest, || self.status(now.monotonic, machine))
    }

    fn poll_clients(&mut self, now: Now, server: &mut Server, _: &Notes) -> Option<Command> {
        while let Some(client) = server.take_gone() {
            self.watchers.forget(client);
        }
        for client in self.new_watchers.drain(..) {
            server.set_lasting(now.monotonic, client, true);
        }
        let events = &self.seen.events;
        let message = |entry: &Entry, number| Reply::Event(entry.message(number));
        self.watchers.tell(now.monotonic, server, events, message);
        self.to_write.pop_front().map(Command::Write)
    }

    fn after_turn(&mut self, _: Now, _: &Notes) {}

    fn every_second(&mut self, _: Now) {}

    fn count_late_wake_up(&mut self) {}

    fn late_limits(_: &Notes) -> LateLimits {
        LateLimits {
            noticed: PERIOD,
            harmful: TRANSFER,
        }
    }

    fn condition(&self, machine: &Notes) -> Shows {
        Shows(machine.note().version)
    }

    fn report(&mut self, _: Now, _: &Notes) {}

    fn leave(&mut self) -> &'static str {
        "ending"
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn shut_down(_: &Notes) -> ShutDown<Command> {
        ShutDown {
            command: Command::ShutDown,
            patience: TRANSFER,
            last_word: Command::ShutDown,
        }
    }

    fn is_finished(machine: &Notes) -> bool {
        machine.is_finished()
    }

    fn finish(&mut self, _: Now, _: &mut dyn FnMut() -> bool) {}
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, byte| {
        // Writing to a String cannot fail.
        let _ = write!(all, "{byte:02x}");
        all
    })
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

impl FromStr for Setting {
    type Err = anyhow::Error;

    /// As it is displayed.
    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.splitn(3, ' ');
        let mut next = || words.next().context("a word is missing");
        Ok(Self {
            address: next()?.parse()?,
            period: Duration::from_millis(next()?.parse()?),
            folder: next()?.into(),
        })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (period, folder) = (self.period.as_millis(), self.folder.display());
        write!(f, "{} {period} {folder}", self.address)
    }
}
