//! The token service: the checker runs the real servers and clients in every order of events.
//!
//! All clocks run at the same speed, or at speeds that differ within the document's limit. Datagrams arrive in any
//! order, but before time advances. There are two exceptions: datagrams can be lost, and late datagrams can arrive at
//! any time. So time advances only when a timeout of a state machine fires. A run ends at a given time
//! ([`Scenario::lasts`]). Servers crash, shut down and start again at any time, and processes stall. Each client has a
//! program. At any time the program requests the token, writes its data or returns it.
//!
//! The checker compares every step with the promises of `docs/token-service/protocol/promises.md` that [`Breach`]
//! lists. From selected states, a fair run without further faults begins. In this run, each client must get the token.

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
