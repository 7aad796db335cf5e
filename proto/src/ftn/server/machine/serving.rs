//! Which tokens this server may serve, and what a new configuration means for them
//! (`docs/ftn.md`, section 4).

use ring_codec::ftn::ServerState;

use super::Server;
use crate::ftn::server::Event;
use crate::ftn::server::group::Role;
use crate::ftn::server::knowledge::Outgoing;
use crate::time::Instant;

/// How many tokens a call looks at when a new configuration makes it look at all.
const SWEEP: u32 = 8_192;

/// Whether the server may answer a REQUEST or RETURN of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serves {
    Yes,
    /// Another server is responsible.
    Elsewhere,
    /// Nobody is to be told anything.
    NotNow,
}

impl Server {
    /// Whether this server may serve a token: the one place where that is decided.
    pub(super) fn serves(&self, now: Instant, name: &[u8]) -> Serves {
        let (Some(configuration), Some(_)) = (self.view.configuration(), self.leader()) else {
            return Serves::NotNow;
        };
        match self.servers.responsible(name, configuration) {
            Some(server) if server != self.index => Serves::Elsewhere,
            Some(_) if self.is_serving(now) && self.knows(name) => Serves::Yes,
            _ => Serves::NotNow,
        }
    }

    /// Whether it may serve tokens at all.
    pub(super) fn is_serving(&self, now: Instant) -> bool {
        self.leaving.is_none()
            && self.own == ServerState::Ready
            && self.view.state(self.index) == ServerState::Ready
            && self.is_in_force(now)
    }

    /// Whether what it knows of the group holds now: a leader has authority, a follower has had STATE within
    /// ¾ ST.
    pub(super) fn is_in_force(&self, now: Instant) -> bool {
        match &self.role {
            Role::Electing(_) => false,
            Role::Follower(following) => {
                following.has_heard(now, self.lease_with(following.leader()))
            }
            Role::Leader(leadership) => self.has_authority(now, leadership),
        }
    }

    /// Whether it is settled for a token that it is responsible for.
    pub(super) fn knows(&self, name: &[u8]) -> bool {
        let Some(settled) = self.knowledge.settled() else {
            return false;
        };
        // Without a survey nothing was gained.
        self.knowledge.survey().is_none()
            || self.servers.responsible(name, settled) == Some(self.index)
    }

    /// A new configuration is in force.
    pub(super) fn on_configuration(&mut self, now: Instant) {
        self.abort_survey();
        self.knowledge.stop();
        self.grants = 0;
        let Some(configuration) = self.view.configuration().cloned() else {
            return;
        };
        self.out.event(Event::ConfigurationChanged {
            configuration: configuration.number(),
            states: configuration.states().into(),
        });
        let shown = configuration.state(self.index);
        if self.own == ServerState::Down || shown == ServerState::Down {
            self.knowledge.settle(None);
            return;
        }
        if shown == ServerState::Booting {
            self.set_own(ServerState::Booting);
            self.knowledge.settle(None);
        }
        self.knowledge.hand_on(&configuration);
        let booting = (0..self.servers.len())
            .filter(|&server| configuration.state(server) == ServerState::Booting)
            .filter(|&server| server != self.index);
        let number = configuration.number();
        let outgoing = booting.map(|to| Outgoing::new(to, number)).collect();
        self.knowledge.hand_over(outgoing);
        if self.knowledge.gains(&configuration) {
            self.begin_survey(now, &configuration);
        } else {
            self.knowledge.settle(Some(configuration));
        }
        self.sweep(now);
        self.try_end_survey(now);
    }

    /// Looks at the next tokens for the present configuration: what is another's goes there or is deleted, what
    /// was another's waits for the survey.
    pub(super) fn sweep(&mut self, now: Instant) {
        let (Some(next), Some(configuration)) =
            (self.knowledge.sweep(), self.view.configuration().cloned())
        else {
            return;
        };
        let end = self.tokens.end();
        let stop = next.saturating_add(SWEEP).min(end);
        for id in next..stop {
            let Some(token) = self.tokens.get(id) else {
                continue;
            };
            let responsible = self.servers.responsible(token.name(), &configuration);
            match responsible {
                Some(server) if server == self.index => {
                    if !self.knows(token.name()) {
                        self.retain_for_survey(now, id);
                    }
                }
                Some(server) if configuration.state(server) == ServerState::Booting => {
                    self.put_aside(now, id);
                    if let Some(outgoing) = self.knowledge.outgoing_to(server)
                        && let Some(token) = self.tokens.get(id)
                    {
                        outgoing.add(id, token.len(), token.holding().count());
                    }
                }
                _ => self.tokens.remove(id),
            }
        }
        if stop < end {
            self.knowledge.go_on(Some(stop));
            return;
        }
        self.knowledge.go_on(None);
        for at in 0..self.knowledge.outgoing().len() {
            self.send_parts(now, at);
        }
        self.try_end_survey(now);
    }

    /// Goes on looking.
    pub(super) fn on_sweep_due(&mut self, now: Instant) {
        if self.knowledge.sweep().is_some() {
            self.sweep(now);
        }
    }

    /// A token is not served for now: it goes nowhere for want of memory, and nobody waits for it.
    pub(super) fn put_aside(&mut self, now: Instant, id: u32) {
        self.tokens.drop_queue(now, id);
        self.tokens.change(now, id, |token| token.set_aside(true));
    }
}
