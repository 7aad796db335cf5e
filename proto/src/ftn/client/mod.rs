//! A client of the token service, as a pure state machine: the state behind `ringctl token` and behind any
//! program that holds tokens (`docs/ftn.md`, sections 3, 5 and 6).
//!
//! One [`Client`] is one process with one datagram socket and at most one session, in which it holds and awaits as
//! many tokens as it likes. What the program above it does:
//!
//! - **Socket.** It binds a datagram socket to any port and says which with [`Net::Up`]. On
//!   [`Event::NewSocket`] it opens another, *before* it closes the old one, so that the port differs, and
//!   says its port.
//! - **Session.** [`Event::Live`] says that tokens can be requested; whatever is asked for outside a live session is
//!   [refused](Event::Refused). [`Event::Lost`] ends the session with every token and request of it; the client logs
//!   in anew by itself.
//! - **Lease.** Whoever works under a token stops before [`Client::lease`]: at that moment another client may be granted
//!   it. An event or a look at [`Client::holding`] counts only if the time is before the lease's end.
//! - **Time limits** of its users are the program's: [`Client::live_since`] and [`Command::Cancel`] are what it needs.
//!
//! Every state has its file: `login`, `session` with its `renewal` and its `tokens`, `logout`. What ends with a
//! session is owned by it, so that to lose the session is to lose its tokens. `invariants` has what must hold after each input.

mod carried;
mod catalog;
mod command;
mod control;
mod event;
mod holding;
mod input;
#[cfg(debug_assertions)]
mod invariants;
mod listing;
mod login;
mod logout;
mod machine;
mod msgnum;
mod net;
mod options;
mod outbox;
mod output;
mod outstanding;
mod phase;
mod reason;
mod renewal;
mod requesting;
mod returning;
mod session;
#[cfg(test)]
mod tests;
mod tokens;
mod view;

pub use command::Command;
pub use event::{Event, Loss, Refusal, Trouble};
pub use machine::Client;
pub use net::Net;
pub use options::Options;
pub use reason::Reason;
pub use view::{Holding, Standing};
