//! Invariants of a client. Builds with debug assertions check the invariants after each input. So the simulator, the
//! fuzzer and the model checker fail at the input that breaks an invariant.

use ring_codec::ftn::Access;

use super::Client;
use super::holding::TokenState;
use super::session::Session;
use crate::invariants::{Invariant, check};

impl Client {
    /// # Panics
    /// Panics if an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        check(self, INVARIANTS);
    }

    fn holds_for_session(&self, holds: impl FnOnce(&Session) -> bool) -> bool {
        self.phase.session().is_none_or(holds)
    }

    fn holds_for_each_token(&self, holds: impl Fn(&TokenState) -> bool) -> bool {
        self.holds_for_session(|session| session.tokens.by_name.values().all(holds))
    }
}

const INVARIANTS: &[Invariant<Client>] = &[
    ("servers only shorten the client timeout", |it| {
        it.options.client_timeout <= it.configured_timeout
    }),
    // With an old id, late messages of the earlier session would count.
    ("a session has an id that none of the last 64 had", |it| {
        it.holds_for_session(|session| !it.former_sessions.contains(&session.id))
    }),
    ("a configuration has a state of each server", |it| {
        let servers = it.options.servers.len();
        it.holds_for_session(|session| session.configuration.states().len() == servers)
    }),
    ("a lease lasts no longer than servers announce", |it| {
        // A lease begins when a renewal is sent, which cannot be later than now.
        let latest = it.now + it.options.lease();
        it.holds_for_session(|session| session.renewal.lease().is_none_or(|end| end <= latest))
    }),
    // Without a lease the servers may already have given the tokens to others.
    ("only a live session holds tokens", |it| {
        let is_live = it.phase.session().is_some_and(Session::is_live);
        is_live || it.holds_for_each_token(|token| !matches!(token, TokenState::Held(_)))
    }),
    ("messages that await an answer are repeated", |it| {
        it.holds_for_session(|session| session.tokens.outstanding.is_consistent())
    }),
    ("messages about a token await an answer", |it| {
        it.holds_for_session(|session| {
            let tokens = &session.tokens;
            let mut numbers = tokens
                .by_name
                .values()
                .flat_map(TokenState::numbers)
                .flatten();
            numbers.all(|number| tokens.outstanding.get(number).is_some())
        })
    }),
    ("questions for a page await an answer", |it| {
        it.holds_for_session(|session| {
            let tokens = &session.tokens;
            let mut numbers = tokens.listings.values();
            numbers.all(|number| tokens.outstanding.get(*number).is_some())
        })
    }),
    ("only messages that await an answer are repeated", |it| {
        it.holds_for_session(|session| {
            let tokens = &session.tokens;
            let numbers = tokens.by_name.values().flat_map(TokenState::numbers);
            let awaited = numbers.flatten().count() + tokens.listings.len();
            tokens.outstanding.iter().count() == awaited
        })
    }),
    (
        "an update has a larger number than an outstanding upgrade",
        |it| {
            it.holds_for_each_token(|token| match token.numbers() {
                // If the number of an update is below the number of the grant, the server confirms the update without
                // effect.
                [Some(request), Some(update)] => request < update,
                _ => true,
            })
        },
    ),
    (
        "a client that requests an upgrade holds the token shared",
        |it| {
            it.holds_for_each_token(|token| match token {
                TokenState::Held(held) if held.is_awaiting_upgrade() => {
                    held.hold.access == Access::Shared
                }
                _ => true,
            })
        },
    ),
];

#[cfg(test)]
mod tests {
    use crate::invariants::{BrokenCase, assert_each_breaks};
    use std::time::Duration;

    use ring_codec::ftn::ServerState::Ready;

    use super::*;
    use crate::ftn::Configuration;
    use crate::ftn::client::SocketState;
    use crate::ftn::client::holding::HeldToken;
    use crate::ftn::client::outstanding_messages::{MessageKind, OutstandingMessages};
    use crate::ftn::client::phase::Phase;
    use crate::ftn::client::renewal::Renewal;
    use crate::ftn::client::tests::rig::{ME, Rig};
    use crate::time::Instant;

    fn session(it: &mut Client) -> &mut Session {
        match &mut it.phase {
            Phase::Session(session) => session,
            other => panic!("{other:?}"),
        }
    }

    fn live() -> Client {
        Rig::live().client
    }

    fn waiting() -> Client {
        let mut rig = Rig::live();
        rig.request("t", Access::Shared);
        rig.client
    }

    fn holding() -> Client {
        Rig::holding("t", Access::Shared, "").client
    }

    /// Returns a client that updated a shared token and waits for an upgrade of this token.
    fn upgrading() -> Client {
        let mut rig = Rig::holding("t", Access::Shared, "");
        rig.request("t", Access::Exclusive);
        rig.update("t", "new");
        rig.client
    }

    fn spoil_held(it: &mut Client, spoil: impl Fn(&mut HeldToken)) {
        for token in session(it).tokens.by_name.values_mut() {
            if let TokenState::Held(held) = token {
                spoil(held);
            }
        }
    }

    /// For each invariant, in order: a function that creates a client that satisfies it, and a function that breaks it.
    const SPOILT: &[BrokenCase<Client, Client>] = &[
        (live, |it| it.configured_timeout = Duration::ZERO),
        (live, |it| it.former_sessions.push_back(ME)),
        (live, |it| {
            session(it).configuration = Configuration::new(7, [Ready]);
        }),
        (live, |it| it.now = Instant::default()),
        (holding, |it| {
            session(it).renewal = Renewal::new(Instant::default());
        }),
        (waiting, |it| session(it).tokens.outstanding.spoil()),
        (waiting, |it| {
            session(it).tokens.outstanding = OutstandingMessages::default();
        }),
        (live, |it| _ = session(it).tokens.listings.insert(1, 5)),
        (live, |it| {
            let tokens = &mut session(it).tokens;
            tokens
                .outstanding
                .begin(5, b"t"[..].into(), MessageKind::Request);
        }),
        (upgrading, |it| {
            spoil_held(it, |held| {
                let (request, update) = (held.request.as_mut(), held.update.as_mut());
                let update = update.and_then(|update| update.number.as_mut());
                std::mem::swap(&mut request.unwrap().number, update.unwrap());
            });
        }),
        (upgrading, |it| {
            spoil_held(it, |held| held.hold.access = Access::Exclusive);
        }),
    ];

    #[test]
    fn each_invariant_breaks() {
        assert_each_breaks(INVARIANTS, SPOILT, |machine| machine);
    }

    #[test]
    #[should_panic(expected = "a session has an id that none of the last 64 had")]
    fn an_input_that_leaves_one_broken_panics() {
        let mut rig = Rig::live();
        rig.client.former_sessions.push_back(ME);
        rig.link(SocketState::Down);
    }
}
