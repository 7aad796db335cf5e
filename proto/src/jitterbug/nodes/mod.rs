//! The other nodes: the lists of nodes, the terms and the penalty of each node, and the nodes of other rings. Start
//! with `list.rs`.

mod foreign_nodes;
mod list;
mod order;
mod peers;
mod penalties;

pub(crate) use foreign_nodes::ForeignNodes;
pub(crate) use list::{Changes, NodeList};
pub(crate) use peers::Peers;
pub(crate) use penalties::Penalties;
