//! A client of the token service as a pure state machine, behind `ringctl token` and the client library
//! (`docs/ftn.md`, sections 3, 5 and 6).
//!
//! One [`Client`] is one process with one datagram socket and at most one session. In the session it holds and awaits
//! any number of tokens. The program that uses it has these duties:
//!
//! - **Socket.** The program binds a datagram socket to any port and reports the port with [`SocketState::Up`]. On
//!   [`Event::NewSocket`] it opens another one *before* it closes the old one, so that the port differs, and reports
//!   that port.
//! - **Session.** Tokens can be requested after [`Event::Live`]. Outside a live session the client
//!   [refuses](Event::Refused) all commands. [`Event::Lost`] ends the session with all its tokens and requests. The
//!   client then logs in again by itself.
//! - **Lease.** The program stops its work under a token before [`Client::lease`], because another client may be
//!   granted the token at that moment. An event or a result of [`Client::held_token`] counts only before the end of the
//!   lease.
//! - **Time limits** of its users. The program measures them with [`Client::live_since`] and gives up with
//!   [`Command::Cancel`].
//!
//! The client opens no socket, reads no clock and stores nothing. Each state has a module: `login`, `session` with its
//! `renewal` and `tokens`, and `logout`. A session owns everything that ends with it, so losing it loses its tokens.
//! `invariants` checks the client after each input. Start reading at [`Command`] and [`Event`], then at `machine`.

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
