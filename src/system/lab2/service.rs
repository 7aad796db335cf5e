//! Serves clients of the control socket beyond the status: locks, the token's data, pauses, and watching.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{RunOutcome, Token};
use ring_proto::lab2::{self, Command, JobName, Lab2, Presence, RunEnd, RunView, State};
use ring_proto::time::{Instant, Now};
use tracing::{info, warn};

use super::history::History;
use super::lock_totals::LockCount;
use super::locks::{Facts, Job, Locks, Notice};
use super::pausing::{Pausing, Progress};
use super::status::{outcome_text, token_status};
use super::stored_pause::StoredPause;
use super::verdict::Scene;
use crate::control::hex;
use crate::control::{
    ClientStatus, Grade, Grant, LockRequest, LockTotals, Loss, LossReason, MAX_LABEL, OnceRequest,
    PROTOCOL, PauseRequest, PendingReason, Refusal, RefusalReason, Renewal, Reply, Request,
    TokenData, Version,
};
use crate::fencing::FencingToken;
use crate::host::{Backstops, Client, ClientId, Error, Server, Watchers, spoken};
use crate::observe::lab2::Limit;

/// How to answer a request.
#[derive(Debug)]
pub enum Reaction {
    /// Send this reply.
    Reply(Reply),
    /// The reply follows later.
    Later,
    /// Give the machine this command, then send this reply.
    Command(Command, Reply),
    /// Reply with the status.
    Status,
    /// Reply with a snapshot, which contains the status.
    Snapshot,
}

/// All clients that want more than the status.
#[derive(Debug)]
pub struct Service {
    interface: String,
    locks: Locks,
    count: LockCount,
    /// When a client that waits may be granted the token.
    settles_at: Option<Instant>,
    backstops: Backstops,
    watchers: Watchers,
    pausing: Pausing,
    stored_pause: StoredPause,
    /// Clients whose state has changed, and whether they may be silent now.
    changed: Vec<(ClientId, bool)>,
    told: Vec<(ClientId, LockRequest, Notice)>,
}

impl Service {
    /// No clients yet.
    pub fn new(interface: &str, stored_pause: StoredPause) -> Self {
        Self {
            interface: interface.to_owned(),
            locks: Locks::default(),
            count: LockCount::default(),
            settles_at: None,
            backstops: Backstops::new(),
            watchers: Watchers::default(),
            pausing: Pausing::default(),
            stored_pause,
            changed: Vec::new(),
            told: Vec::new(),
        }
    }

    /// When to call [`settle`](Self::settle) at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.locks.deadline(),
            self.settles_at,
            self.pausing.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// The daemon shuts down: nobody is granted the token from now on.
    pub fn leave(&mut self) {
        self.locks.leave();
    }

    /// Returns who holds the token here and who waits for it.
    pub fn clients(&self, now: Instant) -> Vec<ClientStatus> {
        self.locks.clients(now).collect()
    }

    /// Returns how often locks were granted, refused and lost here.
    pub fn lock_totals(&self) -> LockTotals {
        self.count.totals()
    }

    /// Whether a client of this machine holds the token.
    pub const fn is_held(&self) -> bool {
        self.locks.is_held()
    }

    /// Returns how to answer a request. Takes those of its descriptors that it keeps; the others stay in the
    /// vector.
    pub fn answer(
        &mut self,
        now: Now,
        peer: Client,
        request: Request,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Lab2,
        history: &History,
    ) -> Reaction {
        let client = peer.id;
        match request {
            Request::Lock(request) => self.lock(now, peer, &request, None, machine),
            Request::Bind => self.bind(client, descriptors),
            Request::Once(request) => self.once(now, peer, &request, machine),
            Request::Ran { done } => self.ran(client, done),
            Request::NotRun => self.not_run(client),
            Request::Unlock => {
                self.backstops.cancel(client);
                if self.locks.release(client) {
                    self.changed.push((client, self.watchers.include(client)));
                }
                Reaction::Reply(Reply::Unlocked {})
            }
            Request::Yield { to } => self.yield_to(to.as_deref(), machine),
            Request::Forget { member } => forget(now, &member, machine),
            Request::Pause(request) => self.pause(now, peer, &request),
            Request::Resume => self.resume(peer),
            Request::DataGet => Reaction::Reply(Reply::Data(TokenData {
                hex: hex::encode(machine.data()),
                token: machine.token().map(token_status),
            })),
            Request::DataSet { hex, token } => {
                self.set_data(client, &hex, token.as_deref(), machine)
            }
            Request::Watch { from, turns } => self.watch(client, from, turns, history),
            Request::Version => Reaction::Reply(Reply::Version(Version {
                protocol: PROTOCOL,
                ringd: env!("CARGO_PKG_VERSION").to_owned(),
                interface: self.interface.clone(),
            })),
            Request::Status => Reaction::Status,
        }
    }

    fn lock(
        &mut self,
        now: Now,
        peer: Client,
        request: &LockRequest,
        job: Option<Job>,
        machine: &Lab2,
    ) -> Reaction {
        if self.locks.concerns(peer.id) {
            return error("this connection holds a lock, or waits for one, already");
        }
        if request.label.len() > MAX_LABEL {
            return error(&format!("a label has at most {MAX_LABEL} bytes"));
        }
        let way = machine.constants().request_timeout();
        let asked = if self.is_held_under(request.under.as_deref()) {
            Err(RefusalReason::Nested)
        } else {
            let request = request.clone();
            self.locks
                .request_for(now.monotonic, peer, request, job, way)
        };
        if let Err(why) = asked {
            self.count.refused(why);
            let text = self.scene(now, machine).refusal(why, request);
            return Reaction::Reply(Reply::Refused(Refusal { why, text }));
        }
        self.changed.push((peer.id, true));
        Reaction::Later
    }

    fn scene<'a>(&'a self, now: Now, machine: &'a Lab2) -> Scene<'a> {
        Scene {
            machine,
            interface: &self.interface,
            first: self.locks.clients(now.monotonic).next(),
        }
    }

    fn bind(&mut self, client: ClientId, descriptors: &mut Vec<OwnedFd>) -> Reaction {
        if !self.locks.holds(client) {
            return error("this connection has no lock");
        }
        match self.backstops.set(client, descriptors) {
            Ok(()) => Reaction::Reply(Reply::Done {}),
            Err(why) => error(why),
        }
    }

    /// Whether the lock that is held on this machine has this fencing token.
    fn is_held_under(&self, token: Option<&str>) -> bool {
        let token = token.and_then(|text| text.parse().ok());
        token.is_some_and(|token: FencingToken| self.locks.held().map(fencing) == Some(token))
    }

    fn once(&mut self, now: Now, peer: Client, request: &OnceRequest, machine: &Lab2) -> Reaction {
        let Some(name) = JobName::new(&request.name) else {
            return error("a job's name has 1 to 32 printable ASCII characters, and no blanks");
        };
        if request.every_ms == 0 {
            return error("a job's period cannot be 0");
        }
        let job = Job {
            name,
            every: Duration::from_millis(request.every_ms),
            retry: request.retry,
        };
        self.lock(now, peer, &request.lock, Some(job), machine)
    }

    /// A job whose lock was lost counts as lost, whatever its client reports.
    fn ran(&self, client: ClientId, done: bool) -> Reaction {
        if !self.locks.holds(client) || self.locks.held().is_none() {
            return error("this connection has no lock: whether the job was done is not recorded");
        }
        let end = if done { RunEnd::Done } else { RunEnd::Failed };
        Reaction::Command(Command::EndOnce(client, end), Reply::Done {})
    }

    fn not_run(&self, client: ClientId) -> Reaction {
        if !self.locks.holds(client) {
            return error("this connection has no lock: that the job was not run is not recorded");
        }
        Reaction::Command(Command::EndOnce(client, RunEnd::NotRun), Reply::Done {})
    }

    fn yield_to(&mut self, to: Option<&str>, machine: &Lab2) -> Reaction {
        let member = match to.map(|to| address(to, machine)).transpose() {
            Ok(member) => member,
            Err(why) => return Reaction::Reply(Reply::Error(why)),
        };
        if let Some(mac) = member {
            let why = match machine.members().find(|member| member.mac == mac) {
                None => Some("is no member of the ring"),
                Some(_) if machine.is_own(mac) => Some("is this node itself"),
                Some(member) => member.paused.then_some("is paused"),
            };
            if let Some(why) = why {
                return Reaction::Reply(Reply::Error(format!("{mac} {why}")));
            }
        }
        if !machine.may_use_token() {
            return error("this node does not have the token");
        }
        if machine
            .members()
            .all(|other| machine.is_own(other.mac) || other.paused)
        {
            return error("there is nobody to hand the token over to");
        }
        self.locks.yield_to(member);
        Reaction::Reply(Reply::Done {})
    }

    fn pause(&mut self, now: Now, peer: Client, request: &PauseRequest) -> Reaction {
        let Client { id, pid, uid } = peer;
        if self.pausing.concerns(id) {
            return error("this connection waits for a pause already");
        }
        if request.persist
            && let Err(why) = self.stored_pause.store()
        {
            return Reaction::Reply(Reply::Error(why));
        }
        let is_new = if request.drain {
            self.locks.drain()
        } else {
            self.locks.pause(true)
        };
        if is_new {
            info!(
                event = "paused",
                pid, uid, "paused by {peer}: this node owns nothing until ringctl resume"
            );
        }
        let patience = Duration::from_millis(request.wait_ms.unwrap_or(0));
        self.pausing.wait(id, now.monotonic + patience);
        self.changed.push((id, true));
        Reaction::Later
    }

    fn resume(&mut self, peer: Client) -> Reaction {
        if let Err(why) = self.stored_pause.forget() {
            return Reaction::Reply(Reply::Error(why));
        }
        if self.locks.pause(false) {
            let Client { pid, uid, .. } = peer;
            info!(event = "resumed", pid, uid, "resumed by {peer}");
        }
        Reaction::Reply(Reply::Done {})
    }

    /// Pauses the node if an earlier run was paused for good.
    ///
    /// # Errors
    /// The kernel does not tell whether it was.
    pub fn go_on_pausing(&mut self) -> Result<bool, Error> {
        let stored = &self.stored_pause;
        let paused = stored.is_stored().map_err(|source| Error::State {
            path: stored.path().to_owned(),
            source,
        })?;
        if paused {
            self.locks.pause(true);
        }
        Ok(paused)
    }

    /// Returns what an incomplete pause waits for.
    pub fn pending(&self, machine: &Lab2) -> Option<PendingReason> {
        match self.progress(machine) {
            Progress::Pending(why) => Some(why),
            Progress::Complete | Progress::Over(_) => None,
        }
    }

    fn progress(&self, machine: &Lab2) -> Progress {
        if self.locks.is_leaving() {
            Progress::Over("ringd is shutting down: the token goes to another member first")
        } else if !self.locks.is_paused() {
            Progress::Over("the pause was ended by ringctl resume")
        } else if self.locks.is_held() {
            Progress::Pending(PendingReason::Holder)
        } else if machine.state() == State::Owner || !machine.is_paused() {
            Progress::Pending(PendingReason::Token)
        } else {
            Progress::Complete
        }
    }

    fn set_data(
        &self,
        client: ClientId,
        digits: &str,
        token: Option<&str>,
        machine: &Lab2,
    ) -> Reaction {
        let Some(held) = self.locks.held() else {
            return error("nobody on this machine holds the token: take the lock first");
        };
        let allowed = token.map_or_else(|| self.locks.holds(client), |_| self.is_held_under(token));
        let is_here = machine.may_use_token() && machine.token() == Some(held);
        if !allowed || !is_here {
            return error("that lock is no longer held here");
        }
        match hex::decode(digits) {
            Some(data) => {
                let limit = machine.data_limit();
                if data.len() <= limit.len {
                    return Reaction::Command(Command::SetData(data), Reply::Done {});
                }
                Reaction::Reply(Reply::Error(Limit(limit).to_string()))
            }
            None => error("the data must be hexadecimal digits, two a byte"),
        }
    }

    fn watch(
        &mut self,
        client: ClientId,
        from: Option<u64>,
        turns: bool,
        history: &History,
    ) -> Reaction {
        if self.watchers.include(client) {
            return error("this connection watches already; open another one");
        }
        self.changed.push((client, true));
        if self.watchers.add(client, from, turns, history.recent()) {
            Reaction::Later
        } else {
            Reaction::Snapshot
        }
    }

    /// Serves all clients. Returns the next command for the machine; the caller calls again after it.
    pub fn settle(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Lab2,
        history: &mut History,
    ) -> Option<Command> {
        while let Some(client) = server.take_gone() {
            self.backstops.end(client);
            if let Some((peer, request)) = self.locks.leave_behind(now.monotonic, client) {
                self.deserted(now, peer, &request, machine, history);
            }
            self.watchers.forget(client);
            self.pausing.forget(client);
        }
        for (client, lasting) in self.changed.drain(..) {
            server.set_lasting(now.monotonic, client, lasting);
        }
        let settled = machine.settled_at().filter(|&at| at > now.monotonic);
        self.settles_at = settled.filter(|_| !self.locks.is_idle());
        let command = if self.locks.is_idle() {
            None
        } else {
            let told = &mut self.told;
            let mut tell = |client, request: &LockRequest, notice: Notice| {
                let lasting = matches!(notice, Notice::Renewed { .. });
                let request = if lasting { None } else { Some(request.clone()) };
                told.push((client, request.unwrap_or_default(), notice));
            };
            self.locks.dismiss(|once| machine.met_by(once), &mut tell);
            self.locks
                .settle(now.monotonic, &facts(now, machine, history), &mut tell)
        };
        self.backstops.end_unless(|client| self.locks.holds(client));
        let mut told = std::mem::take(&mut self.told);
        for (client, request, notice) in told.drain(..) {
            self.count.told(&notice);
            let label = &request.label;
            let reply = self.reply(now, &request, &notice, machine);
            match (&notice, &reply) {
                (Notice::Granted { .. }, _) => history.lock(now, "lock_granted", label, None),
                (Notice::Lost { why, .. }, Reply::Lost(loss)) => {
                    say_loss(server.client(client), label, loss);
                    history.lock(now, "lock_lost", label, Some(why.name()));
                }
                (Notice::Refused(_) | Notice::Ran(_), _) => {
                    history.lock(now, "lock_refused", label, None);
                }
                _ => {}
            }
            server.tell(now.monotonic, client, &reply);
        }
        // Along with its memory.
        self.told = told;
        if command.is_none() {
            self.tell_pausing(now, server, machine);
            let recent = history.recent();
            self.watchers
                .tell(now.monotonic, server, recent, |entry, number| {
                    Reply::Event(Box::new(entry.message(number)))
                });
        }
        command
    }

    /// The client that held the token is gone and has not given it back.
    fn deserted(
        &mut self,
        now: Now,
        peer: Client,
        request: &LockRequest,
        machine: &Lab2,
        history: &mut History,
    ) {
        let notice = Notice::Lost {
            why: LossReason::Gone,
            until: now.monotonic,
        };
        self.count.told(&notice);
        if let Reply::Lost(loss) = self.reply(now, request, &notice, machine) {
            say_loss(Some(peer), &request.label, &loss);
            history.lock(now, "lock_lost", &request.label, Some(loss.why.name()));
        }
    }

    fn reply(&self, now: Now, request: &LockRequest, notice: &Notice, machine: &Lab2) -> Reply {
        match *notice {
            Notice::Granted { token, until } => Reply::Granted(Grant {
                token: token_status(token),
                fencing: fencing(token).to_string(),
                grade: machine.grade().name().to_owned(),
                data: hex::encode(machine.data()),
                until_ns: until.as_nanos(),
            }),
            Notice::Renewed { until } => Reply::Renewed(Renewal {
                until_ns: until.as_nanos(),
            }),
            Notice::Refused(why) => Reply::Refused(Refusal {
                why,
                text: self.scene(now, machine).refusal(why, request),
            }),
            Notice::Ran(run) => Reply::Refused(Refusal {
                why: RefusalReason::Ran,
                text: has_run(run),
            }),
            Notice::Lost { why, until } => Reply::Lost(Loss {
                why,
                text: self.scene(now, machine).loss(why, request),
                until_ns: until.as_nanos(),
            }),
        }
    }

    fn tell_pausing(&mut self, now: Now, server: &mut Server, machine: &Lab2) {
        let mut pausing = std::mem::take(&mut self.pausing);
        pausing.settle(
            now.monotonic,
            || self.progress(machine),
            |client, reply| {
                server.tell(now.monotonic, client, reply);
                let lasting = self.watchers.include(client) || self.locks.concerns(client);
                server.set_lasting(now.monotonic, client, lasting);
            },
        );
        self.pausing = pausing;
    }
}

/// Removes a member from all tables, unless it is heard.
fn forget(now: Now, member: &str, machine: &Lab2) -> Reaction {
    let mac = match address(member, machine) {
        Ok(mac) => mac,
        Err(why) => return Reaction::Reply(Reply::Error(why)),
    };
    let found = machine.members().find(|member| member.mac == mac);
    let why = match found {
        None => "is no member of the ring: ringctl status lists all".to_owned(),
        Some(_) if machine.is_own(mac) => "is this node itself".to_owned(),
        Some(_) if !machine.is_link_up() => "cannot be forgotten: the link is down".to_owned(),
        Some(view)
            if matches!(
                view.presence,
                Presence::Alive | Presence::Deaf | Presence::Paused
            ) =>
        {
            let ago = view.last_seen.map(|seen| now.monotonic.since(seen));
            format!(
                "is alive, heard {:?} ago: stop its ringd first",
                ago.unwrap_or_default()
            )
        }
        Some(_) => return Reaction::Command(Command::Forget(mac), Reply::Done {}),
    };
    Reaction::Reply(Reply::Error(format!("{mac} {why}")))
}

/// The token, if it may be granted now.
fn usable(now: Now, machine: &Lab2) -> Option<Token> {
    let settled = machine.settled_at().is_some_and(|at| at <= now.monotonic);
    machine
        .token()
        .filter(|_| settled && machine.may_use_token())
}

fn facts(now: Now, machine: &Lab2, history: &History) -> Facts {
    Facts {
        token: usable(now, machine),
        lease_until: machine.lease_until().unwrap_or(now.monotonic),
        grade: grade(machine.grade()),
        grade_until: machine.grade_until().unwrap_or(now.monotonic),
        patience: machine.shortest_patience(),
        take_timeout: machine.constants().take_timeout,
        asking_lasts: machine.asking_lasts(),
        others_want: machine.is_wanted(),
        turn_over: machine.is_turn_over(now.monotonic),
        state: machine.state(),
        last_loss: history.last_loss(),
        link_up: machine.is_link_up(),
        once: machine.once(),
    }
}

const fn grade(grade: lab2::Grade) -> Grade {
    match grade {
        lab2::Grade::Alone => Grade::Alone,
        lab2::Grade::View => Grade::View,
        lab2::Grade::Quorum => Grade::Quorum,
    }
}

/// Returns why a job is not run.
fn has_run(RunView { stamp, age, .. }: RunView) -> String {
    let (name, runner, ago) = (stamp.name, stamp.runner, Duration::from_secs(age.as_secs()));
    let ago = spoken(ago);
    match stamp.outcome {
        RunOutcome::Begun => {
            format!("{name} was begun {ago} ago by {runner}; it runs, or nobody knows how it ended")
        }
        outcome => {
            let outcome = outcome_text(outcome);
            format!("{name} was begun {ago} ago by {runner}: {outcome}")
        }
    }
}

/// Logs whose work was ended, and why.
fn say_loss(peer: Option<Client>, label: &str, loss: &Loss) {
    let (reason, text) = (loss.why.name(), &loss.text);
    let (pid, uid) = peer.map_or((None, None), |peer| (peer.pid, peer.uid));
    let who = peer.map_or_else(
        || "a client that is gone".to_owned(),
        |peer| peer.to_string(),
    );
    macro_rules! line {
        ($level:ident) => {
            $level!(
                event = "lock_lost",
                label,
                pid,
                uid,
                reason,
                "{label:?} ({who}) has lost the token: {text}"
            )
        };
    }
    match loss.why {
        LossReason::StrongerToken
        | LossReason::Lease
        | LossReason::NotStored
        | LossReason::NobodyTakes
        | LossReason::Link
        | LossReason::Grade => line!(warn),
        LossReason::Yield
        | LossReason::MaxHold
        | LossReason::Shutdown
        | LossReason::Paused
        | LossReason::Gone => line!(info),
    }
}

/// Returns the MAC of the member with this MAC or ip.
fn address(text: &str, machine: &Lab2) -> Result<MacAddr, String> {
    if let Ok(mac) = text.parse::<mac_address::MacAddress>() {
        return Ok(MacAddr(mac.bytes()));
    }
    let ip = match text.parse() {
        Ok(IpAddr::V4(ip)) => ip.to_ipv6_mapped(),
        Ok(IpAddr::V6(ip)) => ip,
        Err(_) => return Err(format!("'{text}' is neither a MAC address nor an ip")),
    };
    let mut owners = machine.members().filter(|it| it.ip == ip.octets());
    match (owners.next(), owners.next()) {
        (Some(member), None) => Ok(member.mac),
        (None, _) => Err(format!("no member of the ring has the ip {text}")),
        (Some(_), Some(_)) => Err(format!(
            "several members of the ring have the ip {text}: give a MAC"
        )),
    }
}

fn error(text: &str) -> Reaction {
    Reaction::Reply(Reply::Error(text.to_owned()))
}

fn fencing(token: Token) -> FencingToken {
    FencingToken::from(token)
}
