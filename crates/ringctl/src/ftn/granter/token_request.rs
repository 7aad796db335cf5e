//! The request of a keeper to its granter.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ring_client::token::{Access, Session, WaitLimits, list_with_addresses};
use serde::{Deserialize, Serialize};

use super::super::client::ServiceClient;
use super::super::key_file::{KeyFile, open_session};
use super::super::name::TokenName;
use super::super::options::{TokenRunOptions, access, wait_limits};
use crate::values::program_name;

/// The request for a token, with the limits of the wait. The request contains the whole list of servers, because the
/// file of the list may change or be a pipe. It also contains the addresses of the servers, so that the granter need
/// not resolve their names again.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ftn) struct TokenRequest {
    path: PathBuf,
    list: String,
    addresses: Box<[Option<SocketAddr>]>,
    client_timeout: Duration,
    /// The path of the key file. It is absolute, because the granter has a different working directory.
    key_file: Option<PathBuf>,
    /// The token's name in hexadecimal digits.
    name: String,
    shared: bool,
    nonblock: bool,
    timeout: Option<Duration>,
    introduction: String,
}

impl TokenRequest {
    pub(in crate::ftn) fn new(client: &ServiceClient, options: &TokenRunOptions) -> Self {
        let servers = &client.servers.resolved;
        let addresses = (0..servers.len()).map(|index| servers.address(index));
        Self {
            addresses: addresses.collect(),
            path: client.servers.path.clone(),
            list: client.servers.text.clone(),
            client_timeout: client.timeout,
            key_file: client.keys.as_ref().map(|file| file.path().to_owned()),
            name: options.name.to_hex(),
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

    /// Opens a session for the request.
    ///
    /// # Errors
    /// Returns the reason as a sentence.
    pub(super) fn open(&self) -> Result<(Session, TokenName), String> {
        let list = list_with_addresses(&self.path, &self.list, self.addresses.clone());
        let list = list.map_err(|error| error.to_string())?;
        let servers = list.servers;
        let name = TokenName::from_hex(&self.name).ok_or("the name of the token is invalid")?;
        let keys = KeyFile::read(self.key_file.as_deref())?;
        let session = open_session(
            servers,
            self.client_timeout,
            &self.introduction,
            keys.as_ref(),
        );
        let session = session.map_err(|error| error.to_string())?;
        Ok((session.resolving(list.hosts), name))
    }
}
