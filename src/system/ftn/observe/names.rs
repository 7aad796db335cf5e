//! Names of servers, states and tokens in texts.

use std::fmt;
use std::rc::Rc;

use ring_codec::ftn::ServerState;

/// Maximum number of bytes of a token's name in a text.
const SHOWN_NAME_MAX: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Names {
    names: Rc<[Box<str>]>,
    own: usize,
}

impl Names {
    /// Creates names from two values: the servers' names in the order of the list, and the index of this server.
    pub(crate) fn new(names: impl Into<Rc<[Box<str>]>>, own: usize) -> Self {
        Self {
            names: names.into(),
            own,
        }
    }

    /// Returns the index of this server.
    pub(crate) const fn own(&self) -> usize {
        self.own
    }

    /// Returns the names in the order of the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    pub(crate) fn of(&self, server: usize) -> &str {
        self.names.get(server).map_or("?", |name| name)
    }

    /// Returns `server 1 (b.example:7301)`, or `this server`.
    pub(crate) fn server(&self, server: usize) -> String {
        if server == self.own {
            "this server".to_owned()
        } else {
            format!("server {server} ({})", self.of(server))
        }
    }
}

/// Returns the name of a server's state in the spelling of the documents.
pub(crate) const fn state_name(state: ServerState) -> &'static str {
    match state {
        ServerState::Down => "DOWN",
        ServerState::Booting => "BOOTING",
        ServerState::Ready => "READY",
    }
}

/// A token's name. The displayed name is escaped and truncated, because clients choose names.
pub(crate) struct TokenName<'a>(pub &'a [u8]);

impl fmt::Display for TokenName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN_NAME_MAX)];
        write!(f, "'{}'", shown.escape_ascii())?;
        if shown.len() < self.0.len() {
            write!(f, "… ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}
