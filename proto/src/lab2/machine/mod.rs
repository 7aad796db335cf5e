//! The machine's data, and how the driver's calls get to the rules of each state.

pub(crate) mod context;
pub(crate) mod data;
pub(crate) mod input;
pub(crate) mod judged;
pub(crate) mod link;
pub(crate) mod outbox;
pub(crate) mod output;
pub(crate) mod pause;
pub(crate) mod shutdown;
pub(crate) mod snapshot;
pub(crate) mod storage;
pub(crate) mod timer;
pub(crate) mod view;
pub(crate) mod wanting;

use std::convert::Infallible;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Frame, Message, Profile, Token};

use crate::lab2::confidence::backing::Contest;
use crate::lab2::confidence::promise::Promise;
use crate::lab2::confidence::support::Support;
use crate::lab2::diagnostics::cards::Cards;
use crate::lab2::diagnostics::trouble::Troubles;
use crate::lab2::election::known::Known;
use crate::lab2::election::rivals::Rivals;
use crate::lab2::jobs::once::Jobs;
use crate::lab2::machine::context::Context;
use crate::lab2::machine::outbox::{Content, Outgoing};
use crate::lab2::machine::output::Output;
use crate::lab2::machine::shutdown::Shutdown;
use crate::lab2::machine::storage::Storage;
use crate::lab2::machine::timer::Timer;
use crate::lab2::members::apart::Middle;
use crate::lab2::members::hearing::Hearing;
use crate::lab2::members::silence::Silence;
use crate::lab2::members::sweep::Sweep;
use crate::lab2::members::table::Table;
use crate::lab2::tenure::role::{Role, Search};
use crate::lab2::{Command, Constants, Durable, Event, Reason, StoredStamp};
use crate::throttle::Throttle;
use crate::time::{Instant, Now};
use crate::timers::TimerKind;
use crate::{LinkState, Machine, Sent, Stored, Ticket, Transmit};

/// The Lab2 machine of one node. See [the contract](crate#contract) of its calls.
#[derive(Debug, Clone)]
pub struct Lab2 {
    pub(crate) context: Context,
    pub(crate) role: Role,
    pub(crate) table: Table,
    pub(crate) known: Known,
    /// Who is heard to hold the token.
    pub(crate) owner: Option<MacAddr>,
    /// When a broadcast TOKEN_IS_HERE was last heard or sent.
    pub(crate) last_broadcast: Option<Instant>,
    /// Who confirms the own tenure.
    pub(crate) support: Support,
    /// Whose tenure this node has confirmed last.
    pub(crate) promise: Option<Promise>,
    /// The application has work for the token.
    pub(crate) want: bool,
    /// Since when this node asks for the token, or when it last asked the holder alone.
    pub(crate) asked: Option<Instant>,
    /// It takes part, but owns nothing.
    pub(crate) paused: bool,
    /// The ring's times; `None`: all members say the same as this node.
    pub(crate) middle: Option<Middle>,
    /// This node's times are too far from them.
    pub(crate) apart: bool,
    /// PINGs to all because somebody holds a wrong ip for this node.
    pub(crate) corrections: Throttle,
    pub(crate) rivals: Rivals,
    /// What this owner remembers of other owners.
    pub(crate) contest: Contest,
    /// How tables become equal in a large ring.
    pub(crate) sweep: Sweep,
    /// What is known of jobs that run once in a period.
    pub(crate) jobs: Jobs,
    /// Who hears whom, as far as this node can tell.
    pub(crate) hearing: Hearing,
    /// What is wrong between this node and others.
    pub(crate) troubles: Troubles,
    /// What members tell people about themselves.
    pub(crate) cards: Cards,
    /// Who is silent, and what this node does about it.
    pub(crate) silence: Silence,
    pub(crate) shutdown: Shutdown,
    pub(crate) storage: Storage,
    pub(crate) out: Output,
}

impl Lab2 {
    /// A machine whose link is down, with what an earlier run has stored.
    #[must_use]
    pub fn new(constants: Constants, durable: Durable) -> Self {
        let table = Table::new(constants.max_members);
        Self {
            context: Context::new(constants),
            role: Role::Looser(Search::default()),
            table,
            known: Known::new(&durable),
            owner: None,
            last_broadcast: None,
            support: Support::new(),
            promise: None,
            want: false,
            asked: None,
            paused: false,
            middle: None,
            apart: false,
            corrections: Throttle::default(),
            rivals: Rivals::default(),
            contest: Contest::default(),
            sweep: Sweep::new(),
            jobs: Jobs::default(),
            hearing: Hearing::default(),
            troubles: Troubles::default(),
            cards: Cards::default(),
            silence: Silence::default(),
            shutdown: Shutdown::No,
            storage: Storage::new(durable),
            out: Output::new(),
        }
    }

    /// Gives it the stamps that an earlier run has stored, before anything else.
    #[must_use]
    pub fn with_stamps(mut self, stored: impl IntoIterator<Item = StoredStamp>) -> Self {
        self.jobs.stamps.recalled.extend(stored);
        self
    }

    /// The own address. Only asked for while the link is or was up.
    pub(crate) fn me(&self) -> MacAddr {
        self.context.me()
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.out.event(event);
    }

    pub(crate) fn send(&mut self, to: MacAddr, content: Content) {
        self.out.send(to, content);
    }

    pub(crate) fn broadcast(&mut self, content: Content) {
        self.send(MacAddr::BROADCAST, content);
    }

    pub(crate) fn timer_in(&mut self, timer: Timer, delay: Duration) {
        self.out.set(timer, self.context.now() + delay);
    }

    /// Goes over to another state and says so.
    pub(crate) fn change(&mut self, role: Role, reason: Reason, token: Option<Token>) {
        let from = self.state();
        self.keep_own_vote();
        self.note_tenure(matches!(role, Role::Owner(_)));
        self.role = role;
        let to = self.state();
        if to != from {
            self.out.enter(to);
        }
        if !matches!(self.role, Role::Owner(_)) {
            self.table.end_tenure();
        }
        self.event(Event::StateChanged {
            from,
            to,
            reason,
            token,
        });
    }

    /// Notes who is heard to hold the token.
    pub(crate) fn set_owner(&mut self, owner: Option<MacAddr>) {
        if self.owner != owner {
            self.owner = owner;
            let token = self.token();
            self.event(Event::OwnerChanged { owner, token });
        }
    }

    /// Strengthens `known`.
    pub(crate) fn learn(&mut self, token: Token, holder: MacAddr, data: Option<&[u8]>) {
        if self.known.learn(self.context.now(), token, holder, data) {
            self.compare_with_clock(token);
        }
    }

    /// Moves the machine's clock, which never goes back.
    fn advance(&mut self, now: Now) {
        if self.context.advance(now) {
            self.jobs.stamps.recall(self.context.clock());
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Lease => self.on_lease_expired(),
            Timer::Grade => self.review_grade(),
            Timer::Acknowledge => self.acknowledge(),
            Timer::Take => self.on_take_timeout(),
            Timer::Pass => self.on_rested(),
            Timer::Heartbeat => self.on_heartbeat_due(),
            Timer::Waiter => {
                self.become_looser(Reason::WaiterTimeout);
                self.probe_soon();
            }
            Timer::Answer => self.on_no_answer(),
            Timer::Ask => self.on_question_due(),
            Timer::Compare => self.ask_for_table(),
            Timer::Want => self.say_want(),
            Timer::Store => self.on_store_due(),
            Timer::Stamps => self.on_stamps_due(),
            Timer::Probe => self.probe(),
            Timer::Members => self.review_members(),
        }
    }

    /// What depends on the state that an input has led to in the end.
    fn finish_input(&mut self) {
        self.review_hearing();
        self.look_around();
        self.recount();
        self.review_once();
        self.leave_if_free();
        self.go_on_wanting();
    }

    /// What a frame's outcome changes: a state that a frame announces is entered only once the
    /// frame was accepted for sending.
    fn sent(&mut self, to: MacAddr, content: Content, sent: Sent) {
        let accepted = sent == Sent::Accepted;
        // What tells nothing of this node itself does not spare it saying so.
        if accepted && to == MacAddr::BROADCAST && Profile::may_follow(content.kind()) {
            self.silence.speak(self.context.now());
        }
        match content {
            Content::TakeToken(token) => self.offered(to, token, accepted),
            Content::TokenIsHere(_) if to == MacAddr::BROADCAST && accepted => self.said_so(),
            // That an offer was in vain, which all are told, answers nobody.
            Content::TokenWasHereRecently(..) if to == MacAddr::BROADCAST => {}
            Content::TokenIsHere(_) | Content::TokenWasHereRecently(..) => {
                self.answered(to, accepted);
            }
            Content::Elected(token) if accepted => self.elected(token),
            Content::Standing(candidate, reason) if accepted => self.stands(candidate, reason),
            Content::WhereIsToken if accepted => self.asked(),
            Content::Leaving => self.finish(),
            Content::Forget => self.silence.named_was_sent(),
            _ => {}
        }
    }

    /// The number of a frame that is a heartbeat, to everybody, if it has one.
    fn beat(&mut self, outgoing: Outgoing) -> Option<u32> {
        let Outgoing { to, content } = outgoing;
        match content {
            Content::TokenIsHere(token) | Content::Elected(token) if to == MacAddr::BROADCAST => {
                self.number_beat(token)
            }
            _ => None,
        }
    }

    /// What a frame says.
    fn message(&self, content: Content, beat: Option<u32>) -> Message<'_> {
        let digest = self.table.digest();
        let data = self.known.data();
        match content {
            Content::TakeToken(token) => Message::TakeToken {
                token,
                digest,
                data,
            },
            Content::TokenIsHere(token) | Content::Elected(token) => Message::TokenIsHere {
                token,
                digest,
                data,
                beat,
            },
            Content::Ping => self.ping(None),
            Content::Promise(promise) => self.ping(Some(promise)),
            Content::TokenWasHereRecently(token, holder) => {
                Message::TokenWasHereRecently { token, holder }
            }
            Content::WhereIsToken => Message::WhereIsToken,
            Content::GeneratingToken(token) | Content::Standing(token, _) => {
                Message::GeneratingToken { token }
            }
            Content::RingMembers { first } => Message::RingMembers {
                digest,
                members: self.table_part(first),
            },
            Content::WantToken => Message::WantToken,
            Content::Leaving | Content::Left(_) => Message::Leaving,
            Content::Stamps(telling) => Message::Stamps {
                token: telling.token,
                serial: telling.serial,
                purpose: telling.purpose,
                digest: self.jobs.stamps.digest,
                stamps: &self.jobs.stamps.wire,
            },
            Content::Forget => Message::Forget {
                members: self.silence.named(),
            },
        }
    }

    fn ping(&self, promise: Option<lab2::Promise>) -> Message<'_> {
        Message::Ping {
            digest: self.table.digest(),
            ip: self.context.ip(),
            promise,
            paused: self.owns_nothing(),
        }
    }
}

impl Machine for Lab2 {
    type Peer = ();
    type Net = LinkState;
    type Job = Infallible;
    type Command = Command;
    type Event = Event;
    type Durable = Durable;

    fn handle_message(&mut self, now: Now, (): (), frame: &[u8], age: Duration) {
        self.advance(now);
        // What it has cost to send in answer to the frames before is this one's age, too.
        let age = age + self.context.now().since(now.monotonic);
        self.expire_lease();
        self.expire_grade();
        self.out.begin_replies();
        self.receive(frame, age);
        self.finish_input();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.advance(now);
        self.out.begin_freely();
        self.expire_lease();
        self.expire_grade();
        if self.has_left() {
            return;
        }
        match command {
            Command::WantToken => self.want_token(),
            Command::WorkDone => self.work_done(),
            Command::SetData(data) => self.set_data(&data),
            Command::Confirm => self.ask_to_confirm(),
            Command::Once(request) => self.begin_once(request),
            Command::EndOnce(id, end) => self.run_has_ended(id, end),
            Command::Pause(paused) => self.set_paused(paused),
            Command::Yield(to) => self.yield_to(to),
            Command::Announce(work) => self.announce(work),
            Command::Forget(mac) => self.forget(mac),
            Command::ShutDown => self.shut_down(),
            Command::Leave => self.leave(),
        }
        self.finish_input();
    }

    fn handle_link(&mut self, now: Now, link: LinkState) {
        self.advance(now);
        self.out.begin_freely();
        self.expire_lease();
        self.expire_grade();
        self.link_changed(link);
    }

    fn handle_timeout(&mut self, now: Now) {
        self.advance(now);
        self.out.begin_freely();
        self.judge_hearing();
        for &timer in Timer::ALL {
            if self.out.take_due(timer, self.context.now()) {
                self.fire(timer);
            }
        }
        self.finish_input();
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: Sent) {
        self.advance(now);
        let Some(Outgoing { to, content }) = self.out.outbox.complete(ticket) else {
            return;
        };
        let kind = content.kind();
        self.event(match sent {
            Sent::Accepted => Event::Transmitted { kind },
            Sent::Failed | Sent::TooLong => Event::TransmitFailed { kind },
        });
        if sent == Sent::TooLong {
            self.too_long(kind);
        }
        if sent != Sent::Accepted && self.context.is_up() {
            self.note_unsent();
        } else if self.troubles.unsent.is_some() {
            self.note_sent();
        }
        self.sent(to, content, sent);
        if let (Content::Stamps(telling), Sent::Accepted) = (content, sent) {
            self.told_stamps(telling);
        }
        self.review_once();
        self.want_soon();
    }

    fn asks_when_left(&self) -> bool {
        self.awaits_departure()
    }

    fn handle_left(&mut self, by: Now) {
        self.advance(by);
        self.departed();
        self.review_once();
    }

    fn handle_stored(&mut self, now: Now, stored: Stored) {
        self.advance(now);
        self.jobs.stamps.stored(stored);
        self.on_stored(stored);
        self.review_once();
    }

    fn poll_durable(&mut self) -> Option<Durable> {
        let may_try = self.known.take_unstored();
        if self.storage.failed && !may_try {
            // It is tried again in a while.
            return None;
        }
        let stamp = self.jobs.stamps.take_unstored(self.context.clock());
        (may_try || stamp.is_some()).then(|| Durable {
            stamp,
            ..self.known.durable()
        })
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        loop {
            let outgoing = self.out.outbox.pop()?;
            self.table.hash_anew();
            let ethertype = self.context.constants().ethertype;
            let author = match outgoing.content {
                Content::Left(old) => old,
                _ => self.me(),
            };
            let beat = self.beat(outgoing);
            if let Content::Stamps(telling) = outgoing.content {
                self.lay_out_stamps(&telling);
            }
            let frame = Frame {
                destination: outgoing.to,
                author,
                message: self.message(outgoing.content, beat),
                profile: None,
                card: None,
            };
            let frame = self.introduce(outgoing, frame);
            if let Ok(len) = frame.encode(ethertype, buf) {
                let ticket = self.out.outbox.dispatch(outgoing);
                return Some(Transmit {
                    len,
                    to: (),
                    ticket,
                });
            }
            debug_assert!(false, "a frame that cannot be encoded: {outgoing:?}");
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.out.next_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.out.next()
    }
}
