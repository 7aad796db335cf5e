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
use std::collections::BTreeMap;

use crate::ftn::Configuration;

pub(crate) use survey::Survey;

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
}
