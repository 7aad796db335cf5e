//! One simulated node: the driver that ships, and a link, a disk and a witness for it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, Frame, Token};
use ring_proto::lab2::{Constants, Durable, Event, Reason, State, StoredStamp};
use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, Stored};

use super::checks::Checks;
use super::clock::Clock;
use super::once::Errand;
use super::outcome::{Rule, Stats};
use super::plan::MTU;
use super::queue::Bytes;
use super::record::Record;
use super::rng::Rng;
use super::settings::FaultKind;
use crate::driver::{Driver, Link, Observe, ReceiveBatch, Refused, Store, TransmitBatch};

/// Frames that wait for a process that does not read them. Fewer than one turn of the driver reads
/// before a time-out: a real socket's queue is bounded by the same rule.
pub(super) const QUEUE: usize = 200;
/// Nothing stored by an earlier run.
pub(super) const BLANK: Durable = Durable {
    my_token_number: 0,
    known: None,
    stamp: None,
};
/// Never, as a time.
pub(super) const NEVER: u64 = u64::MAX;

/// What a node wants the token for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub(super) number: u32,
    /// In nanoseconds.
    pub(super) work: u64,
    pub(super) begun: bool,
    /// How many tenures there had been when it was wanted.
    pub(super) tenures: u64,
}

/// What a process that stands still finds when it goes on, beside frames.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Missed {
    /// The work that it wanted the token for was done.
    pub(super) done: bool,
    /// The interface's addresses changed.
    pub(super) moved: bool,
}

/// What an application was told of a token, or of a quorum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) token: Token,
    /// By the node's clock.
    pub(super) until: Instant,
}

/// One machine with its place on the segment.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that know nothing of each other"
)]
pub(super) struct Node<M: Machine> {
    pub(super) mac: MacAddr,
    /// The number of its network card.
    pub(super) card: u8,
    /// It has no link.
    pub(super) unplugged: bool,
    pub(super) ip: [u8; 16],
    /// The longest payload that its interface carries.
    pub(super) mtu: usize,
    /// `None`: the process is dead.
    pub(super) driver: Option<Driver<M>>,
    /// The state file.
    pub(super) durable: Cell<Durable>,
    /// Which cannot be written.
    pub(super) disk_full: bool,
    /// The stamps in it.
    pub(super) stamps: RefCell<Vec<StoredStamp>>,
    pub(super) constants: Rc<Constants>,
    pub(super) clock: Clock,
    /// What has arrived, with the node's time of arrival.
    pub(super) inbox: VecDeque<(Bytes, Instant)>,
    /// The earliest wake-up that is scheduled, or [`NEVER`].
    pub(super) armed: u64,
    /// A slow node's turn lasts until then.
    pub(super) busy_until: u64,
    /// How long a turn takes, in nanoseconds.
    pub(super) slow: u64,
    /// When the process was started, or its address changed.
    pub(super) up_since: u64,
    /// The process stands still, and what it has missed.
    pub(super) paused: Option<Missed>,
    /// It was asked to shut down, and has not ended yet.
    pub(super) leaving: bool,
    /// How many send calls in 1,000 are refused.
    pub(super) refuse: u16,
    /// It was told to own nothing, and perhaps not that this is over: a process that stands still hears
    /// nothing.
    pub(super) held_off: bool,
    /// Nothing reaches it.
    pub(super) deaf: bool,
    /// Frames to single stations that it sends are lost, or those that it is to receive.
    pub(super) unicast_lost: (bool, bool),
    /// Its interface refuses frames to a single station.
    pub(super) unicast_refused: bool,
    /// Which part of a cut segment it is in.
    pub(super) group: u8,
    /// When its last frame arrives: a clear segment does not reorder.
    pub(super) last_due: u64,
    /// The token that it believes to hold.
    pub(super) held: Option<Token>,
    pub(super) may_use: bool,
    /// The last token that it held.
    pub(super) last_held: Option<Token>,
    pub(super) job: Option<Job>,
    /// The job that it wants to run once in a period.
    pub(super) errand: Option<Errand>,
    /// What its application was told of a quorum last.
    pub(super) claim: Option<Claim>,
    /// What its application was told last of its token, if it works with it.
    pub(super) lease: Option<Claim>,
    /// Its state file was lost: it is not started before this time.
    pub(super) down_until: u64,
}

impl<M: Machine> Node<M> {
    pub(super) fn new(mac: MacAddr, ip: [u8; 16], epoch: u64, constants: Rc<Constants>) -> Self {
        Self {
            mac,
            card: 0,
            unplugged: false,
            ip,
            mtu: MTU.into(),
            driver: None,
            durable: Cell::new(BLANK),
            disk_full: false,
            stamps: RefCell::default(),
            constants,
            clock: Clock::new(epoch),
            inbox: VecDeque::new(),
            armed: NEVER,
            busy_until: 0,
            slow: 0,
            up_since: 0,
            paused: None,
            leaving: false,
            refuse: 0,
            held_off: false,
            deaf: false,
            unicast_lost: (false, false),
            unicast_refused: false,
            group: 0,
            last_due: 0,
            held: None,
            may_use: false,
            last_held: None,
            job: None,
            errand: None,
            claim: None,
            lease: None,
            down_until: 0,
        }
    }

    /// Whether the process is there and not stopped.
    pub(super) const fn is_running(&self) -> bool {
        self.driver.is_some() && self.paused.is_none()
    }
}

/// What is written down of a run.
#[derive(Default)]
pub(super) struct Books {
    pub(super) checks: Checks,
    pub(super) stats: Stats,
    pub(super) record: Option<Box<dyn Record>>,
}

/// A frame that a node has handed to its link.
pub(super) struct Outgoing {
    pub(super) bytes: Bytes,
    pub(super) to: MacAddr,
    pub(super) kind: usize,
}

/// One input of one node, and what comes of it.
pub(super) struct Scene<'a> {
    pub(super) at: u64,
    pub(super) node: usize,
    pub(super) durable: &'a Cell<Durable>,
    pub(super) stamps: &'a RefCell<Vec<StoredStamp>>,
    pub(super) books: RefCell<&'a mut Books>,
    /// Frames sent since the last received one was done with.
    pub(super) replies: Cell<u32>,
    /// Whether a lease has expired since then.
    pub(super) expired: Cell<bool>,
    /// How many members there are since the table has grown; 0: it has not.
    pub(super) grown: Cell<usize>,
}

impl Scene<'_> {
    fn time(&self) -> Duration {
        Duration::from_nanos(self.at)
    }
}

/// The node's link.
pub(super) struct Wire<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) inbox: &'a mut VecDeque<(Bytes, Instant)>,
    pub(super) outgoing: &'a mut Vec<Outgoing>,
    pub(super) rng: &'a mut Rng,
    pub(super) refuse: u16,
    pub(super) refuse_unicast: bool,
    pub(super) mtu: usize,
}

impl Link for Wire<'_> {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        batch.clear();
        let mut books = self.scene.books.borrow_mut();
        while let Some(buffer) = batch.next_buffer() {
            let Some((bytes, arrived)) = self.inbox.pop_front() else {
                break;
            };
            let len = bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
            let age = now.monotonic.since(arrived);
            batch.push(len, (), now, age);
            books.stats.delivered += 1;
            if let Some(record) = &mut books.record {
                record.heard(self.scene.time(), self.scene.node, &bytes, age);
            }
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        let Scene { at, node, .. } = *self.scene;
        let mut books = self.scene.books.borrow_mut();
        let mut accepted = 0;
        let longest = ETHERNET_HEADER_LEN + self.mtu;
        if batch
            .iter()
            .next()
            .is_some_and(|(bytes, ())| bytes.len() > longest)
        {
            return Err(Refused::TooLong);
        }
        for (bytes, ()) in batch.iter() {
            if bytes.len() > longest {
                break;
            }
            if self.rng.chance(self.refuse) {
                books.stats.met[FaultKind::Refuse as usize] += 1;
                break;
            }
            if self.refuse_unicast && bytes[..6] != [0xff; 6] {
                books.stats.met[FaultKind::Unicast as usize] += 1;
                break;
            }
            accepted += 1;
            match Frame::decode(bytes) {
                Ok(frame) => {
                    let durable = self.scene.durable.get();
                    books.checks.told(at, node, &frame, &durable);
                    self.outgoing.push(Outgoing {
                        bytes: bytes.into(),
                        to: frame.destination,
                        kind: frame.message.kind() as usize,
                    });
                }
                Err(error) => {
                    let what = error.to_string();
                    books.checks.broken(at, Some(node), Rule::Valid, what);
                }
            }
        }
        let replies = u32::try_from(accepted).unwrap_or(u32::MAX);
        self.scene.replies.set(self.scene.replies.get() + replies);
        if accepted == 0 && !batch.is_empty() {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory).into());
        }
        Ok(accepted)
    }
}

/// The node's state file.
pub(super) struct Disk<'a> {
    pub(super) scene: &'a Scene<'a>,
    /// It takes nothing.
    pub(super) full: bool,
}

impl Store<Durable> for Disk<'_> {
    fn store(&mut self, durable: &Durable) -> Stored {
        if self.full {
            return Stored::Failed;
        }
        self.scene.durable.set(Durable {
            stamp: None,
            ..*durable
        });
        if let Some(stamp) = durable.stamp {
            let mut stamps = self.scene.stamps.borrow_mut();
            stamps.retain(|stored| stored.place != stamp.place);
            stamps.push(stamp);
        }
        Stored::Done
    }
}

/// Sees the machine's events.
pub(super) struct Witness<'a>(pub(super) &'a Scene<'a>);

impl Observe<Event> for Witness<'_> {
    fn observe(&mut self, _now: Now, event: &Event) {
        let scene = self.0;
        let mut books = scene.books.borrow_mut();
        match *event {
            // All that one frame brings about is drained before the next is handled, and its
            // events after what it was answered with.
            Event::Received { .. } | Event::Dropped { .. } => {
                let replies = scene.replies.replace(0);
                let expired = scene.expired.replace(false);
                books.checks.replies(scene.at, scene.node, replies, expired);
                if let Event::Dropped { .. } = event {
                    books.stats.dropped += 1;
                }
            }
            Event::StateChanged { to, reason, .. } => {
                if reason == Reason::LeaseExpired {
                    scene.expired.set(true);
                    books.stats.expired_leases += 1;
                }
                if to == State::Owner && reason == Reason::Elected {
                    books.stats.elections += 1;
                }
            }
            Event::HandOverFailed { .. } => books.stats.failed_hand_overs += 1,
            Event::MemberAdded { members, .. } => scene.grown.set(members),
            _ => {}
        }
        if let Some(record) = &mut books.record {
            record.told(scene.time(), scene.node, event);
        }
    }
}
