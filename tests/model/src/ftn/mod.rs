//! The token service: the servers and clients that ship, in every order of events.
//!
//! All clocks go at one speed, or at speeds that differ by no more than the page allows, and what is sent arrives
//! before time passes: in any order, unless it is lost, or comes late, which is at any time. So time is that of the
//! machines' own time-outs, and a run ends at a time ([`Scenario::lasts`]). Servers crash, are shut down, and start again whenever
//! that is worst; processes stand still. Above each client is a program that asks, writes and gives back whenever it likes.
//!
//! In every step the promises of `docs/ftn.md`, section 7, are checked that a [`Breach`] lists. From many states the
//! faults end and a fair run begins, in which each client must be granted the token.

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
pub use explore::{Exploration, explore};
pub use group::Group;
pub use scenario::{CLIENT_TIMEOUT, EPOCH, Faults, HEARTBEAT, SERVER_TIMEOUT, Scenario, Wishes};
pub use scenarios::{large, small};
