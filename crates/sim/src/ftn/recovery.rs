//! What must be so in the end, when the faults have ended.

use std::time::Duration;

use ring_codec::ftn::{Access, ServerState};
use ring_proto::ftn::RETRY_MAX;
use ring_proto::ftn::client::Standing;
use ring_proto::ftn::server::{Options, RoleKind, Server};

use super::node::Doom;
use super::outcome::Rule;
use super::plan::Schedule;
use super::service::{PATH, World};

/// How long a client holds what it asks for here.
const HOLD: Duration = Duration::from_millis(20);
/// How long a server takes to leave, by a slow clock.
const LEAVING: Duration = Duration::from_secs(6);
/// The tokens that are asked for here.
const ASKED: usize = 6;

impl World {
    /// Ends the faults, and looks whether all is well in time.
    pub fn recover(&mut self, schedule: &Schedule) {
        self.end_faults();
        // Who was told to leave may take its time, and is started again.
        self.run_until(LEAVING, |world| !world.is_anyone_leaving());
        let options = schedule.slowest();
        let exchange = Duration::from_micros(4 * (schedule.latency_us.0 + schedule.latency_us.1));
        if !self.settles(&options, exchange, schedule.latest())
            || !self.all_live(&options, exchange)
        {
            return;
        }
        self.stop_programs(options.client_timeout + schedule.latest());
        let scarce = schedule.is_scarce();
        if !scarce && !self.serves_all(exchange) {
            return;
        }
        self.run(options.server_timeout);
        if schedule.servers > options.quorum {
            self.replaces_the_leader(schedule, exchange);
        }
    }

    fn end_faults(&mut self) {
        self.system.is_calm = true;
        self.calm_network(Some(PATH));
        for at in 0..self.len() {
            self.nodes[at].own.doom = Doom::None;
            self.calm_process(at);
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

    /// The servers that lead.
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

    /// The one server that leads.
    pub(super) fn leader(&self) -> Option<usize> {
        let mut leaders = self.leaders();
        let leader = leaders.next()?;
        leaders.next().is_none().then_some(leader)
    }

    /// Whether one server leads, and all that are up serve by its configuration.
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

    /// What servers and clients are doing, for who reads of a violation.
    fn how_they_stand(&self) -> String {
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
                |it| format!("n{at} {:?}", it.standing()),
            )
        });
        servers.chain(clients).collect::<Vec<_>>().join("; ")
    }

    fn broken(&mut self, rule: Rule, what: &str) {
        let (now, stand) = (self.now, self.how_they_stand());
        let what = format!("{what}: {stand}");
        self.system.checks.found.broken(now, None, rule, what);
    }

    /// One leader that stays, and all servers READY. A STATE of before the loss of a state file may be late, and then
    /// its number above that of the leader, who follows it: after the last of them all is to be well once more.
    fn settles(&mut self, options: &Options, exchange: Duration, latest: Duration) -> bool {
        if !self.all_ready(options, exchange, latest) {
            return false;
        }
        if self.leader_stays(options) {
            return true;
        }
        if self.system.checks.leader_left() {
            self.run(latest);
            if !self.all_ready(options, exchange, latest) {
                return false;
            }
            if self.leader_stays(options) {
                return true;
            }
        }
        self.broken(Rule::OneLeader, "the leader does not stay");
        false
    }

    /// One leader, and all servers READY.
    fn all_ready(&mut self, options: &Options, exchange: Duration, latest: Duration) -> bool {
        let Options {
            heartbeat,
            server_timeout,
            client_timeout,
            grace,
            ..
        } = *options;
        // Whoever is electing has waited for ST of silence; a vote for a server that gives up is kept for 2 HB.
        let one = 2 * server_timeout + 8 * heartbeat + RETRY_MAX;
        let leads = |world: &Self| world.leader().is_some();
        if self.run_until(one, leads).is_none() {
            self.broken(Rule::OneLeader, "no leader after the faults");
            return false;
        }
        // Late datagrams of a dead client keep its session, and a survey waits for that.
        let ready = latest
            + grace
            + client_timeout
            + 3 * server_timeout
            + 10 * (heartbeat + exchange)
            + 4 * RETRY_MAX;
        let Some(took) = self.run_until(ready, Self::is_ready) else {
            self.broken(Rule::Served, "not all servers are READY");
            return false;
        };
        self.system.stats.counters.ready_after = Some(took);
        // What was lost just before the faults ended may cost authority, or a leader, once more.
        self.run(2 * server_timeout);
        if self.run_until(ready, Self::is_ready).is_none() {
            self.broken(Rule::Served, "not all servers are READY again");
            return false;
        }
        true
    }

    /// One leads for a while.
    fn leader_stays(&mut self, options: &Options) -> bool {
        let mut stays = true;
        self.run_watching(2 * options.server_timeout, |world| {
            stays = world.leader().is_some();
            stays
        });
        stays
    }

    /// Every client has a session.
    fn all_live(&mut self, options: &Options, exchange: Duration) -> bool {
        let limit = options.client_timeout * 2 + 4 * RETRY_MAX + 10 * exchange;
        let live = |world: &Self| {
            (world.system.servers..world.len()).all(|at| {
                let client = world.machine(at).and_then(|it| it.client());
                client.is_some_and(|it| matches!(it.standing(), Standing::Live { .. }))
            })
        };
        let took = self.run_until(limit, live);
        if took.is_none() {
            self.broken(Rule::Served, "not all clients have a session");
        }
        took.is_some()
    }

    /// Whatever the programs did, they give up, and the sessions of dead clients end, whose last datagrams may be late.
    fn stop_programs(&mut self, timeout: Duration) {
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

    /// Asks for a token with every client at once, and waits until each has had it.
    fn serves(&mut self, token: usize, first: Duration, exchange: Duration) -> bool {
        let clients: Vec<usize> = (self.system.servers..self.len()).collect();
        let before = self.system.stats.counters.grants;
        for &at in &clients {
            self.ask(
                at,
                token,
                Access::Exclusive,
                Some(u64::try_from(HOLD.as_nanos()).unwrap_or(0)),
            );
        }
        for (served, _) in clients.iter().enumerate() {
            let wanted = before + served as u64 + 1;
            let limit = if served == 0 { first } else { HOLD + exchange };
            let granted = |world: &Self| world.system.stats.counters.grants >= wanted;
            if self.run_until(limit, granted).is_none() {
                let what = format!(
                    "t{token}: {served} of {} within {limit:?} each",
                    clients.len()
                );
                let (now, stand) = (self.now, self.how_they_stand());
                let checks = &mut self.system.checks;
                checks.not_granted(now, format!("{what}: {stand}"));
                return false;
            }
        }
        self.run(HOLD + exchange);
        true
    }

    fn serves_all(&mut self, exchange: Duration) -> bool {
        (0..ASKED).all(|token| self.serves(token, exchange, exchange))
    }

    /// The leader dies: another leads in time, and the tokens of the dead one are served.
    fn replaces_the_leader(&mut self, schedule: &Schedule, exchange: Duration) {
        let options = &schedule.slowest();
        let Some(leader) = self.leader() else {
            return;
        };
        let heartbeats = if options.quorum > 1 { 4 } else { 2 };
        let limit = options.server_timeout + heartbeats * options.heartbeat + exchange;
        self.die(leader);
        let crashed = self.now;
        // What other votes may cost beside.
        let Some(took) = self.run_until(limit, |world| world.leader().is_some()) else {
            let what = format!("nobody leads {limit:?} after the crash of n{leader}");
            self.broken(Rule::OneLeader, &what);
            return;
        };
        self.system.stats.counters.replaced_after = Some(took);
        if schedule.is_scarce() {
            return;
        }
        let client_timeout = schedule.client_timeout();
        let last_renewal = client_timeout / 5;
        if client_timeout * 3 / 4 < last_renewal + limit + RETRY_MAX {
            // Sessions do not outlive a change of leader: those that are lost are to end first.
            self.run(options.client_timeout + exchange);
            if !self.all_live(options, exchange) {
                return;
            }
        }
        let first = limit.saturating_sub(took) + 4 * exchange + RETRY_MAX;
        for token in 0..ASKED {
            if !self.serves(token, first, exchange + RETRY_MAX) {
                return;
            }
        }
        self.system.stats.counters.served_after = Some(Duration::from_nanos(self.now - crashed));
    }
}
