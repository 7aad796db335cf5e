//! Answers the requests of clients.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_control::lab2::{LockRequest, OnceRequest, RefusalReason, RingRequest};
use ring_control::{LABEL_LEN_MAX, Reply, Request, TokenData};
use ring_host::Reaction;
use ring_process::{Client, ClientId};
use ring_proto::lab2::{Command, JobName, Lab2, Presence, RunEnd};
use ring_proto::time::Now;
use ring_text::{format_duration, hex, parse_mac};

use super::super::history::History;
use super::super::locks::Job;
use super::named::locks_reply;
use super::{RequestEffect, Service, refusal, token_json};
use crate::system::lab2::observe::Limit;

impl Service {
    /// Returns the kind of answer to a request. Takes from the vector the descriptors that the service keeps, and
    /// leaves the other descriptors in the vector.
    pub(crate) fn answer(
        &mut self,
        now: Now,
        peer: Client,
        request: Request<RingRequest>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Lab2,
        history: &History,
    ) -> Reaction<Command> {
        let client = peer.id;
        match request {
            Request::Lock(request) => self.lock(now, peer, &request, None, machine),
            Request::Bind => self.bind(peer, descriptors),
            Request::Unlock { exit } => {
                self.backstops.cancel(client);
                let released = self.lock_log.on_released(now.monotonic, client, exit);
                self.released_labels
                    .extend(released.map(|lock| (lock.label, None)));
                let lock = self.named.held_lock(client);
                let released = self.named_log.on_released(now.monotonic, client, exit);
                self.released_labels
                    .extend(released.map(|released| (released.label, lock)));
                if self.locks.release(client) || self.named.release(client) {
                    self.changed_clients
                        .push((client, self.watchers.contains(client)));
                }
                Reaction::Reply(Reply::Unlocked {})
            }
            Request::DataGet => Reaction::Reply(Reply::Data(TokenData {
                hex: hex::encode(machine.data()),
                token: machine.token().map(token_json),
            })),
            Request::DataSet { hex, token } => {
                self.set_data(client, &hex, token.as_deref(), machine)
            }
            Request::Watch { from, turns } => {
                self.changed_clients.push((client, true));
                self.watchers.add(client, from, turns, history.recent())
            }
            Request::Version => Reaction::version(Some(&self.interface)),
            Request::Status => Reaction::Status,
            Request::System(request) => self.answer_own_request(now, peer, request, machine),
        }
    }

    /// Returns the kind of answer to a request that exists only for nodes of a ring.
    fn answer_own_request(
        &mut self,
        now: Now,
        peer: Client,
        request: RingRequest,
        machine: &Lab2,
    ) -> Reaction<Command> {
        match request {
            RingRequest::NamedLock(request) => self.request_named_lock(now, peer, request, machine),
            RingRequest::Locks => Reaction::Reply(locks_reply(machine)),
            RingRequest::Survey => self.survey(peer),
            RingRequest::Measure(request) => self.measure(peer, request, machine),
            RingRequest::Once(request) => self.request_job(now, peer, &request, machine),
            RingRequest::Ran { done } => self.end_run(peer.id, done),
            RingRequest::NotRun => self.cancel_run(peer.id),
            RingRequest::Yield { to } => self.yield_to(to.as_deref(), machine),
            RingRequest::Forget { member } => forget(now, &member, machine),
            RingRequest::Pause(request) => self.pause(now, peer, &request, machine),
            RingRequest::Resume => self.resume(peer),
            RingRequest::Dump => {
                self.changed_clients.push((peer.id, true));
                self.recordings.on_request(peer.id)
            }
        }
    }

    fn lock(
        &mut self,
        now: Now,
        peer: Client,
        request: &LockRequest,
        job: Option<Job>,
        machine: &Lab2,
    ) -> Reaction<Command> {
        if self.involves(peer.id) {
            return Reaction::error("this connection already holds a lock or waits for one");
        }
        if request.label.len() > LABEL_LEN_MAX {
            return Reaction::error(&format!("a label has at most {LABEL_LEN_MAX} bytes"));
        }
        let fetch_timeout = machine.constants().request_timeout();
        let mut request = request.clone();
        let accepted = if self.is_held_under(request.under.as_deref()) {
            Err(RefusalReason::AlreadyHeld)
        } else {
            self.apply_rule(&mut request).and_then(|()| {
                let request = request.clone();
                self.locks
                    .request(now.monotonic, peer, request, job, fetch_timeout)
            })
        };
        if let Err(why) = accepted {
            self.count.count_refusal(why);
            let text = self.text_inputs(now, machine).refusal(why, &request);
            return Reaction::Reply(refusal(why, text));
        }
        self.changed_clients.push((peer.id, true));
        Reaction::Later
    }

    fn bind(&mut self, client: Client, descriptors: &mut Vec<OwnedFd>) -> Reaction<Command> {
        if !self.holds(client.id) {
            return Reaction::error("this connection has no lock");
        }
        match self.backstops.store(client, descriptors) {
            Ok(()) => Reaction::Reply(Reply::Done {}),
            Err(why) => Reaction::error(why),
        }
    }

    fn request_job(
        &mut self,
        now: Now,
        peer: Client,
        request: &OnceRequest,
        machine: &Lab2,
    ) -> Reaction<Command> {
        let Some(name) = JobName::new(&request.name) else {
            return Reaction::error(
                "a job's name has 1 to 32 printable ASCII characters without blanks",
            );
        };
        if request.every_ms == 0 {
            return Reaction::error("a job's period cannot be 0");
        }
        let job = Job {
            name,
            every: Duration::from_millis(request.every_ms),
            retry: request.retry,
        };
        self.lock(now, peer, &request.lock, Some(job), machine)
    }

    /// Ends a run. If the lock was lost, the job counts as lost, even if its client reports a different outcome.
    fn end_run(&mut self, client: ClientId, done: bool) -> Reaction<Command> {
        if !self.locks.holds(client) || self.locks.held_token().is_none() {
            return Reaction::error(
                "cannot record the end of the job: this connection has no lock",
            );
        }
        let end = if done { RunEnd::Done } else { RunEnd::Failed };
        let job = self.locks.job(client);
        self.effects
            .extend(job.map(|job| RequestEffect::Ran(job.name, end)));
        Reaction::Command(Command::EndOnce(client, end), Reply::Done {})
    }

    fn cancel_run(&self, client: ClientId) -> Reaction<Command> {
        if !self.locks.holds(client) {
            return Reaction::error(
                "cannot record that the job was not run: this connection has no lock",
            );
        }
        Reaction::Command(Command::EndOnce(client, RunEnd::NotRun), Reply::Done {})
    }

    fn yield_to(&mut self, to: Option<&str>, machine: &Lab2) -> Reaction<Command> {
        let member = match to.map(|to| address(to, machine)).transpose() {
            Ok(member) => member,
            Err(why) => return Reaction::Reply(Reply::Error(why)),
        };
        if let Some(mac) = member {
            let why = match machine.members().find(|member| member.mac == mac) {
                None => Some("is not a member of the ring"),
                Some(_) if machine.is_own(mac) => Some("is this node itself"),
                Some(member) => member.paused.then_some("is paused"),
            };
            if let Some(why) = why {
                return Reaction::Reply(Reply::Error(format!("{mac} {why}")));
            }
        }
        if !machine.may_use_token() {
            return Reaction::error("this node does not have the token");
        }
        if machine
            .members()
            .all(|other| machine.is_own(other.mac) || other.paused)
        {
            return Reaction::error("there is no other member to hand the token over to");
        }
        self.locks.yield_to(member);
        Reaction::Reply(Reply::Done {})
    }

    fn set_data(
        &self,
        client: ClientId,
        digits: &str,
        token: Option<&str>,
        machine: &Lab2,
    ) -> Reaction<Command> {
        if let Some(name) = token.and_then(|token| self.named.name_of(token)) {
            return Reaction::Reply(Reply::Error(format!(
                "cannot set the token's data under the lock {name}: only a holder of the token can set them; run \
                 ringctl data set without RINGD_LOCK"
            )));
        }
        let Some(held) = self.locks.held_token() else {
            return Reaction::error(
                "no program of this machine holds the token; take the lock first",
            );
        };
        let allowed = token.map_or_else(|| self.locks.holds(client), |_| self.is_held_under(token));
        let is_here = machine.may_use_token() && machine.is_lock_good(held);
        if !allowed || !is_here {
            return Reaction::error("this lock is no longer held on this machine");
        }
        match hex::decode(digits) {
            Some(data) => {
                let limit = machine.data_limit();
                if data.len() <= limit.len {
                    return Reaction::Command(Command::SetData(data), Reply::Done {});
                }
                Reaction::Reply(Reply::Error(Limit(limit).to_string()))
            }
            None => Reaction::error("the data must be hexadecimal digits, two per byte"),
        }
    }
}

/// Removes a member from the tables of all members, unless this node hears the member.
fn forget(now: Now, member: &str, machine: &Lab2) -> Reaction<Command> {
    let mac = match address(member, machine) {
        Ok(mac) => mac,
        Err(why) => return Reaction::Reply(Reply::Error(why)),
    };
    let found = machine.members().find(|member| member.mac == mac);
    let why = match found {
        None => "is not a member of the ring; see ringctl status".to_owned(),
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
                "is alive, heard {} ago; stop its ringd first",
                format_duration(ago.unwrap_or_default())
            )
        }
        Some(_) => return Reaction::Command(Command::Forget(mac), Reply::Done {}),
    };
    Reaction::Reply(Reply::Error(format!("{mac} {why}")))
}

/// Returns the MAC of the member with this MAC or IP address.
fn address(text: &str, machine: &Lab2) -> Result<MacAddr, String> {
    if let Some(mac) = parse_mac(text) {
        return Ok(MacAddr(mac));
    }
    let ip = match text.parse() {
        Ok(IpAddr::V4(ip)) => ip.to_ipv6_mapped(),
        Ok(IpAddr::V6(ip)) => ip,
        Err(_) => {
            return Err(format!(
                "'{text}' is neither a MAC address nor an IP address"
            ));
        }
    };
    let mut owners = machine.members().filter(|it| it.ip == ip.octets());
    match (owners.next(), owners.next()) {
        (Some(member), None) => Ok(member.mac),
        (None, _) => Err(format!("no member of the ring has the IP address {text}")),
        (Some(_), Some(_)) => Err(format!(
            "several members of the ring have the IP address {text}; give a MAC address"
        )),
    }
}
