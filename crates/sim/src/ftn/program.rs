//! The programs above the clients: they run commands under tokens, write, and give back.

use ring_codec::ftn::Access;
use ring_proto::ftn::client::{self, Refusal};

use super::checks::Grant;
use super::node::{ClientOwn, Job, Todo};
use super::notation::{token_name, token_of};
use super::outcome::Rule;
use super::plan::TOKENS;
use super::register::data;
use super::service::{Due, Service, World};
use ring_proto::ftn::station::Command;

/// How many bytes an update has: mostly few, sometimes more than a datagram has room for, and as many parts as go at once.
/// More than these would take an exchange more, which the time for a grant does not have.
pub(super) const LENGTHS: [usize; 5] = [0, 0, 40, 1_500, 16_000];

impl Service {
    /// A client's machine has told something.
    pub(super) fn client_told(
        &mut self,
        at: u64,
        node: usize,
        own: &mut ClientOwn,
        event: &client::Event,
    ) {
        use client::Event as E;
        match event {
            E::NewSocket => own.todo.push(Todo::NewSocket),
            E::Live { .. } => self.stats.counters.sessions += 1,
            E::Lost { .. } => {
                self.stats.counters.lost += 1;
                // What runs under a token ends with its lease.
                own.jobs.clear();
            }
            E::LoggedOut { .. } => own.todo.push(Todo::End),
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
                    own.todo.push(Todo::Begin(token, job.number));
                }
                (job.granted, job.access) = (Some(at), *access);
                self.checks.grant(at, node, &grant);
            }
            E::Revoked { name } => {
                let job = token_of(name).and_then(|token| Some((token, own.jobs.get(&token)?)));
                if let Some((token, job)) = job
                    && job.lasts.is_none()
                {
                    own.todo.push(Todo::Yield(token, job.number));
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
                    let register = self.checks.registers.entry(token).or_default();
                    register.confirm(update, at);
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
    /// A program asks for a token.
    pub fn ask(&mut self, at: usize, token: usize, access: Access, lasts: Option<u64>) {
        let now = self.now;
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

    /// What is kept of a client whose process is there and not stopped.
    pub fn running_client(&mut self, at: usize) -> Option<&mut ClientOwn> {
        let node = &mut self.nodes[at];
        if node.is_running() {
            node.own.client_mut()
        } else {
            None
        }
    }

    /// A holder asks for the other access.
    pub fn change_access(&mut self, at: usize, token: usize) -> bool {
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

    /// How a client holds a token that it may use: while its lease lasts, by its own clock.
    pub fn holding(&self, at: usize, token: usize) -> Option<Access> {
        let local = self.nodes[at].clock.monotonic(self.now);
        let client = self.machine(at)?.client()?;
        client.lease().filter(|end| local < *end)?;
        Some(client.holding(&token_name(token))?.access)
    }

    /// The next update of a token by a client that has none under way.
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
            .registers
            .entry(token)
            .or_default()
            .begin(update, asked, now);
        let length = usize::try_from(update).unwrap_or(0) % LENGTHS.len();
        Some(data(update, LENGTHS[length]))
    }

    /// A holder sets the data, and goes on holding.
    pub fn update(&mut self, at: usize, token: usize) -> bool {
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

    /// A program gives up what there is of a token.
    pub fn cancel(&mut self, at: usize, token: usize) {
        let Some(own) = self.running_client(at) else {
            return;
        };
        // Of a token that it has nothing to do with the answer could come when it has asked for it again.
        let Some(job) = own.jobs.get_mut(&token) else {
            return;
        };
        job.anew = false;
        let name = token_name(token);
        self.command(at, Command::Client(client::Command::Cancel { name }));
    }

    /// A command has ended: the token is given back, mostly with new data.
    pub fn job_done(&mut self, at: usize, token: usize, number: u32) {
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

    /// A client was given an input: its program goes on, and it is looked at who else holds what it holds.
    pub fn look_at_client(&mut self, at: usize) {
        while let Some(todo) = self.nodes[at].own.client_mut().and_then(|own| {
            let is_there = !own.todo.is_empty();
            is_there.then(|| own.todo.remove(0))
        }) {
            let now = self.now;
            match todo {
                Todo::NewSocket => self.open_socket(at),
                Todo::Begin(token, job) => {
                    let own = self.nodes[at].own.client();
                    let job = own
                        .and_then(|own| own.jobs.get(&token))
                        .filter(|it| it.number == job);
                    if let Some((number, lasts)) =
                        job.and_then(|job| Some((job.number, job.lasts?)))
                    {
                        let done = Due::Done {
                            node: at,
                            token,
                            job: number,
                        };
                        self.later_in_life(at, now + lasts, done);
                    }
                }
                Todo::Yield(token, job) => {
                    let node = at;
                    self.later_in_life(at, now + 1_000_000, Due::Done { node, token, job });
                }
                Todo::End => self.later_in_life(at, now, Due::End { node: at }),
            }
        }
        self.look_at_configuration(at);
        self.look_for_clashes(at);
    }

    /// The configuration of a session never goes back.
    fn look_at_configuration(&mut self, at: usize) {
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
            checks.found.broken(now, Some(at), Rule::Backwards, what);
        }
    }

    fn look_for_clashes(&mut self, at: usize) {
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
                self.system.checks.no_clash(at, token);
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
                checks.clash(now, nodes, token, requested.min(since));
            }
        }
    }
}
