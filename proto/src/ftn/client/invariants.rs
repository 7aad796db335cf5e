//! What must hold of a client after each input. Builds with debug assertions check it then, so that simulator, fuzzer and
//! model checker fail at the cause.

use ring_codec::ftn::Access;

use super::Client;
use super::holding::Token;
use super::session::Session;
use crate::invariants::{Invariant, check};

impl Client {
    /// # Panics
    /// If an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        check(self, INVARIANTS);
    }

    fn session_is(&self, holds: impl FnOnce(&Session) -> bool) -> bool {
        self.phase.session().is_none_or(holds)
    }

    fn each_token_is(&self, holds: impl Fn(&Token) -> bool) -> bool {
        self.session_is(|session| session.tokens.known.values().all(holds))
    }
}

const INVARIANTS: &[Invariant<Client>] = &[
    ("servers only shorten the client timeout", |it| {
        it.options.client_timeout <= it.own_timeout
    }),
    ("a session has an id that none of the last 64 had", |it| {
        it.session_is(|session| !it.former.contains(&session.id))
    }),
    ("a configuration has a state of each server", |it| {
        let servers = it.options.servers.len();
        it.session_is(|session| session.configuration.states().len() == servers)
    }),
    ("a lease lasts no longer than servers announce", |it| {
        let latest = it.now + it.options.lease();
        it.session_is(|session| session.renewal.lease().is_none_or(|end| end <= latest))
    }),
    ("only a live session holds tokens", |it| {
        let is_live = it.phase.session().is_some_and(Session::is_live);
        is_live || it.each_token_is(|token| !matches!(token, Token::Held(_)))
    }),
    ("messages that await an answer are repeated", |it| {
        it.session_is(|session| session.tokens.outstanding.is_sound())
    }),
    ("messages about a token await an answer", |it| {
        it.session_is(|session| {
            let tokens = &session.tokens;
            let mut numbers = tokens.known.values().flat_map(Token::numbers).flatten();
            numbers.all(|number| tokens.outstanding.get(number).is_some())
        })
    }),
    ("questions for a page await an answer", |it| {
        it.session_is(|session| {
            let tokens = &session.tokens;
            let mut numbers = tokens.listings.values();
            numbers.all(|number| tokens.outstanding.get(*number).is_some())
        })
    }),
    ("only what awaits an answer is repeated", |it| {
        it.session_is(|session| {
            let tokens = &session.tokens;
            let numbers = tokens.known.values().flat_map(Token::numbers);
            let awaited = numbers.flatten().count() + tokens.listings.len();
            tokens.outstanding.iter().count() == awaited
        })
    }),
    (
        "an update has a larger number than the upgrade beside it",
        |it| {
            it.each_token_is(|token| match token.numbers() {
                [Some(request), Some(update)] => request < update,
                _ => true,
            })
        },
    ),
    ("a token is not asked for as it is held", |it| {
        it.each_token_is(|token| match token {
            Token::Held(held) if held.awaits_upgrade() => held.hold.access == Access::Shared,
            _ => true,
        })
    }),
];

#[cfg(test)]
mod tests {
    use crate::invariants::{Spoilt, assert_each_breaks};
    use std::time::Duration;

    use ring_codec::ftn::ServerState::Ready;

    use super::*;
    use crate::ftn::Configuration;
    use crate::ftn::client::Net;
    use crate::ftn::client::holding::Held;
    use crate::ftn::client::outstanding::{Outstanding, Which};
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

    /// One that waits for an upgrade of a token that it has updated.
    fn upgrading() -> Client {
        let mut rig = Rig::holding("t", Access::Shared, "");
        rig.request("t", Access::Exclusive);
        rig.update("t", "new");
        rig.client
    }

    fn spoil_held(it: &mut Client, spoil: impl Fn(&mut Held)) {
        for token in session(it).tokens.known.values_mut() {
            if let Token::Held(held) = token {
                spoil(held);
            }
        }
    }

    /// In the order of the invariants, a client and how it is spoilt.
    const SPOILT: &[Spoilt<Client, Client>] = &[
        (live, |it| it.own_timeout = Duration::ZERO),
        (live, |it| it.former.push_back(ME)),
        (live, |it| {
            session(it).configuration = Configuration::new(7, [Ready]);
        }),
        (live, |it| it.now = Instant::default()),
        (holding, |it| {
            session(it).renewal = Renewal::new(Instant::default());
        }),
        (waiting, |it| session(it).tokens.outstanding.spoil()),
        (waiting, |it| {
            session(it).tokens.outstanding = Outstanding::default();
        }),
        (live, |it| _ = session(it).tokens.listings.insert(1, 5)),
        (live, |it| {
            let tokens = &mut session(it).tokens;
            tokens.outstanding.begin(5, b"t"[..].into(), Which::Request);
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
        rig.client.former.push_back(ME);
        rig.link(Net::Down);
    }
}
