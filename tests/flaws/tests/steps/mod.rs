//! Rules whose flaws the simulator does not detect, because no other rule depends on them. Here, some nodes send their
//! frames to each other, and each frame arrives at once.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Kind, LockMode, LocksPurpose, Message};
use ring_proto::lab2::{
    Command, Constants, Event, FOREVER, Grade, Inspect, LockName, LockProgram, LockRequest, Pause,
    PauseReason, StoredState,
};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, SendOutcome, StoreOutcome};

/// A check of a state machine. Returns the broken rule.
pub(crate) type Check = fn() -> Result<(), String>;

/// With this MTU, a PING has room for a notice with a short reason, but not for a notice with a long reason.
const NOTICE_MTU: usize = 170;
const MTU: usize = 1_500;
const HOUR: Duration = Duration::from_secs(3_600);
/// The time in which nodes form a ring, and may grant locks of all grades.
const STARTED: Duration = Duration::from_secs(5);
const DELIVERY_TIME: Duration = Duration::from_micros(50);

/// The end and the reason of a pause.
type Known = Option<(Option<Instant>, PauseReason)>;

struct Ring<M> {
    nodes: Vec<M>,
    now: Now,
    /// The pause of the first node, as other nodes report it.
    pause: Known,
    /// The number of renewals of leases that nodes have sent.
    renewals: usize,
    /// Whether a frame of this kind is lost between two nodes.
    is_lost: Box<dyn Fn(usize, usize, Kind) -> bool>,
}

fn mac(at: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, u8::try_from(at).expect("few nodes")])
}

impl<M: Inspect> Ring<M> {
    /// Starts nodes, and waits until they form a ring. The owner keeps the idle token.
    fn new(count: usize, mtu: usize) -> Self {
        let blank = StoredState {
            my_token_number: 0,
            known: None,
            stamp: None,
        };
        let now = Now {
            monotonic: Instant::from_nanos(1_000_000_000),
            wall: 1_700_000_000_000_000_000,
        };
        let constants = Constants {
            idle_hold: FOREVER,
            expect: Some(count),
            ..Constants::default()
        };
        let start = |at| {
            let mut node = M::start(constants.clone(), blank);
            let ip = [0; 16];
            let mac = mac(at);
            node.handle_link(now, LinkState::Up { mac, ip, mtu });
            node
        };
        let mut ring = Self {
            nodes: (0..count).map(start).collect(),
            now,
            pause: None,
            renewals: 0,
            is_lost: Box::new(|_, _, _| false),
        };
        ring.run(STARTED);
        ring
    }

    /// Returns the owner, and the two other nodes of a ring of three.
    fn of_three(&self) -> [usize; 3] {
        let owner = self.nodes.iter().position(M::may_use);
        let owner = owner.expect("a node owns the token");
        [0, 1, 2].map(|by| (owner + by) % 3)
    }

    fn holds(&self, at: usize, session: u64) -> bool {
        self.nodes[at].lock_lease_end(session).is_some()
    }

    fn command(&mut self, at: usize, command: Command) {
        self.nodes[at].handle_command(self.now, command);
        self.run(DELIVERY_TIME);
    }

    /// Lets this time pass.
    fn run(&mut self, time: Duration) {
        let end = self.now.monotonic + time;
        loop {
            while self.exchange() {}
            let timeouts = self.nodes.iter().filter_map(M::poll_timeout);
            let next = timeouts.min().filter(|&at| at <= end);
            let at = next.unwrap_or(end).max(self.now.monotonic);
            let passed = at.since(self.now.monotonic);
            self.now.monotonic = at;
            self.now.wall += u64::try_from(passed.as_nanos()).expect("a short time");
            if next.is_none() {
                return;
            }
            for node in &mut self.nodes {
                if node.poll_timeout().is_some_and(|due| due <= at) {
                    node.handle_timeout(self.now);
                }
            }
        }
    }

    /// Carries out the outputs of all nodes. Returns whether the nodes sent any frames.
    fn exchange(&mut self) -> bool {
        let mut frames = Vec::new();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            while node.poll_durable().is_some() {
                node.handle_stored(self.now, StoreOutcome::Done);
            }
            let mut buffer = [0; 2048];
            while let Some(transmit) = node.poll_transmit(&mut buffer) {
                frames.push((at, buffer[..transmit.len].to_vec()));
                node.handle_sent(self.now, transmit.ticket, SendOutcome::Accepted);
            }
            if node.wants_flush_report() {
                node.handle_flushed(self.now);
            }
            while let Some(event) = node.poll_event() {
                note_pause(&mut self.pause, self.now, event);
            }
        }
        for (from, bytes) in &frames {
            self.deliver(*from, bytes);
        }
        !frames.is_empty()
    }

    fn deliver(&mut self, from: usize, bytes: &[u8]) {
        let frame = Frame::decode(bytes).expect("a legal frame");
        if let Message::Locks { purpose, .. } = frame.message {
            self.renewals += usize::from(purpose == LocksPurpose::Renew);
        }
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let is_receiver = [MacAddr::BROADCAST, mac(at)].contains(&frame.destination);
            let is_lost = (self.is_lost)(from, at, frame.message.kind());
            if at != from && is_receiver && !is_lost {
                node.handle_message(self.now, (), bytes, Duration::ZERO);
            }
        }
    }
}

fn note_pause(known: &mut Known, now: Now, event: Event) {
    match event {
        Event::MemberPaused { left, reason, .. } => {
            *known = Some((left.map(|left| now.monotonic + left), reason));
        }
        Event::MemberResumed { .. } => *known = None,
        _ => {}
    }
}

/// Checks that a member knows each pause of another node (`docs/reference/lab2/membership.md` E7 and E8).
pub(crate) fn pauses<M: Inspect>() -> Result<(), String> {
    let mut ring = Ring::<M>::new(2, NOTICE_MTU);
    let mut announce = |pause: Option<(Option<Duration>, &str)>| {
        let pause = pause.map(|(left, reason)| Pause {
            until: left.map(|left| ring.now.monotonic + left),
            reason: PauseReason::new(reason).expect("a legal reason"),
        });
        ring.command(0, Command::Pause(pause));
        (ring.pause, pause.map(|pause| (pause.until, pause.reason)))
    };
    for (pause, what) in [
        (Some((Some(HOUR), "disk")), "a pause"),
        (Some((None, "cable")), "another pause"),
        (None, "the end of a pause"),
        (Some((None, "disk")), "a second pause"),
    ] {
        let (known, announced) = announce(pause);
        if known != announced {
            return Err(format!("{what}: {known:?} instead of {announced:?}"));
        }
    }
    let too_long = "a reason that does not fit into a PING of this ring";
    match announce(Some((None, too_long))) {
        (None, _) => Ok(()),
        (known, _) => Err(format!("a PING without a notice: {known:?}")),
    }
}

fn take_lock(session: u64, grade: Grade) -> Command {
    Command::TakeLock(LockRequest {
        session,
        name: LockName::new("backup").expect("a legal name"),
        mode: LockMode::Exclusive,
        grade,
        program: LockProgram::new("test"),
    })
}

/// Checks that a lock of grade quorum waits for a lock of a lower grade that its owner does not know
/// (`docs/reference/lab2/locks.md` I29).
pub(crate) fn lower_locks<M: Inspect>() -> Result<(), String> {
    let mut ring = Ring::<M>::new(3, MTU);
    let [first, next, member] = ring.of_three();
    ring.is_lost = Box::new(move |from, to, kind| match kind {
        Kind::Locks => from != member && to != member,
        kind => kind == Kind::LocksQuestion,
    });
    ring.command(first, take_lock(7, Grade::Alone));
    assert!(ring.holds(first, 7));
    ring.command(first, Command::Yield(Some(mac(next))));
    // The next owner asks for the locks of lower grades without success, and gives up.
    ring.run(Constants::default().take_timeout * 5);
    ring.command(member, take_lock(8, Grade::Quorum));
    ring.run(Constants::default().heartbeat);
    let mut views = ring.nodes[member].lock_views().into_iter();
    assert!(views.any(|it| it.session == 8 && it.is_held));
    if ring.holds(member, 8) {
        return Err("the lock of grade quorum ignores the lower lock".to_owned());
    }
    Ok(())
}

/// Checks that a member renews its lease with the next owner if an owner did not answer
/// (`docs/reference/lab2/locks.md` I37).
pub(crate) fn renewals<M: Inspect>() -> Result<(), String> {
    let mut ring = Ring::<M>::new(3, MTU);
    let [owner, holder, next] = ring.of_three();
    ring.command(holder, take_lock(7, Grade::Alone));
    assert!(ring.holds(holder, 7));
    ring.is_lost = Box::new(|_, _, kind| kind == Kind::Locks);
    let before = ring.renewals;
    while ring.renewals == before {
        ring.run(DELIVERY_TIME);
    }
    ring.run(Constants::default().take_timeout);
    let before = ring.renewals;
    ring.command(owner, Command::Yield(Some(mac(next))));
    ring.run(Constants::default().heartbeat);
    if ring.renewals == before {
        return Err("no renewal reaches the next owner at once".to_owned());
    }
    Ok(())
}
