//! The other nodes: the lists of them, which were heard and with which terms, which are skipped, and which are of other
//! rings.

mod foreign;
mod list;
mod order;
mod peers;
mod penalties;

pub(crate) use foreign::Foreign;
pub(crate) use list::{Changes, NodeList};
pub(crate) use peers::Peers;
pub(crate) use penalties::Penalties;
