//! The page and its requests (`docs/board.md`, section 10): an HTTP server in a thread of its own.
//!
//! | files | what |
//! |---|---|
//! | `server` | connections, and what one may cost |
//! | `routes`, `host`, `input`, `output` | requests: which there are, whom they must be for, what they must be, how they are answered |
//! | `events` | those who listen |
//! | `counter` | the way from a request to the loop and back |
//! | `page.html`, `board.js`, `board.css` | what a browser shows |

mod counter;
mod events;
mod host;
mod input;
mod output;
mod routes;
mod server;

pub use counter::{Asked, Counter, Replies};
pub use events::Listeners;
pub use host::parse_name;
pub use server::start;
