//! The state machine under test with its clock, its link and its stored state.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ring_codec::lab2::{
    Digest, FORGOTTEN_PER_FRAME_MAX, FRAME_LEN_MAX, Frame, LOCK_SUMS, LockRecord, LocksStanding,
    MEMBERS_PER_FRAME_MAX, Member, Message, NO_AGE, PROGRESS_MAX, Profile, Promise, Purpose,
    STAMPS_PER_FRAME_MAX, Stamp, Token,
};
use ring_codec::{MacAddr, U64};
use ring_proto::lab2::{
    Command, Constants, Event, Grade, JobName, Lab2, OnceRequest, Pause, RunEnd, STAMPS_MAX,
    StoredStamp, StoredState,
};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, SendOutcome, StoreOutcome, Transmit};

use super::jobs::Jobs;
use super::named_locks::{NamedLocks, sums};
use super::oracle::{Oracle, Output};
use super::predict::{Before, assert_transition};
use super::script::{
    Destination, Job, LinkChange, MachineOptions, ScriptedCommand, ScriptedFrame, ScriptedMessage,
    ScriptedProfile, ScriptedPromise, ScriptedStamp, ScriptedStanding, Step, TokenChoice,
};

/// The maximum number of frames that the link refuses in one step.
const REFUSED_FRAMES_MAX: u8 = 16;
/// The maximum number of frames that one input causes. If the MTU is small, an announcement of all stamps has one frame
/// for each stamp. Further frames answer the input.
const FRAMES_PER_INPUT_MAX: usize = STAMPS_MAX + 16;
/// The number of stations. The node itself is one of the stations, so it also receives its own frames.
const STATIONS: u8 = 8;

pub(super) struct Harness {
    machine: Lab2,
    constants: Constants,
    now: Now,
    mac: MacAddr,
    ip: [u8; 16],
    mtu: usize,
    durable: StoredState,
    /// The stored stamps. The key is the place of the stamp.
    stamps: BTreeMap<u8, StoredStamp>,
    /// The number of the last requested job.
    job: u64,
    jobs: Jobs,
    named_locks: NamedLocks,
    refused: u8,
    oracle: Oracle,
}

pub(super) fn station_address(n: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, n % STATIONS])
}

fn ip(n: u8) -> [u8; 16] {
    match n {
        0 => [0; 16],
        n => [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, n],
    }
}

/// Returns the name of job number `n`. There are more names than a state machine remembers.
fn name(n: u8) -> JobName {
    JobName::new(&format!("job-{}", n % 40)).expect("a name")
}

fn minutes(n: u8) -> Duration {
    Duration::from_secs(60 * u64::from(n))
}

impl Harness {
    pub(super) fn new(options: &MachineOptions) -> Self {
        let idle_hold = [0, 1, 100][usize::from(options.idle_hold) % 3];
        let constants = Constants {
            idle_hold: Duration::from_millis(idle_hold),
            take_attempts: 1 + u32::from(options.attempts % 3),
            max_members: if options.small_table { 4 } else { 4096 },
            expect: [None, Some(1), Some(3), Some(9)][usize::from(options.expect) % 4],
            ..Constants::default()
        };
        let durable = StoredState {
            my_token_number: 0,
            known: None,
            stamp: None,
        };
        Self {
            machine: Lab2::new(constants.clone(), durable),
            now: Now {
                monotonic: Instant::from_nanos(1_000_000_000_000),
                wall: 1_000_000,
            },
            mac: station_address(3),
            ip: ip(3),
            mtu: 1500,
            durable,
            stamps: BTreeMap::new(),
            job: 0,
            jobs: Jobs::default(),
            named_locks: NamedLocks::default(),
            refused: 0,
            oracle: Oracle::new(&constants),
            constants,
        }
    }

    pub(super) fn step(&mut self, step: &Step) {
        match step {
            Step::Hear(heard) => self.receive(heard),
            Step::Garbage(bytes) => self.receive_garbage(bytes),
            Step::TimeOut(late) => self.fire_timeout(*late),
            Step::Pass(micros) => {
                self.advance(Duration::from_micros(u64::from(*micros)));
                self.input(Lab2::handle_timeout);
            }
            Step::ClockBack(millis) => {
                let back = Duration::from_millis(u64::from(*millis));
                let now = self.now;
                self.now.monotonic = now.monotonic.before(back);
                self.input(Lab2::handle_timeout);
                self.now = now;
            }
            Step::WallClock(hours) => {
                let nanos = i64::from(*hours) * 3_600_000_000_000;
                self.now.wall = self.now.wall.saturating_add_signed(nanos);
            }
            Step::Link(change) => self.change_link(change),
            Step::Command(order) => {
                let command = match *order {
                    ScriptedCommand::Want => Command::WantToken,
                    ScriptedCommand::Done => Command::WorkDone,
                    ScriptedCommand::Data(len) => {
                        Command::SetData(vec![7; usize::from(len % 1100)])
                    }
                    ScriptedCommand::Confirm => Command::Confirm,
                    ScriptedCommand::Pause(paused) => {
                        Command::Pause(paused.then_some(Pause::PLAIN))
                    }
                    ScriptedCommand::Yield(to) => Command::Yield(to.map(station_address)),
                    ScriptedCommand::ShutDown => Command::ShutDown,
                    ScriptedCommand::Leave => Command::Leave,
                    ScriptedCommand::Forget(n) => Command::Forget(station_address(n)),
                    // A caller with a running job ends the job before it requests the next job.
                    ScriptedCommand::Once(_) if Jobs::is_at_work(&self.machine) => return,
                    ScriptedCommand::Once(ref job) => Command::Once(self.request(job)),
                    ScriptedCommand::EndOnce(how) => {
                        let ends = [
                            RunEnd::Done,
                            RunEnd::Failed,
                            RunEnd::Unknown,
                            RunEnd::NotRun,
                        ];
                        let end = ends[usize::from(how % 4)];
                        self.jobs.on_run_ended(end);
                        Command::EndOnce(self.job, end)
                    }
                    ScriptedCommand::TakeLock(ref take) => {
                        let Some(request) = self.named_locks.take(take) else {
                            return;
                        };
                        Command::TakeLock(request)
                    }
                    ScriptedCommand::ReleaseLock(ago) => {
                        Command::ReleaseLock(self.named_locks.release(ago))
                    }
                };
                self.oracle.shutting_down |=
                    matches!(order, ScriptedCommand::ShutDown | ScriptedCommand::Leave);
                self.input(|machine, now| machine.handle_command(now, command));
            }
            Step::Refuse(frames) => self.refused = frames % REFUSED_FRAMES_MAX,
            Step::Restart => {
                self.jobs = Jobs::default();
                self.named_locks.on_restart();
                let stamps = self.stamps.values().copied();
                self.machine = Lab2::new(self.constants.clone(), self.durable).with_stamps(stamps);
                self.oracle.on_restart(self.durable);
                self.change_link(&LinkChange::Up);
            }
        }
    }

    fn advance(&mut self, time: Duration) {
        self.now.monotonic = self.now.monotonic + time;
        let nanos = u64::try_from(time.as_nanos()).expect("short");
        self.now.wall = self.now.wall.saturating_add(nanos);
    }

    /// Wakes the state machine at its deadline or later, until the next deadline is in the future.
    fn fire_timeout(&mut self, late: u8) {
        let Some(due) = self.machine.poll_timeout() else {
            return;
        };
        let late = Duration::from_millis(u64::from(late / 8) * u64::from(late / 8));
        self.advance(due.since(self.now.monotonic) + late);
        let is_due = |machine: &Lab2, now: Now| {
            machine
                .poll_timeout()
                .is_some_and(|due| due <= now.monotonic)
        };
        for _ in 0..8 {
            self.input(Lab2::handle_timeout);
            if !is_due(&self.machine, self.now) {
                return;
            }
        }
        panic!("the state machine sets timeouts endlessly");
    }

    fn change_link(&mut self, change: &LinkChange) {
        match *change {
            LinkChange::Down => {
                self.oracle.link_up = false;
                return self.input_without_answer(|machine, now| {
                    machine.handle_link(now, LinkState::Down);
                });
            }
            LinkChange::Up => {}
            LinkChange::Ip(n) => self.ip = ip(n),
            LinkChange::Mac(first) => {
                let before =
                    std::mem::replace(&mut self.mac, station_address(if first { 3 } else { 5 }));
                self.oracle.lost_address = Some(before).filter(|&it| it != self.mac);
            }
            LinkChange::Mtu(n) => self.mtu = 128 + usize::from(n) * 6,
        }
        let up = LinkState::Up {
            mac: self.mac,
            ip: self.ip,
            mtu: self.mtu,
        };
        (self.oracle.link_up, self.oracle.mtu) = (true, self.mtu);
        self.input(|machine, now| machine.handle_link(now, up));
    }

    fn receive_garbage(&mut self, bytes: &[u8]) {
        // Other steps cover bytes that happen to be a valid frame.
        if Frame::decode(bytes).is_err() {
            let before = Before::of(&self.machine, &self.oracle, self.mac);
            let output =
                self.input(|machine, now| machine.handle_message(now, (), bytes, Duration::ZERO));
            before.assert_untouched(&self.machine, &output);
        }
    }

    fn receive(&mut self, heard: &ScriptedFrame) {
        let from = station_address(heard.from);
        let to = match heard.to {
            Destination::Me => self.mac,
            Destination::All => MacAddr::BROADCAST,
            Destination::Other => station_address(STATIONS - 1),
        };
        let age = Duration::from_millis(u64::from(heard.age));
        let mut bytes = [0; FRAME_LEN_MAX];
        let profile = heard.says.as_ref().map(|says| self.profile(says));
        let standing = heard.stands.as_ref();
        let standing = standing.and_then(|said| self.standing(said));
        let trailers = (profile, standing);
        let Some(len) = self.encode(from, to, &heard.what, trailers, &mut bytes) else {
            return;
        };
        let frame = Frame::decode(&bytes[..len]).expect("the frame was encoded above");
        self.oracle.has_profiles |= frame.profile.is_some();
        let before = Before::of(&self.machine, &self.oracle, self.mac);
        let counts = before.counts(&frame, age, self.machine.constants());
        if counts {
            self.oracle.on_frame(&frame);
            self.jobs.on_frame(&frame);
        }
        let output = self.input(|machine, now| machine.handle_message(now, (), &bytes[..len], age));
        // An OWNER that wakes too late also broadcasts a question and WANT_TOKEN. An OWNER that gives up its token
        // because no member accepts it announces the loss.
        let most = if output.has_lost_lease() || output.has_failed_handover() {
            4
        } else {
            2
        };
        assert!(
            output.frames.len() <= most,
            "the node sends {} answers to one frame: {:?}",
            output.frames.len(),
            output.events
        );
        if counts {
            before.assert_predicted(&frame, &self.machine, &output);
        } else {
            before.assert_untouched(&self.machine, &output);
        }
    }

    /// Encodes a frame. Returns `None` if no station could have sent the frame.
    #[expect(
        clippy::too_many_lines,
        reason = "one match has an arm for each kind of frame"
    )]
    fn encode(
        &self,
        from: MacAddr,
        to: MacAddr,
        what: &ScriptedMessage,
        (profile, standing): (Option<Profile>, Option<LocksStanding>),
        bytes: &mut [u8],
    ) -> Option<usize> {
        let own = self.machine.digest();
        let other = Digest {
            size: own.size + 1,
            hash: !own.hash,
        };
        let digest = |same| if same { own } else { other };
        let (members, forgotten, stamps): (Vec<Member>, Vec<MacAddr>, Vec<Stamp>);
        let (locks, locks_sums): (Vec<LockRecord>, [U64; LOCK_SUMS]);
        let message = match what {
            ScriptedMessage::TakeToken(which) => Message::TakeToken {
                token: self.token(which)?,
                digest: own,
                data: b"data",
            },
            ScriptedMessage::TokenIsHere(which, same, beat) => Message::TokenIsHere {
                token: self.token(which)?,
                digest: digest(*same),
                data: b"data",
                beat: *beat,
            },
            ScriptedMessage::Ping(same, n, paused) => Message::Ping {
                digest: digest(*same),
                ip: ip(*n),
                promise: None,
                paused: *paused,
            },
            ScriptedMessage::Promise(pledge) => Message::Ping {
                digest: own,
                ip: ip(0),
                promise: Some(self.promise(pledge)?),
                paused: false,
            },
            ScriptedMessage::TokenWasHereRecently(which, holder) => Message::TokenWasHereRecently {
                token: self.token(which)?,
                holder: station_address(*holder),
            },
            ScriptedMessage::WhereIsToken => Message::WhereIsToken,
            ScriptedMessage::GeneratingToken(which) => Message::GeneratingToken {
                token: self.token(which)?,
            },
            ScriptedMessage::RingMembers(same, listed) => {
                members = listed
                    .iter()
                    .take(MEMBERS_PER_FRAME_MAX)
                    .map(|&(n, host)| Member {
                        mac: MacAddr([2, 0, 0, 0, 0, n]),
                        ip: ip(host),
                    })
                    .collect();
                Message::RingMembers {
                    digest: digest(*same),
                    members: &members,
                }
            }
            ScriptedMessage::WantToken => Message::WantToken,
            ScriptedMessage::Leaving => Message::Leaving,
            ScriptedMessage::Forget(listed) => {
                let listed = listed.iter().take(FORGOTTEN_PER_FRAME_MAX);
                forgotten = listed.map(|&n| station_address(n)).collect();
                Message::Forget {
                    members: &forgotten,
                }
            }
            ScriptedMessage::Stamps(telling) => {
                let runs = telling.stamps.iter().take(STAMPS_PER_FRAME_MAX);
                stamps = runs.map(|run| self.stamp(run)).collect();
                let (serial, digest) = self.oracle.last_question;
                let purposes = [
                    Purpose::More,
                    Purpose::Tell,
                    Purpose::Ask,
                    Purpose::Agree,
                    Purpose::Differ,
                ];
                Message::Stamps {
                    token: self.token(&telling.token)?,
                    serial: telling.serial.map_or(serial, u32::from),
                    purpose: purposes[usize::from(telling.purpose % 5)],
                    digest: if telling.same { digest } else { !digest },
                    stamps: &stamps,
                }
            }
            ScriptedMessage::Locks(heard) => {
                let progress = self.oracle.known.map_or(1, |token| token.progress);
                locks = self.named_locks.records(heard, self.mac, progress);
                let token = self.token(&heard.token)?;
                self.named_locks.message(heard, token, &locks)
            }
            ScriptedMessage::LocksQuestion(question) => {
                locks_sums = sums(question);
                Message::LocksQuestion {
                    grade: if question.quorum { 2 } else { 0 },
                    from: question.from,
                    sums: &locks_sums,
                }
            }
        };
        let frame = Frame {
            destination: to,
            author: from,
            profile: profile.filter(|_| Profile::may_follow(message.kind())),
            card: None,
            locks: standing.filter(|_| LocksStanding::may_follow(message.kind())),
            preference: 0,
            message,
        };
        frame.encode(self.constants.ethertype, bytes).ok()
    }

    fn profile(&self, says: &ScriptedProfile) -> Profile {
        let nanos = |time: Result<u8, u64>| match time {
            Ok(millis) => u64::from(millis) * 4_000_000,
            Err(nanos) => nanos,
        };
        let own = self.constants.digest();
        Profile {
            flags: says.flags,
            mtu: u16::from(says.mtu) * 8,
            constants: if says.same { own } else { !own },
            patience: nanos(says.patience),
            shortest: nanos(says.shortest),
            take: nanos(says.take),
            expect: u32::from(says.expect) / 16,
        }
    }

    fn request(&mut self, job: &Job) -> OnceRequest {
        self.job += 1;
        let request = OnceRequest {
            id: self.job,
            name: name(job.name),
            every: minutes(job.minutes),
            retry: job.retry,
            require: [Grade::Alone, Grade::AllHeard, Grade::Quorum][usize::from(job.require % 3)],
        };
        self.jobs.request = Some(request);
        request
    }

    fn stamp(&self, run: &ScriptedStamp) -> Stamp {
        let known = self.oracle.known.map_or(1, |token| token.progress);
        let progress = known.saturating_add_signed(run.more.into());
        let age = |seconds: Option<u16>| {
            let nanos = |seconds| u64::from(seconds) * 1_000_000_000;
            seconds.map_or(NO_AGE, nanos).into()
        };
        Stamp {
            name: *name(run.name).bytes(),
            progress: progress.min(PROGRESS_MAX).into(),
            run: u32::from(run.number).into(),
            runner: station_address(run.runner),
            outcome: run.outcome % 4,
            period: u64::try_from(minutes(run.minutes).as_nanos())
                .expect("short")
                .into(),
            age: age(run.age),
            before: age(run.before),
        }
    }

    fn promise(&self, pledge: &ScriptedPromise) -> Option<Promise> {
        let lasts = match pledge.lasts {
            Ok(millis) => Duration::from_millis(u64::from(millis) * 4),
            Err(nanos) => Duration::from_nanos(nanos),
        };
        Some(Promise {
            token: self.token(&pledge.token)?,
            beat: self.oracle.last_beat.wrapping_sub(pledge.ago.into()),
            lasts: u64::try_from(lasts.as_nanos()).expect("the nanoseconds fit into 64 bits"),
        })
    }

    fn standing(&self, said: &ScriptedStanding) -> Option<LocksStanding> {
        let token = self.token(&said.token)?;
        Some(self.named_locks.standing(said, token))
    }

    fn token(&self, which: &TokenChoice) -> Option<Token> {
        let known = self.oracle.known;
        match *which {
            TokenChoice::Known => known,
            TokenChoice::Held => self.oracle.held,
            TokenChoice::Offered => self.oracle.offered.map(|(token, _)| token),
            TokenChoice::Near {
                more,
                author,
                number,
            } => {
                let progress = known.map_or(1, |token| token.progress);
                Some(Token {
                    progress: progress.saturating_add_signed(more.into()),
                    author: station_address(author),
                    number: number.into(),
                })
            }
            TokenChoice::Any {
                progress,
                author,
                number,
            } => Some(Token {
                progress: progress >> 1,
                author: station_address(author),
                number,
            }),
        }
    }

    fn input_without_answer(&mut self, input: impl FnOnce(&mut Lab2, Now)) {
        let output = self.input(input);
        assert!(
            output.frames.is_empty(),
            "the node sends on a link that is down"
        );
    }

    /// Gives the state machine an input, carries out its outputs as the contract requires, and lets the oracle check
    /// the outputs.
    fn input(&mut self, input: impl FnOnce(&mut Lab2, Now)) -> Output {
        input(&mut self.machine, self.now);
        let mut output = Output::default();
        let mut frames = VecDeque::new();
        loop {
            while let Some(durable) = self.machine.poll_durable() {
                self.oracle.check_stored(self.durable, durable);
                self.durable = durable;
                if let Some(stamp) = self.durable.stamp.take() {
                    self.stamps.insert(stamp.place, stamp);
                }
                self.machine.handle_stored(self.now, StoreOutcome::Done);
            }
            let mut buf = [0xaa; FRAME_LEN_MAX];
            let Some(Transmit { len, ticket, .. }) = self.machine.poll_transmit(&mut buf) else {
                break;
            };
            let frame = buf[..len].to_vec();
            let sent = match self.refused {
                0 => SendOutcome::Accepted,
                _ => SendOutcome::Failed,
            };
            self.refused = self.refused.saturating_sub(1);
            self.oracle
                .check_sent(&frame, self.mac, self.durable, sent, self.now);
            self.named_locks
                .check_sent(&frame, self.mac, self.durable.known);
            frames.push_back(frame);
            self.machine.handle_sent(self.now, ticket, sent);
            if self.machine.wants_flush_report() {
                self.machine.handle_flushed(self.now);
            }
            assert!(
                frames.len() <= FRAMES_PER_INPUT_MAX,
                "the node sends frames endlessly"
            );
        }
        while let Some(event) = self.machine.poll_event() {
            if let Event::StateChanged {
                from, to, reason, ..
            } = event
            {
                assert_transition(from, to, reason);
            }
            output.events.push(event);
        }
        output.frames = frames.into();
        self.oracle
            .check(&self.machine, &output.events, self.now, self.mac);
        self.named_locks
            .check(&self.machine, &output.events, self.now);
        self.jobs
            .check(&self.machine, self.stamps.values(), self.now, self.mac);
        output
    }
}
