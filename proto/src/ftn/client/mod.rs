//! A client of the token service as a pure state machine, behind `ringctl token` and the client library
//! (`docs/token-service/protocol/README.md`).
//!
//! One [`Client`] is one process with one datagram socket and at most one session. In its session, the client holds and
//! awaits any number of tokens. The program that uses the client has these duties:
//!
//! - **Socket.** The program binds a datagram socket to any port and reports the port with [`SocketState::Up`]. On
//!   [`Event::NewSocket`] the program opens a new socket *before* it closes the old socket, so that the two ports
//!   differ. Then the program reports the new port.
//! - **Session.** Tokens can be requested after [`Event::Live`]. Outside a live session the client
//!   [refuses](Event::Refused) all commands. [`Event::Lost`] ends the session with all its tokens and requests. Then
//!   the client logs in again by itself.
//! - **Lease.** The program stops its work under a token before the time [`Client::lease`], because a server may grant
//!   the token to another client at that time. An event or a result of [`Client::held_token`] counts only before the
//!   end of the lease.
//! - **Time limits.** If the users of the program have time limits, the program measures them from
//!   [`Client::live_since`]. When a limit is over, the program cancels its request with [`Command::Cancel`].
//!
//! The client opens no socket, reads no clock and stores nothing. Each state has a module: `login`, `session` with its
//! `renewal` and `tokens`, and `logout`. A session owns all data that end with it. So a client that loses its session
//! also loses its tokens. `invariants` checks the client after each input. Start reading at [`Command`] and [`Event`],
//! then at `machine`.

mod catalog;
mod command;
mod control;
mod event;
mod holding;
mod input;
mod invariants;
mod listing;
mod login;
mod logout;
mod long_messages;
mod machine;
mod msgnum;
mod net;
mod options;
mod outbox;
mod output;
mod outstanding_messages;
mod phase;
mod reason;
mod renewal;
mod requests;
mod returns;
mod session;
#[cfg(test)]
mod tests;
mod tokens;
mod view;

pub use command::Command;
pub use event::{Event, LoginFailure, Loss, Refusal};
pub use machine::Client;
pub use net::SocketState;
pub use options::Options;
pub use reason::DropReason;
pub use view::{ClientState, HeldToken};
