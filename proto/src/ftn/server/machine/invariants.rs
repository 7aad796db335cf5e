//! Invariants of a server. Builds with debug assertions check the invariants after each input, so that the simulator,
//! the fuzzer and the model checker fail at the cause.

use ring_codec::ftn::ServerState::{Booting, Down};

use super::Server;
use crate::ftn::Configuration;
use crate::ftn::server::group::{Leadership, configuration_of};
use crate::ftn::server::knowledge::{Survey, TokenKnowledge};
use crate::ftn::server::tokens::Token;
use crate::invariants::{Invariant, check};

impl Server {
    /// # Panics
    /// Panics if an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        check(self, INVARIANTS);
    }

    fn holds_for_configuration(&self, holds: impl FnOnce(&Configuration) -> bool) -> bool {
        self.view.configuration().is_none_or(holds)
    }

    fn holds_for_leadership(&self, holds: impl FnOnce(&Leadership) -> bool) -> bool {
        self.role.as_leader().is_none_or(holds)
    }

    fn is_shown_down(&self) -> bool {
        self.view.state(self.index) == Down
    }

    /// Whether `holds` returns `true` for the server's knowledge. If the server has left, its knowledge is not checked,
    /// because a server that has left no longer updates its knowledge.
    fn holds_for_knowledge(&self, holds: impl FnOnce(&TokenKnowledge) -> bool) -> bool {
        self.has_left || holds(&self.knowledge)
    }

    fn holds_for_survey(&self, holds: impl FnOnce(&Survey) -> bool) -> bool {
        self.holds_for_knowledge(|knowledge| knowledge.survey().is_none_or(holds))
    }

    fn is_withheld(&self, id: u32) -> bool {
        self.tokens.get(id).is_some_and(Token::is_withheld)
    }
}

const INVARIANTS: &[Invariant<Server>] = &[
    ("a server that has not started knows nothing", |it| {
        let knows = it.leader().is_some() || it.sessions.len() + it.tokens.len() > 0;
        it.started.is_some() || !knows
    }),
    (
        "a server that has left is DOWN and has no handover left",
        |it| !it.has_left || it.own_state == Down && it.departure.is_none(),
    ),
    (
        "a server's leader is the one that its configuration names",
        |it| {
            let named = it.view.configuration().map(Configuration::leader);
            it.leader().is_none() || it.leader() == named
        },
    ),
    ("only a leader leads itself", |it| {
        it.role.as_leader().is_some() == (it.leader() == Some(it.index))
    }),
    ("a configuration has a state of each server", |it| {
        it.holds_for_configuration(|known| known.states().len() == it.servers.len())
    }),
    ("a seq belongs to the configuration", |it| {
        configuration_of(it.view.seq()) == Some(it.view.number())
    }),
    ("a configuration is stored before it is used", |it| {
        it.view.number() <= it.storage.largest_seen()
    }),
    ("a server that cannot store sends nothing", |it| {
        it.storage.due().is_none() || it.out.is_stopped()
    }),
    ("a leader is not DOWN in its configuration", |it| {
        it.holds_for_leadership(|_| !it.is_shown_down())
    }),
    // If other seqs counted, an old seq from a state file could give authority.
    ("servers acknowledge only rounds that were sent", |it| {
        it.holds_for_leadership(|leader| {
            it.other_servers()
                .all(|server| leader.acknowledged_seq(server) <= it.view.seq())
        })
    }),
    ("a leader has sent the round that its view has", |it| {
        it.holds_for_leadership(|leader| leader.last_round() == Some(it.view.seq()))
    }),
    // Without an entry the session would never end, and its tokens would stay held.
    ("a leader checks each session for silence", |it| {
        it.holds_for_leadership(|leader| leader.watched_count() == it.sessions.len())
    }),
    ("a leader confirms renewals of sessions only", |it| {
        let is_session = |id| it.sessions.get(id).is_some();
        it.holds_for_leadership(|leader| leader.renewals().all(|(id, _)| is_session(id)))
    }),
    (
        "only a server that knows a configuration is not DOWN",
        |it| it.own_state == Down || it.view.configuration().is_some(),
    ),
    (
        "a server that is DOWN is settled for no configuration",
        |it| {
            // Other servers may serve the tokens of a DOWN server.
            let is_down = it.own_state == Down || it.is_shown_down();
            it.holds_for_knowledge(|knowledge| {
                !is_down || knowledge.settled_configuration().is_none()
            })
        },
    ),
    // Clients answer a survey only under their present configuration.
    ("a survey is for the present configuration", |it| {
        it.holds_for_survey(|survey| survey.configuration() == it.view.number())
    }),
    ("only a BOOTING server awaits tokens of others", |it| {
        let is_booting = it.view.state(it.index) == Booting;
        it.holds_for_survey(|survey| is_booting || !survey.has_senders())
    }),
    ("tokens go to servers that are BOOTING", |it| {
        let is_booting = |to| to != it.index && it.view.state(to) == Booting;
        it.holds_for_knowledge(|knowledge| {
            knowledge
                .handovers()
                .iter()
                .all(|handover| is_booting(handover.receiver()))
        })
    }),
    // Several clients may claim such a token before the survey decides.
    ("tokens of a survey are not served", |it| {
        it.holds_for_survey(|survey| survey.token_ids().all(|id| it.is_withheld(id)))
    }),
    ("tokens of a server that leaves are not served", |it| {
        // The sweep under a new configuration may not have reached all of these tokens yet.
        it.holds_for_knowledge(|knowledge| {
            knowledge.sweep().is_some() || knowledge.ids_from_leaving().all(|id| it.is_withheld(id))
        })
    }),
    ("only a settled server grants", |it| {
        // Before its first survey a server could grant a token that a client already holds.
        it.grants == 0 || it.knowledge.settled_configuration().is_some()
    }),
    ("sums and indexes agree with the tokens", |it| {
        it.tokens.is_consistent()
    }),
    ("only sessions are introduced", |it| {
        it.sessions.is_consistent()
    }),
];

#[cfg(test)]
mod tests {
    use crate::invariants::{BrokenCase, assert_each_breaks};
    use ring_codec::ftn::ServerState::Ready;

    use super::*;
    use crate::ftn::server::group::{FollowerState, Role, Storage, View};
    use crate::ftn::server::knowledge::{Handover, SurveyedToken};
    use crate::ftn::server::tests::rig::{R, Rig, ST, client, options, seq, servers};
    use crate::ftn::server::{Command, Durable};
    use crate::time::Instant;

    /// Returns a server before its network was up for the first time.
    fn not_started() -> Server {
        Server::new(options(), servers(3), 1, Durable::default(), 7).unwrap()
    }

    /// Returns the leader of three servers, with a session.
    fn leader() -> Server {
        let mut rig = Rig::leader_of(3, 2);
        rig.begin(1);
        rig.server
    }

    fn leadership(it: &mut Server) -> &mut Leadership {
        it.role.leader_mut().unwrap()
    }

    fn follower() -> Server {
        Rig::follower(2).server
    }

    fn without_a_leader() -> Server {
        let mut rig = Rig::follower(2);
        rig.pass(ST);
        rig.server
    }

    /// Returns a server with a survey that awaits tokens of the other servers.
    fn booting() -> Server {
        let mut rig = Rig::start(3, 1, options(), Durable::default());
        rig.state(3, 1, &[Ready, Down, Ready], 1);
        rig.state(6, 1, &[Ready, Booting, Ready], 1);
        rig.server
    }

    fn with_a_full_disk() -> Server {
        let mut rig = Rig::follower(2);
        rig.disk_full = true;
        rig.state(12, 1, &[R; 3], 2);
        rig.server
    }

    fn shows(it: &mut Server, number: u64, states: &[ring_codec::ftn::ServerState]) {
        let configuration = Configuration::new(number, states);
        it.view
            .follow(it.view.seq(), configuration, Instant::default());
    }

    fn shows_a_seq_of_another(it: &mut Server) {
        let configuration = Configuration::new(9, [Ready; 3]);
        it.view
            .follow(seq(10, 1), configuration, Instant::default());
    }

    /// For each invariant, in order: a function that creates a server that satisfies it, and a function that breaks it.
    const SPOILT: &[BrokenCase<Server, Server>] = &[
        (not_started, |it| {
            it.sessions.insert(5, client(1), Instant::default());
        }),
        (follower, |it| it.has_left = true),
        (follower, |it| shows(it, 10, &[Ready; 3])),
        (follower, |it| {
            shows(it, 10, &[Ready; 3]);
            it.role = Role::Follower(FollowerState::new(
                1,
                Instant::default(),
                Instant::default(),
            ));
        }),
        (follower, |it| shows(it, 9, &[Ready])),
        (follower, shows_a_seq_of_another),
        (follower, |it| it.storage = Storage::new(Durable::default())),
        (with_a_full_disk, |it| _ = it.out.set_stopped(false)),
        (leader, |it| {
            shows(it, it.view.number(), &[Down, Ready, Ready]);
        }),
        (leader, |it| {
            let seq = it.view.seq() + 1;
            leadership(it).begin_round(seq, Instant::default(), ST);
            leadership(it).acknowledge(1, seq);
        }),
        (leader, |it| {
            _ = it.view.begin_round(Instant::default(), None);
        }),
        (leader, |it| {
            let is_late = Instant::from_nanos(u64::MAX);
            leadership(it).take_expired(is_late);
        }),
        (leader, |it| leadership(it).add_renewal(5, 1)),
        (without_a_leader, |it| {
            it.view = View::new();
        }),
        (follower, |it| it.own_state = Down),
        (booting, |it| {
            it.knowledge
                .begin_survey(Survey::new(7, true, [0].into_iter()));
        }),
        (booting, |it| shows(it, 6, &[Ready; 3])),
        (follower, |it| {
            it.knowledge.start_handovers(vec![Handover::new(2, 9)]);
        }),
        (booting, |it| {
            let survey = it.knowledge.survey_mut().unwrap();
            survey.add_token(7, SurveyedToken::default());
        }),
        (follower, |it| it.knowledge.keep_from_leaving(7, None)),
        (booting, |it| it.grants = 1),
        (follower, |it| it.tokens.spoil()),
        (follower, |it| it.sessions.spoil()),
    ];

    #[test]
    fn each_invariant_breaks() {
        assert_each_breaks(INVARIANTS, SPOILT, |machine| machine);
    }

    #[test]
    #[should_panic(expected = "a seq belongs to the configuration")]
    fn an_input_that_leaves_one_broken_panics() {
        let mut rig = Rig::follower(2);
        shows_a_seq_of_another(&mut rig.server);
        rig.command(Command::Addresses(Box::new([])));
    }
}
