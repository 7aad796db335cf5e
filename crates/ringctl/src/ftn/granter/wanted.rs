//! What a granter is asked for.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ring_client::token::{Access, Session, WaitLimits, resolved_list};
use serde::{Deserialize, Serialize};

use super::super::client::Client;
use super::super::name::Name;
use super::super::options::{RunOptions, access, wait_limits};
use crate::values::program_name;

/// A token, and how it is wanted. A granter is told the list itself: its file may have changed by then, or may have been
/// a pipe. It is told addresses too, so that it does not wait for names a second time.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ftn) struct Wanted {
    path: PathBuf,
    list: String,
    addresses: Box<[Option<SocketAddr>]>,
    client_timeout: Duration,
    /// In hexadecimal digits.
    name: String,
    shared: bool,
    nonblock: bool,
    timeout: Option<Duration>,
    introduction: String,
}

impl Wanted {
    /// What is asked for by a command line.
    pub(in crate::ftn) fn new(client: &Client, options: &RunOptions) -> Self {
        let servers = &client.servers.resolved;
        let addresses = (0..servers.len()).map(|index| servers.address(index));
        Self {
            addresses: addresses.collect(),
            path: client.servers.path.clone(),
            list: client.servers.text.clone(),
            client_timeout: client.timeout,
            name: options.name.digits(),
            shared: options.shared,
            nonblock: options.acquire.nonblock,
            timeout: options.acquire.timeout,
            introduction: options
                .acquire
                .introduction(&program_name(&options.command)),
        }
    }

    pub(super) const fn access(&self) -> Access {
        access(self.shared)
    }

    pub(super) fn wait_limits(&self) -> WaitLimits {
        wait_limits(self.nonblock, self.timeout)
    }

    /// Opens a session for it.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub(super) fn open(&self) -> Result<(Session, Name), String> {
        let list = resolved_list(&self.path, &self.list, self.addresses.clone());
        let list = list.map_err(|error| error.to_string())?;
        let servers = list.servers;
        let name = Name::of_digits(&self.name).ok_or("a token's name is no name")?;
        let session = Session::open(servers, self.client_timeout, &self.introduction);
        let session = session.map_err(|error| error.to_string())?;
        Ok((session.resolving(list.hosts), name))
    }
}
