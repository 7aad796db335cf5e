//! The page and its requests (`docs/board/use.md`). An HTTP server runs in a separate thread. The server talks to the
//! node's event loop only through `loop_handle`. Start with `routes.rs`.
//!
//! | files | contents |
//! |---|---|
//! | `server`, `connection` | connections and their limits |
//! | `clients`, `rate_limit` | the limits per client |
//! | `routes`, `host`, `input`, `output` | the paths of requests, the checks of Host and content, and the answers |
//! | `login`, `password`, `sessions` | the password, the login, and the sessions of browsers |
//! | `events`, `view` | live views: the list of listeners, and the answer to a listener |
//! | `loop_handle` | calls to the loop |
//! | `page.html`, `board.js`, `live.js`, `board.css` | the page |
//! | `login.html` | the page of the login |

mod clients;
mod connection;
mod events;
mod host;
mod input;
mod login;
mod loop_handle;
#[cfg(test)]
mod memory;
mod output;
mod password;
mod rate_limit;
mod routes;
mod server;
mod sessions;
mod view;

pub(crate) use clients::Clients;
pub(crate) use events::Listeners;
pub(crate) use host::parse_name;
pub(crate) use login::Login;
pub(crate) use loop_handle::{LoopCall, LoopHandle, PageRules, ReplySenders};
pub(crate) use password::{Password, make_line};
pub(crate) use server::start;
