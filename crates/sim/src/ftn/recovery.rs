//! Checks that the service recovers after the faults.

use std::time::Duration;

use ring_codec::ftn::{Access, ServerState};
use ring_proto::ftn::client::ClientState;
use ring_proto::ftn::server::{Options, RoleKind, Server};
use ring_proto::ftn::{RETRY, RETRY_MAX};

use super::node::CrashAfterSend;
use super::notation::token_name;
use super::outcome::Rule;
use super::schedule::Schedule;
use super::system::{PATH_DATAGRAM_MAX, World};
use crate::kernel::schedule::Schedule as _;

/// The time for which a client holds a token in this check.
const HOLD_TIME: Duration = Duration::from_millis(20);
/// The maximum time that a server with a slow clock needs to leave.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(6);
/// With keys, a process drops the first message of a sender that has not yet answered a challenge. A client and a
/// server may both lose a message. The unit is RETRY: the first repetition comes after RETRY, and the second one after
/// another 2 RETRY.
const PROOF_RETRIES: u32 = 6;
/// The number of tokens that clients request in this check.
const ASKED_TOKENS: usize = 6;

impl World {
    /// Ends the faults and checks the recovery.
    pub(super) fn recover(&mut self, schedule: &Schedule) {
        self.end_faults();
        // A leaving server may need some time, and is then started again.
        self.run_until(LEAVE_TIMEOUT, |sim| !sim.is_anyone_leaving());
        let options = schedule.slowest();
        let exchange = Duration::from_micros(4 * (schedule.latency_us.0 + schedule.latency_us.1));
        let exchange = if schedule.has_keys() {
            exchange + PROOF_RETRIES * RETRY
        } else {
            exchange
        };
        if !self.check_one_leader(&options, exchange, schedule.latest())
            || !self.await_sessions(&options, exchange)
        {
            return;
        }
        self.cancel_programs(options.client_timeout + schedule.latest());
        let scarce = schedule.is_scarce();
        if !scarce && !self.serve_all_tokens(exchange) {
            return;
        }
        self.run(options.server_timeout);
        if schedule.servers > options.quorum {
            self.check_leader_replacement(schedule, exchange);
        }
    }

    fn end_faults(&mut self) {
        self.system.faults_have_ended = true;
        self.end_network_faults(Some(PATH_DATAGRAM_MAX));
        for at in 0..self.len() {
            self.nodes[at].own.crash_after_send = CrashAfterSend::None;
            self.end_process_faults(at);
            self.resume(at);
            self.start(at);
        }
    }

    fn is_anyone_leaving(&self) -> bool {
        self.live().any(|at| self.nodes[at].own.leaves())
    }

    fn server(&self, at: usize) -> Option<&Server> {
        self.machine(at)?.server()
    }

    /// Returns the servers that lead with authority.
    fn leaders(&self) -> impl Iterator<Item = usize> + '_ {
        let leads = |&at: &usize| {
            let role = self.server(at).map(|it| {
                let local = self.nodes[at].clock.monotonic(self.now);
                (it.snapshot(local).role, it.snapshot(local).authority)
            });
            matches!(role, Some((RoleKind::Leader, true)))
        };
        (0..self.system.servers).filter(leads)
    }

    /// Returns the leader, if exactly one server leads.
    pub(super) fn leader(&self) -> Option<usize> {
        let mut leaders = self.leaders();
        let leader = leaders.next()?;
        leaders.next().is_none().then_some(leader)
    }

    /// Whether exactly one server leads, and all live servers use its configuration.
    fn is_ready(&self) -> bool {
        let Some(leader) = self.leader() else {
            return false;
        };
        let snapshot = |at: usize| {
            let local = self.nodes[at].clock.monotonic(self.now);
            self.server(at).map(|it| it.snapshot(local))
        };
        let Some(of_leader) = snapshot(leader) else {
            return false;
        };
        (0..self.system.servers).all(|at| match snapshot(at) {
            None => of_leader.states[at] == ServerState::Down,
            Some(own) => {
                own.state == ServerState::Ready
                    && own.states == of_leader.states
                    && own.survey.is_none()
                    && own.leader == Some(leader)
            }
        })
    }

    /// Describes the state of servers and clients for a violation.
    fn describe_nodes(&self) -> String {
        let servers = (0..self.system.servers).map(|at| {
            let local = self.nodes[at].clock.monotonic(self.now);
            self.server(at).map_or_else(
                || format!("n{at} dead"),
                |it| {
                    let it = it.snapshot(local);
                    format!(
                        "n{at} {} {:?} c {} {:?} survey {:?} authority {} grace {:?} sessions {:?}",
                        it.role.name(),
                        it.state,
                        it.configuration,
                        it.states,
                        it.survey,
                        it.authority,
                        it.grace,
                        it.sessions.iter().map(|(id, _)| *id).collect::<Vec<_>>()
                    )
                },
            )
        });
        let clients = (self.system.servers..self.len()).map(|at| {
            let client = self.machine(at).and_then(|it| it.client());
            client.map_or_else(
                || format!("n{at} dead"),
                |it| format!("n{at} {:?}", it.state()),
            )
        });
        servers.chain(clients).collect::<Vec<_>>().join("; ")
    }

    fn report(&mut self, rule: Rule, what: &str) {
        let (now, stand) = (self.now, self.describe_nodes());
        let what = format!("{what}: {stand}");
        self.system.checks.findings.report(now, None, rule, what);
    }

    /// Checks that one leader stays and all servers become READY. A late STATE that was sent before a state file was
    /// lost may have a larger number than the leader. If the leader receives such a STATE, the leader gives way. After
    /// the last such STATE, the service must recover one more time.
    fn check_one_leader(
        &mut self,
        options: &Options,
        exchange: Duration,
        latest: Duration,
    ) -> bool {
        if !self.await_ready(options, exchange, latest) {
            return false;
        }
        if self.does_leader_stay(options) {
            return true;
        }
        if self.system.checks.excuse_leader_loss() {
            self.run(latest);
            if !self.await_ready(options, exchange, latest) {
                return false;
            }
            if self.does_leader_stay(options) {
                return true;
            }
        }
        self.report(Rule::OneLeader, "the leader does not stay");
        false
    }

    /// Waits for one leader and READY servers.
    fn await_ready(&mut self, options: &Options, exchange: Duration, latest: Duration) -> bool {
        let Options {
            heartbeat,
            server_timeout,
            client_timeout,
            grace,
            ..
        } = *options;
        // Before a server starts an election, it waits for ST. A vote for a server that gives up is kept for 2 HB.
        let one = 2 * server_timeout + 8 * heartbeat + RETRY_MAX;
        let leads = |sim: &Self| sim.leader().is_some();
        if self.run_until(one, leads).is_none() {
            self.report(Rule::OneLeader, "no leader after the faults");
            return false;
        }
        // Late datagrams of a dead client keep its session alive, and a survey waits for this client.
        let ready = latest
            + grace
            + client_timeout
            + 3 * server_timeout
            + 10 * (heartbeat + exchange)
            + 4 * RETRY_MAX;
        let Some(elapsed) = self.run_until(ready, Self::is_ready) else {
            self.report(Rule::Served, "not all servers are READY");
            return false;
        };
        self.system.stats.counters.ready_after = Some(elapsed);
        // If messages were lost just before the end of the faults, a leader may lose its authority or give way one more
        // time.
        self.run(2 * server_timeout);
        if self.run_until(ready, Self::is_ready).is_none() {
            self.report(Rule::Served, "not all servers are READY again");
            return false;
        }
        true
    }

    fn does_leader_stay(&mut self, options: &Options) -> bool {
        let mut stays = true;
        self.run_watching(2 * options.server_timeout, |sim| {
            stays = sim.leader().is_some();
            stays
        });
        stays
    }

    /// Waits until every client has a session.
    fn await_sessions(&mut self, options: &Options, exchange: Duration) -> bool {
        let limit = options.client_timeout * 2 + 4 * RETRY_MAX + 10 * exchange;
        let live = |sim: &Self| {
            (sim.system.servers..sim.len()).all(|at| {
                let client = sim.machine(at).and_then(|it| it.client());
                client.is_some_and(|it| matches!(it.state(), ClientState::Live { .. }))
            })
        };
        let elapsed = self.run_until(limit, live);
        if elapsed.is_none() {
            self.report(Rule::Served, "not all clients have a session");
        }
        elapsed.is_some()
    }

    /// Cancels the work of all programs, and waits for the end of dead clients' sessions. The last datagrams of dead
    /// clients may be late.
    fn cancel_programs(&mut self, timeout: Duration) {
        for at in self.system.servers..self.len() {
            let own = self.nodes[at].own.client();
            let tokens: Vec<usize> = own
                .into_iter()
                .flat_map(|own| own.jobs.keys().copied())
                .collect();
            for token in tokens {
                self.cancel(at, token);
            }
        }
        self.run(timeout + 2 * RETRY_MAX);
    }

    /// Lets all clients request the token at the same time, if their keys permit this token. Waits until each client
    /// has had the token.
    fn serve_token(&mut self, token: usize, first: Duration, exchange: Duration) -> bool {
        let permits = |at: &usize| self.nodes[*at].own.keys.permits(&token_name(token));
        let clients: Vec<usize> = (self.system.servers..self.len()).filter(permits).collect();
        let before = self.system.stats.counters.grants;
        for &at in &clients {
            self.request(
                at,
                token,
                Access::Exclusive,
                Some(u64::try_from(HOLD_TIME.as_nanos()).unwrap_or(0)),
            );
        }
        for (served, _) in clients.iter().enumerate() {
            let wanted = before + served as u64 + 1;
            let limit = if served == 0 {
                first
            } else {
                HOLD_TIME + exchange
            };
            let granted = |sim: &Self| sim.system.stats.counters.grants >= wanted;
            if self.run_until(limit, granted).is_none() {
                let what = format!(
                    "t{token}: {served} of {} within {limit:?} each",
                    clients.len()
                );
                let (now, stand) = (self.now, self.describe_nodes());
                let checks = &mut self.system.checks;
                checks.report_not_granted(now, format!("{what}: {stand}"));
                return false;
            }
        }
        self.run(HOLD_TIME + exchange);
        true
    }

    fn serve_all_tokens(&mut self, exchange: Duration) -> bool {
        (0..ASKED_TOKENS).all(|token| self.serve_token(token, exchange, exchange))
    }

    /// Kills the leader. Checks that another server leads in time, and serves the dead leader's tokens.
    fn check_leader_replacement(&mut self, schedule: &Schedule, exchange: Duration) {
        let options = &schedule.slowest();
        let Some(leader) = self.leader() else {
            return;
        };
        let heartbeats = if options.quorum > 1 { 4 } else { 2 };
        let limit = options.server_timeout + heartbeats * options.heartbeat + exchange;
        self.kill_process(leader);
        let crashed = self.now;
        // An election with a split vote may take longer.
        let Some(elapsed) = self.run_until(limit, |sim| sim.leader().is_some()) else {
            let what = format!("no server leads {limit:?} after the crash of n{leader}");
            self.report(Rule::OneLeader, &what);
            return;
        };
        self.system.stats.counters.replaced_after = Some(elapsed);
        if schedule.is_scarce() {
            return;
        }
        let client_timeout = schedule.client_timeout();
        let last_renewal = client_timeout / 5;
        if client_timeout * 3 / 4 < last_renewal + limit + RETRY_MAX {
            // Sessions do not survive a change of the leader, so the check waits for the end of lost sessions.
            self.run(options.client_timeout + exchange);
            if !self.await_sessions(options, exchange) {
                return;
            }
        }
        let first = limit.saturating_sub(elapsed) + 4 * exchange + RETRY_MAX;
        for token in 0..ASKED_TOKENS {
            if !self.serve_token(token, first, exchange + RETRY_MAX) {
                return;
            }
        }
        self.system.stats.counters.served_after = Some(Duration::from_nanos(self.now - crashed));
    }
}
