//! The machine.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{JobOp, Machine, Sent, Stored, StreamEvent, StreamId, StreamOp, Ticket, Transmit};
use xxhash_rust::xxh3::xxh3_64;

use super::transfer::{Progress, Role, Transfer};
use super::wire::{Announcement, Header, MAX_NOTE};
use super::{Event, Failure, Options, Version};

/// A version of the note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Note {
    /// Which version.
    pub version: Version,
    /// XXH3-64 of its bytes.
    pub sum: u64,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

/// What the node is told of its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Net {
    /// Nothing can be sent.
    Down,
    /// Announcements go there.
    Up(SocketAddr),
}

/// What is asked of a node.
#[derive(Debug)]
pub enum Command {
    /// Write a newer version; at most [`MAX_NOTE`] bytes. What is still being edited is dropped for it.
    Write(Vec<u8>),
    /// A job is done.
    Summed(Note),
    /// A job was cancelled, or has failed.
    NotSummed,
    /// A job is done.
    Verified {
        /// The note that was verified.
        note: Note,
        /// Whether its checksum is right.
        is_right: bool,
    },
    /// End.
    ShutDown,
}

/// What takes a while.
#[derive(Debug)]
pub enum Job {
    /// Edit a note, if it has an editor, and sum it up.
    Sum(Note),
    /// Verify a note's checksum.
    Verify(Note),
}

impl Job {
    /// Does it.
    #[must_use]
    pub fn run(self) -> Command {
        match self {
            Self::Sum(note) => Command::Summed(Note {
                sum: xxh3_64(&note.bytes),
                ..note
            }),
            Self::Verify(note) => Command::Verified {
                is_right: xxh3_64(&note.bytes) == note.sum,
                note,
            },
        }
    }
}

/// A newer version that a peer has.
#[derive(Debug, Clone, Copy)]
struct Offer {
    version: Version,
    from: SocketAddr,
}

/// A node.
#[expect(
    clippy::struct_excessive_bools,
    reason = "properties that know nothing of each other"
)]
#[derive(Debug)]
pub struct Notes {
    options: Options,
    now: Instant,
    all: Option<SocketAddr>,
    shown: Note,
    /// On its way to the disk.
    storing: Option<Note>,
    to_store: Option<Note>,
    offer: Option<Offer>,
    /// A connection is to be opened for the offer.
    opens: bool,
    jobs: VecDeque<JobOp<Job>>,
    /// Notes that are being edited and summed up.
    summing: usize,
    verifying: bool,
    transfers: BTreeMap<StreamId, Transfer>,
    operations: VecDeque<StreamOp<SocketAddr>>,
    events: VecDeque<Event>,
    announce_at: Instant,
    announces: bool,
    finished: bool,
}

impl Notes {
    /// A node that shows what an earlier run has stored.
    #[must_use]
    pub fn new(options: Options, stored: Note) -> Self {
        Self {
            options,
            now: Instant::default(),
            all: None,
            shown: stored,
            storing: None,
            to_store: None,
            offer: None,
            opens: false,
            jobs: VecDeque::new(),
            summing: 0,
            verifying: false,
            transfers: BTreeMap::new(),
            operations: VecDeque::new(),
            events: VecDeque::new(),
            announce_at: Instant::default(),
            announces: false,
            finished: false,
        }
    }

    /// The note that is shown: verified and stored.
    #[must_use]
    pub const fn note(&self) -> &Note {
        &self.shown
    }

    /// Connections with a transfer.
    #[must_use]
    pub fn transfers(&self) -> usize {
        self.transfers.len()
    }

    /// Whether it was shut down.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether it can announce its note.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.all.is_some()
    }

    fn is_newer(&self, version: Version) -> bool {
        let storing = self.storing.as_ref().map(|note| note.version);
        version > self.shown.version && storing.is_none_or(|storing| version > storing)
    }

    fn is_fetching(&self) -> bool {
        let fetches = |it: &Transfer| matches!(it.role, Role::Fetches { .. });
        self.opens || self.verifying || self.transfers.values().any(fetches)
    }

    /// Fetches what was offered, one version at a time.
    fn look_at_offer(&mut self) {
        self.offer = self.offer.filter(|offer| self.is_newer(offer.version));
        if self.offer.is_some() && !self.is_fetching() {
            self.opens = true;
        }
    }

    fn store(&mut self, note: Note) {
        self.storing = Some(note.clone());
        self.to_store = Some(note);
    }

    fn fail(&mut self, version: Version, failure: Failure) {
        self.events.push_back(Event::Failed(version, failure));
        // It is fetched again once it is announced again, by whomever.
        self.offer = None;
    }

    fn complete(&mut self, id: StreamId, header: Header, bytes: Vec<u8>) {
        self.transfers.remove(&id);
        self.operations.push_back(StreamOp::Close(id));
        self.verifying = true;
        self.jobs.push_back(JobOp::Start(Job::Verify(Note {
            version: header.version,
            sum: header.sum,
            bytes: bytes.into(),
        })));
    }

    /// Ends a transfer that came to nothing.
    fn end(&mut self, id: StreamId, failure: Failure) {
        let Some(transfer) = self.transfers.remove(&id) else {
            return;
        };
        match transfer.role {
            Role::Fetches { wanted, .. } => self.fail(wanted, failure),
            Role::Serves(_) if failure == Failure::Closed => {}
            Role::Serves(_) => self.events.push_back(Event::Refused),
        }
    }

    fn abort(&mut self, id: StreamId, failure: Failure) {
        self.operations.push_back(StreamOp::Abort(id));
        self.end(id, failure);
    }

    fn accept(&mut self, id: StreamId) {
        let serves = |it: &&Transfer| matches!(it.role, Role::Serves(_));
        if self.transfers.values().filter(serves).count() >= self.options.served {
            self.events.push_back(Event::Refused);
            self.operations.push_back(StreamOp::Abort(id));
            return;
        }
        let deadline = self.now + self.options.transfer;
        self.transfers.insert(id, Transfer::serve(deadline));
    }

    fn received(&mut self, id: StreamId, bytes: &[u8], end: bool) -> usize {
        let Some(transfer) = self.transfers.get_mut(&id) else {
            return bytes.len();
        };
        match transfer.receive(bytes, end) {
            Progress::Wait(used) => return used,
            Progress::Asked(wanted) if wanted > self.shown.version => {
                self.abort(id, Failure::Malformed);
            }
            Progress::Asked(_) => {
                transfer.answer(&self.shown);
                self.operations.push_back(StreamOp::Write(id));
            }
            Progress::Complete(header, bytes) => self.complete(id, header, bytes),
            Progress::Failed(failure) => self.abort(id, failure),
        }
        bytes.len()
    }
}

impl Machine for Notes {
    type Peer = SocketAddr;
    type Net = Net;
    type Command = Command;
    type Event = Event;
    type Durable = Note;
    type Job = Job;

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], _: Duration) {
        self.now = now.monotonic;
        let Some(heard) = Announcement::decode(message) else {
            return;
        };
        let known = self.offer.map_or(Version::default(), |it| it.version);
        if self.is_newer(heard.version) && heard.version >= known {
            let from: IpAddr = from.ip();
            self.offer = Some(Offer {
                version: heard.version,
                from: SocketAddr::new(from, heard.port),
            });
        }
        self.look_at_offer();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.now = now.monotonic;
        match command {
            Command::Write(bytes) if bytes.len() <= MAX_NOTE => {
                if self.summing > 0 {
                    self.jobs.push_back(JobOp::Cancel);
                }
                self.summing += 1;
                self.jobs.push_back(JobOp::Start(Job::Sum(Note {
                    bytes: bytes.into(),
                    ..Note::default()
                })));
            }
            Command::Write(_) => {}
            Command::NotSummed => {
                self.summing -= 1;
                self.events.push_back(Event::Dropped);
            }
            Command::Summed(note) => {
                self.summing -= 1;
                let heard = self.offer.map_or(0, |offer| offer.version.number);
                let storing = self.storing.as_ref().map_or(0, |it| it.version.number);
                let newest = self.shown.version.number.max(heard).max(storing);
                self.store(Note {
                    version: Version {
                        number: newest + 1,
                        author: self.options.id,
                    },
                    ..note
                });
            }
            Command::Verified { note, is_right } => {
                self.verifying = false;
                if !is_right {
                    self.fail(note.version, Failure::Corrupt);
                } else if self.is_newer(note.version) {
                    self.store(note);
                }
                self.look_at_offer();
            }
            Command::ShutDown => self.finished = true,
        }
    }

    fn handle_link(&mut self, now: Now, net: Net) {
        self.now = now.monotonic;
        self.all = match net {
            Net::Down => None,
            Net::Up(all) => Some(all),
        };
        self.announces = self.all.is_some();
        self.announce_at = self.now + self.options.period;
    }

    fn handle_timeout(&mut self, now: Now) {
        self.now = now.monotonic;
        if self.announce_at <= self.now {
            self.announce_at = self.now + self.options.period;
            self.announces = self.all.is_some();
        }
        let late = self
            .transfers
            .iter()
            .filter(|(_, it)| it.deadline <= self.now);
        let late: Vec<StreamId> = late.map(|(&id, _)| id).collect();
        for id in late {
            self.abort(id, Failure::TimedOut);
        }
        self.look_at_offer();
    }

    fn handle_sent(&mut self, now: Now, _: Ticket, _: Sent) {
        // An announcement that was not sent is repeated by itself.
        self.now = now.monotonic;
    }

    fn handle_stream(
        &mut self,
        now: Now,
        id: StreamId,
        event: StreamEvent<'_, SocketAddr>,
    ) -> usize {
        self.now = now.monotonic;
        match event {
            StreamEvent::Accepted(_) => self.accept(id),
            StreamEvent::Connected => self.operations.push_back(StreamOp::Write(id)),
            StreamEvent::Received { bytes, end } => {
                let used = self.received(id, bytes, end);
                self.look_at_offer();
                return used;
            }
            StreamEvent::Closed(_) => {
                self.end(id, Failure::Closed);
                self.look_at_offer();
            }
        }
        0
    }

    fn handle_stored(&mut self, now: Now, stored: Stored) {
        self.now = now.monotonic;
        let Some(note) = self.storing.take() else {
            return;
        };
        match stored {
            Stored::Done => {
                self.events.push_back(Event::Shown(note.version));
                self.shown = note;
                self.announces = self.all.is_some();
            }
            Stored::Failed => self.fail(note.version, Failure::NotStored),
        }
        self.look_at_offer();
    }

    fn poll_durable(&mut self) -> Option<Note> {
        self.to_store.take()
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        let to = self.all.filter(|_| std::mem::take(&mut self.announces))?;
        let announcement = Announcement {
            version: self.shown.version,
            port: self.options.port,
        };
        let bytes = announcement.encode();
        buf[..bytes.len()].copy_from_slice(&bytes);
        Some(Transmit {
            len: bytes.len(),
            to,
            ticket: Ticket::new(0),
        })
    }

    fn poll_stream(&mut self, vacant: Option<StreamId>) -> Option<StreamOp<SocketAddr>> {
        if let Some(operation) = self.operations.pop_front() {
            return Some(operation);
        }
        let (id, offer) = vacant.zip(self.offer).filter(|_| self.opens)?;
        self.opens = false;
        let deadline = self.now + self.options.transfer;
        self.transfers
            .insert(id, Transfer::fetch(offer.version, deadline));
        Some(StreamOp::Open(offer.from))
    }

    fn poll_write(&mut self, id: StreamId, room: &mut [u8]) -> usize {
        let Some(transfer) = self.transfers.get_mut(&id) else {
            return 0;
        };
        let count = transfer.write(room);
        if count > 0 && transfer.is_written() {
            match transfer.role {
                Role::Fetches { .. } => self.operations.push_back(StreamOp::Finish(id)),
                Role::Serves(None) => {}
                Role::Serves(Some(version)) => {
                    self.events.push_back(Event::Served(version));
                    self.transfers.remove(&id);
                    self.operations.push_back(StreamOp::Close(id));
                }
            }
        }
        count
    }

    fn poll_job(&mut self) -> Option<JobOp<Job>> {
        self.jobs.pop_front()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let transfers = self.transfers.values().map(|it| it.deadline);
        transfers.chain([self.announce_at]).min()
    }
}
