//! The decision which tokens this server may serve, and the effects of a new configuration
//! (`docs/token-service/protocol/surveys.md` K1 to K7, `docs/token-service/protocol/tokens.md` T2).

use ring_codec::ftn::ServerState;

use super::Server;
use crate::ftn::server::Event;
use crate::ftn::server::group::Role;
use crate::ftn::server::knowledge::Handover;
use crate::time::Instant;

/// Maximum number of tokens that one call of the sweep examines.
// The sweep takes several calls, because STATE and HEARTBEAT must still be answered in time.
const SWEPT_TOKENS_MAX: u32 = 8_192;

/// Decision on a REQUEST or RETURN of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServeDecision {
    Serve,
    /// A different server is responsible, and the client gets CONFIG.
    Redirect,
    /// The server does not answer.
    Ignore,
}

impl Server {
    /// Decides whether this server serves a token. Only this function makes this decision.
    pub(super) fn serve_decision(&self, now: Instant, name: &[u8]) -> ServeDecision {
        let (Some(configuration), Some(_)) = (self.view.configuration(), self.leader()) else {
            return ServeDecision::Ignore;
        };
        match self.servers.responsible(name, configuration) {
            Some(server) if server != self.index => ServeDecision::Redirect,
            Some(_) if self.is_serving(now) && self.is_known(name) => ServeDecision::Serve,
            _ => ServeDecision::Ignore,
        }
    }

    /// Whether the server may serve its known tokens.
    pub(super) fn is_serving(&self, now: Instant) -> bool {
        self.departure.is_none()
            && self.own_state == ServerState::Ready
            // The leader may show READY because of an earlier survey, so both states must be READY.
            && self.view.state(self.index) == ServerState::Ready
            && self.is_in_force(now)
    }

    /// Whether the server is in force. A leader is in force while it has authority. A follower is in force for ¾ ST
    /// after a STATE.
    pub(super) fn is_in_force(&self, now: Instant) -> bool {
        match &self.role {
            Role::Electing(_) => false,
            Role::Follower(following) => {
                following.has_heard(now, self.lease_with(following.leader()))
            }
            Role::Leader(leadership) => self.has_authority(now, leadership),
        }
    }

    /// Whether the server is responsible for this token and knows it.
    pub(super) fn is_known(&self, name: &[u8]) -> bool {
        let Some(settled) = self.knowledge.settled_configuration() else {
            return false;
        };
        // Without a survey no token is unknown, because a configuration that adds tokens begins a survey.
        self.knowledge.survey().is_none()
            || self.servers.responsible(name, settled) == Some(self.index)
    }

    /// Applies a new configuration.
    pub(super) fn on_configuration(&mut self, now: Instant) {
        // Each survey and each handover is for only one configuration.
        self.abort_survey();
        self.knowledge.stop_handovers();
        // Fencing numbers begin with the configuration number, so the count of grants restarts.
        self.grants = 0;
        let Some(configuration) = self.view.configuration().cloned() else {
            return;
        };
        self.out.report(Event::ConfigurationChanged {
            configuration: configuration.number(),
            states: configuration.states().into(),
        });
        let shown = configuration.state(self.index);
        if self.own_state == ServerState::Down || shown == ServerState::Down {
            self.knowledge.settle(None);
            return;
        }
        if shown == ServerState::Booting {
            self.set_own_state(ServerState::Booting);
            self.knowledge.settle(None);
        }
        self.knowledge.record_handovers(&configuration);
        let booting = (0..self.servers.len())
            .filter(|&server| configuration.state(server) == ServerState::Booting)
            .filter(|&server| server != self.index);
        let number = configuration.number();
        let handover = booting.map(|to| Handover::new(to, number)).collect();
        self.knowledge.start_handovers(handover);
        if self.knowledge.has_new_tokens(&configuration) {
            self.begin_survey(now, &configuration);
        } else {
            self.knowledge.settle(Some(configuration));
        }
        self.sweep(now);
        self.try_end_survey(now);
    }

    /// Examines the next tokens under the present configuration. Hands over or deletes the tokens for which other
    /// servers are responsible. If this server is newly responsible for a token, the token waits for the result of the
    /// survey.
    pub(super) fn sweep(&mut self, now: Instant) {
        let (Some(next), Some(configuration)) =
            (self.knowledge.sweep(), self.view.configuration().cloned())
        else {
            return;
        };
        let end = self.tokens.id_limit();
        let stop = next.saturating_add(SWEPT_TOKENS_MAX).min(end);
        for id in next..stop {
            let Some(token) = self.tokens.get(id) else {
                continue;
            };
            let responsible = self.servers.responsible(token.name(), &configuration);
            match responsible {
                Some(server) if server == self.index => {
                    if !self.is_known(token.name()) {
                        self.retain_for_survey(now, id);
                    }
                }
                Some(server) if configuration.state(server) == ServerState::Booting => {
                    self.withhold(now, id);
                    if let Some(handover) = self.knowledge.handover_to(server)
                        && let Some(token) = self.tokens.get(id)
                    {
                        handover.add(id, token.len(), token.holders().count());
                    }
                }
                // A READY server has the token, and may have changed its data.
                _ => self.tokens.remove(id),
            }
        }
        if stop < end {
            self.knowledge.set_sweep(Some(stop));
            return;
        }
        self.knowledge.set_sweep(None);
        // Each part contains the number of parts, which is known only now.
        for at in 0..self.knowledge.handovers().len() {
            self.send_parts(now, at);
        }
        self.try_end_survey(now);
    }

    /// Continues the sweep.
    pub(super) fn on_sweep_due(&mut self, now: Instant) {
        if self.knowledge.sweep().is_some() {
            self.sweep(now);
        }
    }

    /// Stops serving a token. A withheld token is not dropped for lack of memory, and its queue is empty.
    pub(super) fn withhold(&mut self, now: Instant, id: u32) {
        self.tokens.drop_queue(now, id);
        self.tokens
            .change(now, id, |token| token.set_withheld(true));
    }
}
