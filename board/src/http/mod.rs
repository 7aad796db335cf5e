//! The page and its requests (`docs/board.md`, section 10): an HTTP server in a thread of its own.
//!
//! | files | what |
//! |---|---|
//! | `server`, `connection` | connections, and their limits |
//! | `clients` | the share of one client |
//! | `routes`, `host`, `input`, `output` | requests: which there are, whom they must be for, what they must be, how they are answered |
//! | `events`, `view` | live views: who listens, and the answer to one |
//! | `counter` | the way from a request to the loop and back |
//! | `page.html`, `board.js`, `live.js`, `board.css` | what a browser shows |

mod clients;
mod connection;
mod counter;
mod events;
mod host;
mod input;
#[cfg(test)]
mod memory;
mod output;
mod routes;
mod server;
mod view;

pub(crate) use clients::Clients;
pub(crate) use counter::{Asked, Counter, Replies};
pub(crate) use events::Listeners;
pub(crate) use host::parse_name;
pub(crate) use server::start;
