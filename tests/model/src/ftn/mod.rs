//! The token service: the real servers and clients, in every order of events.
//!
//! All clocks run at the same speed, or at speeds that differ within the document's limit. Datagrams arrive before
//! time passes and in any order, except lost ones, and late ones, which arrive at any time. So time advances by the
//! timeouts of the state machines, and a run ends at a time ([`Scenario::lasts`]). Servers crash, shut down and
//! start again at any time, and processes stall. Above each client a program asks for the token, writes and returns
//! it at any time.
//!
//! Every step is checked by the promises of `docs/ftn.md`, section 7, that a [`Breach`] lists. From selected states
//! the faults end, and in a fair run each client must get the token.

mod action;
mod breach;
mod explore;
mod fair;
mod group;
mod judge;
mod node;
mod notation;
mod outcome;
mod scenario;
mod scenarios;
mod setup;

pub use action::Action;
pub use breach::Breach;
pub use explore::{GroupModel, explore};
pub use group::Group;
pub use scenario::{CLIENT_TIMEOUT, EPOCH, Faults, HEARTBEAT, SERVER_TIMEOUT, Scenario, Wishes};
pub use scenarios::{large, small};
