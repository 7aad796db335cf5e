//! Serves clients of the control socket beyond the status: locks, the token's data, pauses, and watching.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_proto::lab2::{self, Command, JobName, Lab2, Presence, RunEnd, RunView, State};
use ring_proto::time::{Instant, Now, nanos};
use tracing::{info, warn};

use super::history::History;
use super::lock_totals::LockCount;
use super::locks::{Job, Locks, MachineState, Notice};
use super::pausing::{Pausing, Progress, Step};
use super::runs::{LostRuns, has_run, say_end};
use super::status::token_status;
use super::stored_pause::StoredPause;
use super::verdict::Scene;
use crate::control::lab2::{
    ClientStatus, Grade, LockRequest, LockTotals, LossReason, OnceRequest, PauseRequest,
    PendingReason, RefusalReason, RingRequest,
};
use crate::control::{
    Grant, Loss, MAX_LABEL, OwnJson, PROTOCOL, Refusal, Renewal, Reply, Request, TokenData,
    Version, hex,
};
use crate::fencing::FencingToken;
use crate::host::{Backstops, Client, ClientId, Server, Watchers, spoken};
use crate::observe::lab2::Limit;
use crate::system::Error;

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

/// What a request has changed.
#[derive(Debug, Clone, Copy)]
enum Done {
    /// A pause has ended.
    Resumed,
    /// A run of a job has ended; how.
    Ran(JobName, RunEnd),
}

/// All clients that want more than the status.
#[derive(Debug)]
pub struct Service {
    interface: String,
    locks: Locks,
    count: LockCount,
    /// When a client that waits may be granted the token.
    grants_from: Option<Instant>,
    backstops: Backstops,
    watchers: Watchers,
    pausing: Pausing,
    stored_pause: StoredPause,
    lost_runs: LostRuns,
    /// What requests have changed, and watchers are not told yet.
    done: Vec<Done>,
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
            grants_from: None,
            backstops: Backstops::new(),
            watchers: Watchers::default(),
            pausing: Pausing::default(),
            stored_pause,
            lost_runs: LostRuns::default(),
            done: Vec::new(),
            changed: Vec::new(),
            told: Vec::new(),
        }
    }

    /// When to call [`serve_clients`](Self::serve_clients) at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.locks.deadline(),
            self.grants_from,
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

    /// Whether a run of a job was lost, as far as is known here.
    pub fn is_lost(&self, now: Instant, run: &RunView, machine: &Lab2) -> bool {
        self.lost_runs.include(run, now, machine)
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
        request: Request<RingRequest>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Lab2,
        history: &History,
    ) -> Reaction {
        let client = peer.id;
        match request {
            Request::Lock(request) => self.lock(now, peer, &request, None, machine),
            Request::Bind => self.bind(peer, descriptors),
            Request::Unlock => {
                self.backstops.cancel(client);
                if self.locks.release(client) {
                    self.changed.push((client, self.watchers.include(client)));
                }
                Reaction::Reply(Reply::Unlocked {})
            }
            Request::DataGet => Reaction::Reply(Reply::Data(TokenData {
                hex: hex::encode(machine.data()),
                token: machine.token().map(shown),
            })),
            Request::DataSet { hex, token } => {
                self.set_data(client, &hex, token.as_deref(), machine)
            }
            Request::Watch { from, turns } => self.watch(client, from, turns, history),
            Request::Version => Reaction::Reply(Reply::Version(Version {
                protocol: PROTOCOL,
                ringd: env!("CARGO_PKG_VERSION").to_owned(),
                interface: Some(self.interface.clone()),
            })),
            Request::Status => Reaction::Status,
            Request::Own(request) => self.answer_own(now, peer, request, machine),
        }
    }

    /// Returns how to answer a request that only nodes of a ring know.
    fn answer_own(
        &mut self,
        now: Now,
        peer: Client,
        request: RingRequest,
        machine: &Lab2,
    ) -> Reaction {
        match request {
            RingRequest::Once(request) => self.once(now, peer, &request, machine),
            RingRequest::Ran { done } => self.ran(peer.id, done),
            RingRequest::NotRun => self.not_run(peer.id),
            RingRequest::Yield { to } => self.yield_to(to.as_deref(), machine),
            RingRequest::Forget { member } => forget(now, &member, machine),
            RingRequest::Pause(request) => self.pause(now, peer, &request, machine),
            RingRequest::Resume => self.resume(peer),
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
            return Reaction::Reply(refused(why, text));
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

    fn bind(&mut self, client: Client, descriptors: &mut Vec<OwnedFd>) -> Reaction {
        if !self.locks.holds(client.id) {
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
    fn ran(&mut self, client: ClientId, done: bool) -> Reaction {
        if !self.locks.holds(client) || self.locks.held().is_none() {
            return error("this connection has no lock: whether the job was done is not recorded");
        }
        let end = if done { RunEnd::Done } else { RunEnd::Failed };
        let job = self.locks.job(client);
        self.done.extend(job.map(|job| Done::Ran(job.name, end)));
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

    fn pause(
        &mut self,
        now: Now,
        peer: Client,
        request: &PauseRequest,
        machine: &Lab2,
    ) -> Reaction {
        let id = peer.id;
        if self.pausing.concerns(id) {
            return error("this connection waits for a pause already");
        }
        if self.is_held_under(request.under.as_deref()) {
            let why = RefusalReason::Nested;
            let text = self
                .scene(now, machine)
                .refusal(why, &LockRequest::default());
            return Reaction::Reply(refused(why, text));
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
            self.pausing.begin(peer);
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
            self.pausing.end();
            self.done.push(Done::Resumed);
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
    pub fn serve_clients(
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
        let not_yet = machine.settled_at().filter(|&at| at > now.monotonic);
        self.grants_from = not_yet.filter(|_| !self.locks.is_idle());
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
            self.locks.update(
                now.monotonic,
                &machine_state(now, machine, history),
                &mut tell,
            )
        };
        self.backstops.end_unless(|client| self.locks.holds(client));
        let mut told = std::mem::take(&mut self.told);
        for (client, request, notice) in told.drain(..) {
            self.count.told(&notice);
            let label = &request.label;
            let reply = self.reply(now, &request, &notice, machine);
            match (&notice, &reply) {
                (Notice::Granted { .. }, _) => history.lock_answered(now, label, None),
                (Notice::Lost { why, .. }, Reply::Lost(loss)) => {
                    say_loss(server.client(client), label, *why, loss);
                    history.lock_lost(now, label, why.name());
                }
                (Notice::Refused(why), _) => {
                    history.lock_answered(now, label, Some(why.name()));
                }
                (Notice::Ran(_), _) => {
                    history.lock_answered(now, label, Some(RefusalReason::Ran.name()));
                }
                _ => {}
            }
            server.tell(now.monotonic, client, &reply);
        }
        // Along with its memory.
        self.told = told;
        if command.is_none() {
            self.tell_news(now, machine, history);
            self.tell_pausing(now, server, machine);
            let recent = history.recent();
            self.watchers
                .tell(now.monotonic, server, recent, |entry, number| {
                    Reply::Event(entry.message(number))
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
        let why = LossReason::Gone;
        let notice = Notice::Lost {
            why,
            until: now.monotonic,
        };
        self.count.told(&notice);
        if let Reply::Lost(loss) = self.reply(now, request, &notice, machine) {
            say_loss(Some(peer), &request.label, why, &loss);
            history.lock_lost(now, &request.label, why.name());
        }
    }

    fn reply(&self, now: Now, request: &LockRequest, notice: &Notice, machine: &Lab2) -> Reply {
        match *notice {
            Notice::Granted { token, until } => Reply::Granted(Grant {
                token: Some(shown(token)),
                fencing: fencing(token).to_string(),
                grade: Some(machine.grade().name().to_owned()),
                data: hex::encode(machine.data()),
                until_ns: until.as_nanos(),
            }),
            Notice::Renewed { until } => Reply::Renewed(Renewal {
                until_ns: until.as_nanos(),
            }),
            Notice::Refused(why) => refused(why, self.scene(now, machine).refusal(why, request)),
            Notice::Ran(run) => {
                let lost = self.is_lost(now.monotonic, &run, machine);
                Reply::Refused(Refusal {
                    why: RefusalReason::Ran.name().to_owned(),
                    text: has_run(&run, lost),
                    lost,
                })
            }
            Notice::Lost { why, until } => Reply::Lost(Loss {
                why: why.name().to_owned(),
                text: self.scene(now, machine).loss(why, request),
                until_ns: until.as_nanos(),
            }),
        }
    }

    /// Logs what has become of a pause and of runs, and tells watchers.
    fn tell_news(&mut self, now: Now, machine: &Lab2, history: &mut History) {
        let own = || machine.members().find(|member| machine.is_own(member.mac));
        for done in self.done.drain(..) {
            match done {
                Done::Resumed => history.pause(now, "resumed", None),
                Done::Ran(name, end) => {
                    let event = say_end(name, end);
                    let runner = own().map_or(MacAddr::default(), |own| own.mac);
                    history.run(now, event, (name, runner), None);
                }
            }
        }
        let mut pausing = std::mem::take(&mut self.pausing);
        match pausing.step(|| self.progress(machine)) {
            Some(Step::Pending(by, why)) => {
                let (Client { pid, uid, .. }, reason, text) = (by, why.name(), why.text());
                info!(
                    event = "pausing",
                    pid, uid, reason, "pause requested by {by}; pending: {text}"
                );
                history.pause(now, "pausing", Some(reason));
            }
            Some(Step::Complete(by)) => {
                let (pid, uid) = by.map_or((None, None), |by| (by.pid, by.uid));
                let by = by.map_or_else(String::new, |by| format!(" by {by}"));
                info!(
                    event = "paused",
                    pid, uid, "paused{by}: owns nothing until ringctl resume"
                );
                history.pause(now, "paused", None);
            }
            None => {}
        }
        self.pausing = pausing;
        if let Some(run) = self.lost_runs.look(now.monotonic, machine) {
            let (name, runner, text) = (run.stamp.name, run.stamp.runner, has_run(&run, true));
            let age_ns = nanos(run.age);
            warn!(
                event = "run_lost", %name, %runner, age_ns,
                "{text}; ringctl once --retry runs it again"
            );
            history.run(now, "run_lost", (name, runner), Some(&text));
        }
    }

    fn tell_pausing(&mut self, now: Now, server: &mut Server, machine: &Lab2) {
        let mut pausing = std::mem::take(&mut self.pausing);
        pausing.reply_to_waiting(
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
                "is alive, heard {} ago: stop its ringd first",
                spoken(ago.unwrap_or_default())
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

fn machine_state(now: Now, machine: &Lab2, history: &History) -> MachineState {
    MachineState {
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

/// Logs whose work was ended, and why.
fn say_loss(peer: Option<Client>, label: &str, why: LossReason, loss: &Loss) {
    let (reason, text) = (why.name(), &loss.text);
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
    match why {
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

/// A token as clients are shown it.
fn shown(token: Token) -> OwnJson {
    OwnJson::of(&token_status(token))
}

fn refused(why: RefusalReason, text: String) -> Reply {
    Reply::Refused(Refusal {
        why: why.name().to_owned(),
        text,
        lost: false,
    })
}

fn error(text: &str) -> Reaction {
    Reaction::Reply(Reply::Error(text.to_owned()))
}

fn fencing(token: Token) -> FencingToken {
    FencingToken::from(token)
}
