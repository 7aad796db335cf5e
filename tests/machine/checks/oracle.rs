//! The oracle: the rules that one state machine keeps at every time (`docs/reference/lab2/README.md`). The oracle sees
//! only the frames and the public interface of the state machine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, Frame, Member, Message, PROGRESS_MAX, Purpose, Token};
use ring_proto::lab2::{Constants, Event, Grade, Lab2, Presence, Reason, State, StoredState};
use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, SendOutcome};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

/// A number of handovers that no script reaches.
const SCRIPT_HANDOVERS_MAX: u64 = 1 << 32;

#[derive(Debug, Default)]
pub(super) struct Output {
    pub frames: Vec<Vec<u8>>,
    pub events: Vec<Event>,
}

impl Output {
    /// Whether the input reached an OWNER that had been silent for too long. The frames that such an OWNER then sends
    /// are not answers to the input.
    pub(super) fn has_lost_lease(&self) -> bool {
        self.events.iter().any(|event| {
            matches!(event, Event::StateChanged { reason, .. } if *reason == Reason::LeaseExpired)
        })
    }

    /// Whether a member did not accept the token, or the offer could not be sent.
    pub(super) fn has_failed_handover(&self) -> bool {
        let failed = |event: &Event| matches!(event, Event::HandoverFailed { .. });
        self.events.iter().any(failed)
    }
}

pub(super) struct Oracle {
    pub link_up: bool,
    /// The address that the interface has just lost. As its next frame, the node may send one more LEAVING from this
    /// address.
    pub lost_address: Option<MacAddr>,
    pub shutting_down: bool,
    /// The strongest token that the node has received or created.
    pub known: Option<Token>,
    pub held: Option<Token>,
    /// The current offer and its receiver.
    pub offered: Option<(Token, MacAddr)>,
    /// The number of the last heartbeat that the node broadcast.
    pub last_beat: u32,
    /// Whether any member has announced a profile. One value in a profile is the time limit of the member's offers.
    pub has_profiles: bool,
    /// The number and the digest of the node's last question about jobs.
    pub last_question: (u32, u64),
    pub mtu: usize,
    /// The members that promised to help only the holder of this token.
    promised: BTreeSet<MacAddr>,
    longest_promise: Duration,
    expect: Option<usize>,
    /// The member to which each token was offered. The node may offer a token to only one member.
    successors: BTreeMap<[u8; 18], MacAddr>,
    tenures: BTreeSet<[u8; 18]>,
    /// The time of the last broadcast heartbeat, or of the start of the tenure.
    last_heartbeat: Instant,
    latest: Instant,
    members: BTreeSet<MacAddr>,
    waiter_timeout: Duration,
    longest_sleep: Duration,
    max_members: usize,
}

/// The length of a lock's lease, as a multiple of WAITER_TIMEOUT (`docs/reference/lab2/locks.md` I39).
const LEASE_PERIODS: u32 = 4;

impl Oracle {
    pub(super) fn new(constants: &Constants) -> Self {
        Self {
            link_up: false,
            lost_address: None,
            shutting_down: false,
            known: None,
            held: None,
            offered: None,
            last_beat: 0,
            has_profiles: false,
            last_question: (0, 0),
            mtu: 0,
            promised: BTreeSet::new(),
            longest_promise: Duration::ZERO,
            expect: constants.expect,
            successors: BTreeMap::new(),
            tenures: BTreeSet::new(),
            last_heartbeat: Instant::default(),
            latest: Instant::default(),
            members: BTreeSet::new(),
            waiter_timeout: constants.waiter_timeout(),
            longest_sleep: constants.waiter_timeout() + constants.heartbeat,
            max_members: constants.max_members,
        }
    }

    /// Sets the expected state of a new process from the stored state.
    pub(super) fn on_restart(&mut self, durable: StoredState) {
        self.known = durable.known;
        self.held = None;
        self.offered = None;
        self.members.clear();
        self.has_profiles = false;
        self.link_up = false;
        self.shutting_down = false;
    }

    /// Whether a forged frame has set the progress to its maximum. Tokens cannot grow any further, so their order
    /// guarantees nothing (`docs/reference/lab2/states.md T8`).
    pub(super) fn is_exhausted(&self) -> bool {
        let last = PROGRESS_MAX - SCRIPT_HANDOVERS_MAX;
        self.known.is_some_and(|known| known.progress > last)
    }

    pub(super) fn learn(&mut self, token: Token) {
        if self
            .known
            .is_none_or(|known| token.is_stronger_than(&known))
        {
            self.known = Some(token);
        }
    }

    /// Records a received frame that the state machine must not ignore.
    pub(super) fn on_frame(&mut self, frame: &Frame<'_>) {
        if let Message::Ping {
            promise: Some(promise),
            ..
        } = frame.message
            && self.held == Some(promise.token)
            && promise.lasts > 0
        {
            self.promised.insert(frame.author);
            let lasts = Duration::from_nanos(promise.lasts);
            self.longest_promise = self.longest_promise.max(lasts);
        }
    }

    /// Checks `docs/reference/lab2/states.md D1`: the stored state only grows.
    pub(super) fn check_stored(&mut self, before: StoredState, after: StoredState) {
        if let Some(known) = before.known {
            let now = after.known.expect("the stored state keeps the known token");
            assert!(!known.is_stronger_than(&now), "the node forgot {known:?}");
        }
        let made = after.my_token_number.wrapping_sub(before.my_token_number);
        assert!(made <= 1, "token numbers were skipped");
        if let Some(known) = after.known {
            self.learn(known);
        }
    }

    /// Checks a frame that the node hands to the link. The link may refuse the frame.
    pub(super) fn check_sent(
        &mut self,
        bytes: &[u8],
        me: MacAddr,
        stored: StoredState,
        sent: SendOutcome,
        now: Now,
    ) {
        assert!(self.link_up, "the node sends on a link that is down");
        let frame = Frame::decode(bytes).expect("the node sends only frames that can be decoded");
        assert!(
            bytes.len() <= ETHERNET_HEADER_LEN + self.mtu,
            "a frame of {} bytes exceeds the limit of {}: {frame:?}",
            bytes.len(),
            self.mtu
        );
        let author = match frame.message {
            Message::Leaving if frame.destination == MacAddr::BROADCAST => {
                self.lost_address.take().unwrap_or(me)
            }
            _ => me,
        };
        self.lost_address = None;
        assert_eq!(frame.author, author);
        assert_ne!(frame.destination, me, "the node sends to itself");
        let has_profiles = match frame.message {
            Message::TakeToken { token, .. }
            | Message::TokenIsHere { token, .. }
            | Message::TokenWasHereRecently { token, .. } => Some(token),
            _ => None,
        };
        if let Some(token) = has_profiles {
            let known = stored.known.expect("a token is stored before it is sent");
            assert!(
                !token.is_stronger_than(&known),
                "the node sends {token:?} before it stores the token"
            );
        }
        if sent == SendOutcome::Failed {
            return;
        }
        match frame.message {
            Message::TakeToken { token, .. } => {
                assert_ne!(
                    frame.destination,
                    MacAddr::BROADCAST,
                    "the node broadcasts an offer"
                );
                let to = *self
                    .successors
                    .entry(token.priority())
                    .or_insert(frame.destination);
                let once = to == frame.destination || self.is_exhausted();
                assert!(once, "the node offers {token:?} to a second member");
                self.offered = Some((token, to));
            }
            Message::TokenIsHere { beat, .. } if frame.destination == MacAddr::BROADCAST => {
                self.last_heartbeat = now.monotonic;
                self.last_beat = beat.unwrap_or(self.last_beat);
            }
            Message::Stamps {
                serial,
                purpose: Purpose::Ask,
                digest,
                ..
            } => self.last_question = (serial, digest),
            _ => {}
        }
    }

    /// Checks the state machine after an input.
    pub(super) fn check(&mut self, machine: &Lab2, events: &[Event], now: Now, me: MacAddr) {
        self.latest = self.latest.max(now.monotonic);
        let owner = machine.state() == State::Owner && !machine.is_finished();
        let held = machine.token().filter(|_| owner);
        self.check_token(machine, held);
        self.check_grade(machine);
        self.check_table(machine, events, me);
        let busy = self.link_up && !machine.is_finished();
        match machine.poll_timeout() {
            Some(due) => {
                let sleep = due.since(self.latest);
                // A node that is apart from the ring uses the ring's times.
                let lives_by = machine.constants();
                let longest = lives_by.waiter_timeout() + lives_by.heartbeat;
                let longest = longest.max(self.longest_sleep);
                // A node without a link sends no renewals. It sleeps until the lease of its lock ends.
                let longest = longest * if self.link_up { 1 } else { LEASE_PERIODS };
                assert!(sleep <= longest, "the node sleeps for {sleep:?}");
            }
            None => assert!(!busy, "the node has no deadline"),
        }
    }

    fn check_token(&mut self, machine: &Lab2, held: Option<Token>) {
        if let Some(token) = held {
            self.learn(token);
            // If a tenure continues with a token that is stronger than the token of another owner, earlier promises
            // still count.
            let goes_on = self.held.is_some_and(|held| machine.is_lock_good(held));
            if self.held != Some(token) {
                let new = self.tenures.insert(token.priority());
                let grows = self.held.is_none_or(|held| token.is_stronger_than(&held));
                if !self.is_exhausted() {
                    assert!(new, "the node holds {token:?} for a second time");
                    assert!(grows, "the fencing token goes back to {token:?}");
                }
                self.last_heartbeat = self.latest;
                self.offered = None;
                if !goes_on {
                    self.promised.clear();
                    self.longest_promise = Duration::ZERO;
                }
            }
            let silent = self.latest.since(self.last_heartbeat);
            assert!(
                silent < 2 * self.waiter_timeout,
                "the node is still OWNER after {silent:?} of silence"
            );
        } else {
            self.offered = None;
            let known = machine.token();
            assert!(
                known.is_none_or(|known| self
                    .known
                    .is_some_and(|has_profiles| !known.is_stronger_than(&has_profiles))),
                "the node knows only {known:?}, although it received {:?}",
                self.known
            );
        }
        self.held = held;
        assert!(
            !machine.may_use_token() || held.is_some() && self.offered.is_none(),
            "the node uses a token that it has offered"
        );
        assert!(
            !machine.may_use_token() || !(machine.is_paused() || machine.is_unfit()),
            "the node uses a token although it is paused or unfit"
        );
    }

    /// Checks that promises of members for this tenure support the grade, and that the grade does not last longer than
    /// these promises.
    fn check_grade(&self, machine: &Lab2) {
        let grade = machine.grade();
        let until = machine.grade_until();
        assert_eq!(grade == Grade::Alone, until.is_none());
        let Some(until) = until.filter(|_| !self.is_exhausted()) else {
            return;
        };
        assert!(
            machine.may_use_token(),
            "the node reports {grade:?} for a token that it may not use"
        );
        // A member that has sent LEAVING counts only as one of the expected members.
        let heard = machine.members().filter(|it| {
            let is_there = it.last_seen.is_some() && it.presence != Presence::Left;
            is_there || machine.is_own(it.mac)
        });
        let roster = match self.expect {
            Some(expected) => expected.max(heard.count()),
            // If a member announces an expected number, members that have left do not count in addition to that number.
            None if machine.expected_members() > 0 => {
                let left = machine.members().filter(|it| it.presence == Presence::Left);
                let known = machine.members().len() - left.count();
                machine.expected_members().max(known)
            }
            None => machine.members().len(),
        };
        if roster == 1 {
            assert_eq!(Some(until), machine.lease_until());
            return;
        }
        assert!(!self.promised.is_empty(), "no member has promised anything");
        assert!(
            until <= self.latest + self.longest_promise,
            "the grade lasts until {until:?}, longer than any promise, at {:?}",
            self.latest
        );
        if grade == Grade::Quorum {
            let voters = 1 + self.promised.len();
            assert!(
                voters > roster / 2,
                "the node counts {voters} of {roster} members as a quorum"
            );
        }
    }

    fn check_table(&mut self, machine: &Lab2, events: &[Event], me: MacAddr) {
        let members: Vec<Member> = machine
            .members()
            .map(|member| Member {
                mac: member.mac,
                ip: member.ip,
            })
            .collect();
        assert!(
            members.is_sorted_by(|a, b| a.mac < b.mac),
            "the members are not in the order of their MACs"
        );
        // The node may remove a member that is silent for a long time, but only with an event. The node never removes
        // itself.
        let forgotten: BTreeSet<MacAddr> = events
            .iter()
            .filter_map(|event| match event {
                Event::MemberForgotten { mac, .. } => Some(*mac),
                _ => None,
            })
            .collect();
        assert!(
            !forgotten.contains(&me),
            "the node removed itself from its table"
        );
        let macs: BTreeSet<MacAddr> = members.iter().map(|member| member.mac).collect();
        for mac in self.members.difference(&macs) {
            assert!(
                forgotten.contains(mac),
                "the node removed {mac:?} without an event"
            );
        }
        // The table always has room for the node itself, under each of its two addresses.
        assert!(
            members.len() <= self.max_members + 2,
            "the table has too many members"
        );
        self.members = macs;
        if self.link_up && !machine.is_finished() {
            assert!(members.iter().any(|member| member.mac == me));
        }
        let digest = machine.digest();
        assert_eq!(digest.size as usize, members.len());
        assert_eq!(
            digest.hash,
            xxh3_64(members.as_bytes()),
            "the digest of the table has a wrong hash"
        );
    }
}
