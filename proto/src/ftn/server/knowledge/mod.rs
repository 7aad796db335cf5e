//! Which tokens the server knows, how it comes to know others, and which it hands to other servers.

mod claims;
mod leaving;
mod outgoing;
mod parts;
mod survey;

pub(crate) use claims::{Gained, Source};
pub(crate) use leaving::Leaving;
pub(crate) use outgoing::{HOLDERS, Outgoing, msgnum_of};
pub(crate) use parts::{Part, Parts};
pub(crate) use survey::Survey;

use std::collections::BTreeMap;

use ring_codec::ftn::ServerState;

use crate::ftn::Configuration;

/// Which tokens the server knows, and what it does to know its others or to hand some over.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct Knowledge {
    /// The configuration under which it knew all its tokens: it is settled for that.
    pub(crate) settled: Option<Configuration>,
    pub(crate) survey: Option<Survey>,
    pub(crate) outgoing: Vec<Outgoing>,
    /// Tokens that a server which leaves has handed over, and who held them, if that is said of all. They are for a
    /// configuration that shows that one DOWN.
    pub(crate) left: BTreeMap<u32, Option<Vec<i32>>>,
    /// The next token to look at for the present configuration; `None`: all were.
    pub(crate) sweep: Option<u32>,
}

impl Knowledge {
    /// It knows no tokens.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What goes to a server that is back is no longer known here, even if that server is DOWN again before this
    /// one is settled anew.
    pub(crate) fn hand_on(&mut self, configuration: &Configuration) {
        let Some(settled) = &mut self.settled else {
            return;
        };
        let states = settled.states().iter().zip(configuration.states());
        let states = states.map(|(settled, now)| match settled {
            ServerState::Down => *now,
            known => *known,
        });
        *settled = Configuration::new(settled.number(), states.collect::<Vec<_>>());
    }

    /// Whether a configuration makes this server responsible for tokens that it does not know.
    pub(crate) fn gains(&self, configuration: &Configuration) -> bool {
        self.settled.as_ref().is_none_or(|settled| {
            let mut servers = 0..settled.states().len();
            servers.any(|server| !settled.is_down(server) && configuration.is_down(server))
        })
    }
}
