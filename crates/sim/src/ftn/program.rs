//! The programs that use the clients: they run commands under tokens, write data and return tokens.

use ring_codec::ftn::Access;
use ring_proto::ftn::client::{self, Refusal};

use super::checks::Grant;
use super::node::{ClientData, Job, ProgramAct};
use super::notation::{token_name, token_of};
use super::outcome::Rule;
use super::schedule::TOKENS;
use super::system::{FtnEvent, FtnSystem, World};
use super::update_log::data;
use ring_proto::ftn::endpoint::Command;

/// The lengths of updates. Most updates are short, and some are longer than a datagram. The longest update has as many
/// parts as a window can contain. A longer update needs a second exchange, and the time limit of a grant is too short
/// for a second exchange.
pub(super) const UPDATE_LENGTHS: [usize; 5] = [0, 0, 40, 1_500, 16_000];

impl FtnSystem {
    /// Handles an event of a client's state machine.
    pub(super) fn on_client_event(
        &mut self,
        at: u64,
        node: usize,
        own: &mut ClientData,
        event: &client::Event,
    ) {
        use client::Event as E;
        match event {
            E::NewSocket => own.todo.push(ProgramAct::NewSocket),
            E::Live { .. } => self.stats.counters.sessions += 1,
            E::Lost { .. } => {
                self.stats.counters.lost += 1;
                // A command ends when the lease of its token is lost.
                own.jobs.clear();
            }
            E::LoggedOut { .. } => own.todo.push(ProgramAct::End),
            E::Granted {
                name,
                access,
                fence,
                data,
            } => {
                self.stats.counters.grants += 1;
                let Some(token) = token_of(name) else {
                    return;
                };
                let Some(job) = own.jobs.get_mut(&token) else {
                    return;
                };
                let grant = Grant {
                    token,
                    access: *access,
                    fence: *fence,
                    data,
                    requested: job.requested,
                };
                if job.granted.is_none() {
                    own.todo.push(ProgramAct::Begin(token, job.number));
                }
                (job.granted, job.access) = (Some(at), *access);
                self.checks.check_grant(at, node, &grant);
            }
            E::Revoked { name } => {
                let job = token_of(name).and_then(|token| Some((token, own.jobs.get(&token)?)));
                if let Some((token, job)) = job
                    && job.lasts.is_none()
                {
                    own.todo.push(ProgramAct::Yield(token, job.number));
                }
            }
            E::UpgradeRevoked { name } => {
                let token = token_of(name).unwrap_or(TOKENS);
                if let Some(job) = own.jobs.get_mut(&token) {
                    (job.granted, job.anew) = (None, true);
                    job.access = Access::Exclusive;
                }
            }
            E::Updated { name } => {
                let token = token_of(name).unwrap_or(TOKENS);
                self.stats.counters.updates += 1;
                let pending = own.jobs.get_mut(&token).and_then(|job| job.pending.take());
                if let Some(update) = pending {
                    let update_log = self.checks.update_logs.entry(token).or_default();
                    update_log.on_confirmed(update, at);
                }
            }
            E::Returned { name } | E::Cancelled { name } => {
                let token = token_of(name).unwrap_or(TOKENS);
                let job = own.jobs.get_mut(&token);
                if !job.is_some_and(|job| std::mem::take(&mut job.anew)) {
                    own.jobs.remove(&token);
                }
            }
            E::Refused {
                name,
                refusal: Refusal::NotLive,
            } => {
                let token = token_of(name).unwrap_or(TOKENS);
                own.jobs.remove(&token);
            }
            _ => {}
        }
    }
}

impl World {
    /// Asks for a token.
    pub(super) fn request(&mut self, at: usize, token: usize, access: Access, lasts: Option<u64>) {
        let now = self.now;
        if !self.nodes[at].own.keys.permits(&token_name(token)) {
            return;
        }
        let Some(own) = self.running_client(at) else {
            return;
        };
        if own.jobs.contains_key(&token) {
            return;
        }
        own.numbered += 1;
        let job = Job {
            number: own.numbered,
            requested: now,
            granted: None,
            access,
            lasts,
            anew: false,
            pending: None,
        };
        // Some requests have no fencing number, because a fencing number is optional in the protocol.
        let fence = own.numbered % 8 > 0;
        own.jobs.insert(token, job);
        let name = token_name(token);
        let request = client::Command::Request {
            name,
            access,
            fence,
        };
        self.command(at, Command::Client(request));
    }

    /// Returns a client's data, if its process runs.
    pub(super) fn running_client(&mut self, at: usize) -> Option<&mut ClientData> {
        let node = &mut self.nodes[at];
        if node.is_running() {
            node.own.client_mut()
        } else {
            None
        }
    }

    /// Requests the other kind of access to a held token.
    pub(super) fn change_access(&mut self, at: usize, token: usize) -> bool {
        let holding = self.holding(at, token);
        let Some(own) = self.running_client(at) else {
            return false;
        };
        let (Some(access), Some(job)) = (holding, own.jobs.get_mut(&token)) else {
            return false;
        };
        let access = match access {
            Access::Exclusive => Access::Shared,
            Access::Shared => Access::Exclusive,
        };
        job.access = access;
        let name = token_name(token);
        let request = client::Command::Request {
            name,
            access,
            fence: true,
        };
        self.command(at, Command::Client(request));
        true
    }

    /// Returns a client's access to a token, if the lease has not ended by the client's clock.
    pub(super) fn holding(&self, at: usize, token: usize) -> Option<Access> {
        let local = self.nodes[at].clock.monotonic(self.now);
        let client = self.machine(at)?.client()?;
        client.lease().filter(|end| local < *end)?;
        Some(client.held_token(&token_name(token))?.access)
    }

    /// Begins an update of a token. Does nothing if an earlier update of this client is unconfirmed.
    fn next_update(&mut self, at: usize, token: usize) -> Option<Box<[u8]>> {
        let now = self.now;
        let update = self.system.updates + 1;
        let own = self.running_client(at)?;
        let job = own.jobs.get_mut(&token)?;
        if job.pending.is_some() {
            return None;
        }
        job.pending = Some(update);
        let asked = job.requested;
        self.system.updates = update;
        let checks = &mut self.system.checks;
        checks
            .update_logs
            .entry(token)
            .or_default()
            .on_begun(update, asked, now);
        // The length of the data follows from the number of the update, so no random number is needed.
        let length = usize::try_from(update).unwrap_or(0) % UPDATE_LENGTHS.len();
        Some(data(update, UPDATE_LENGTHS[length]))
    }

    /// Sets the data of a held token.
    pub(super) fn update(&mut self, at: usize, token: usize) -> bool {
        if self.holding(at, token).is_none() {
            return false;
        }
        let Some(data) = self.next_update(at, token) else {
            return false;
        };
        let name = token_name(token);
        self.command(at, Command::Client(client::Command::Update { name, data }));
        true
    }

    /// Cancels a client's request for a token, or gives up a token that the client holds.
    pub(super) fn cancel(&mut self, at: usize, token: usize) {
        let Some(own) = self.running_client(at) else {
            return;
        };
        // Without a job, the command is omitted, because its answer could come after a new request for the token.
        let Some(job) = own.jobs.get_mut(&token) else {
            return;
        };
        job.anew = false;
        let name = token_name(token);
        self.command(at, Command::Client(client::Command::Cancel { name }));
    }

    /// Ends a command: returns the token, mostly with new data.
    pub(super) fn finish_job(&mut self, at: usize, token: usize, number: u32) {
        let Some(own) = self.running_client(at) else {
            return;
        };
        let Some(job) = own.jobs.get(&token).filter(|job| job.number == number) else {
            return;
        };
        let writes = job.granted.is_some()
            && (matches!(job.access, Access::Exclusive) || job.number % 3 == 0);
        let name = token_name(token);
        let holds = self.holding(at, token).is_some();
        let data = if writes && holds {
            self.next_update(at, token)
        } else {
            None
        };
        let command = match data {
            Some(data) => client::Command::UpdateAndRelease { name, data },
            None if holds => client::Command::Release { name },
            None => return self.cancel(at, token),
        };
        self.command(at, Command::Client(command));
    }

    /// Continues a client's program after an input, and checks the client.
    pub(super) fn check_client(&mut self, at: usize) {
        while let Some(todo) = self.nodes[at].own.client_mut().and_then(|own| {
            let is_there = !own.todo.is_empty();
            is_there.then(|| own.todo.remove(0))
        }) {
            let now = self.now;
            match todo {
                ProgramAct::NewSocket => self.open_socket(at),
                ProgramAct::Begin(token, job) => {
                    let own = self.nodes[at].own.client();
                    let job = own
                        .and_then(|own| own.jobs.get(&token))
                        .filter(|it| it.number == job);
                    if let Some((number, lasts)) =
                        job.and_then(|job| Some((job.number, job.lasts?)))
                    {
                        let done = FtnEvent::Done {
                            node: at,
                            token,
                            job: number,
                        };
                        self.later_in_life(at, now + lasts, done);
                    }
                }
                ProgramAct::Yield(token, job) => {
                    let node = at;
                    self.later_in_life(at, now + 1_000_000, FtnEvent::Done { node, token, job });
                }
                ProgramAct::End => self.later_in_life(at, now, FtnEvent::End { node: at }),
            }
        }
        self.check_configuration(at);
        self.check_exclusion(at);
    }

    /// Checks that the configuration number of a session never decreases.
    fn check_configuration(&mut self, at: usize) {
        let client = self.machine(at).and_then(|station| station.client());
        let number = client.and_then(|client| Some(client.configuration()?.number()));
        let Some(own) = self.nodes[at].own.client_mut() else {
            return;
        };
        let before = std::mem::replace(&mut own.configuration, number);
        if let (Some(before), Some(number)) = (before, number)
            && number < before
        {
            let (now, what) = (self.now, format!("{number} after {before}"));
            let checks = &mut self.system.checks;
            checks.findings.report(now, Some(at), Rule::Backwards, what);
        }
    }

    fn check_exclusion(&mut self, at: usize) {
        let Some(own) = self.nodes[at].own.client() else {
            return;
        };
        let jobs: Vec<(usize, u64)> = own
            .jobs
            .iter()
            .map(|(token, job)| (*token, job.requested))
            .collect();
        for (token, requested) in jobs {
            let Some(access) = self.holding(at, token) else {
                self.system.checks.clear_clashes(at, token);
                continue;
            };
            for other in self.system.servers..self.len() {
                let Some(others) = self.holding(other, token).filter(|_| other != at) else {
                    continue;
                };
                if matches!((access, others), (Access::Shared, Access::Shared)) {
                    continue;
                }
                let own = self.nodes[other].own.client();
                let since = own
                    .and_then(|own| own.jobs.get(&token))
                    .map_or(0, |job| job.requested);
                let (now, nodes) = (self.now, (at.min(other), at.max(other)));
                let checks = &mut self.system.checks;
                checks.check_clash(now, nodes, token, requested.min(since));
            }
        }
    }
}
