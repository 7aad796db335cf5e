//! How servers, their states and their tokens are named in sentences.

use std::fmt;
use std::rc::Rc;

use ring_codec::ftn::ServerState;

/// The most bytes of a token's name that are shown.
const SHOWN: usize = 64;

/// The names of the servers, by index.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    names: Rc<[Box<str>]>,
    own: usize,
}

impl Names {
    /// The servers, as the lines of the list name them; the place of this one.
    pub(crate) fn new(names: impl Into<Rc<[Box<str>]>>, own: usize) -> Self {
        Self {
            names: names.into(),
            own,
        }
    }

    /// The place of this server.
    pub(crate) const fn own(&self) -> usize {
        self.own
    }

    /// All of them, in the order of the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The name of a server.
    pub(crate) fn of(&self, server: usize) -> &str {
        self.names.get(server).map_or("?", |name| name)
    }

    /// `server 1 (b.example:7301)`, or `this server`.
    pub(crate) fn server(&self, server: usize) -> String {
        if server == self.own {
            "this server".to_owned()
        } else {
            format!("server {server} ({})", self.of(server))
        }
    }
}

/// The name of a server's state, as documents spell it.
pub(crate) const fn state_name(state: ServerState) -> &'static str {
    match state {
        ServerState::Down => "DOWN",
        ServerState::Booting => "BOOTING",
        ServerState::Ready => "READY",
    }
}

/// The name of a token, which a client has chosen: escaped, and cut.
pub(super) struct TokenName<'a>(pub &'a [u8]);

impl fmt::Display for TokenName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN)];
        write!(f, "'{}'", shown.escape_ascii())?;
        if shown.len() < self.0.len() {
            write!(f, "… ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}
