//! The addresses of the servers in the list. A thread periodically resolves the servers' names.

use std::io;
use std::mem;
use std::net::SocketAddr;

use ring_client::token::{Hosts, RESOLVE_INTERVAL, Resolution};
use ring_control::Finding;
use ring_host::SendFailures;
use ring_proto::ftn::Servers;
use ring_runtime::worker::PeriodicValue;
use tracing::{info, warn};

use super::client_names::ServerAddressing;
use super::trust::Link;
use crate::system::ftn::observe::Names;
use crate::system::ftn::{events, troubles};

/// The addresses of the servers, and the problems with the servers' names.
#[derive(Debug)]
pub(super) struct Addresses {
    known: Box<[Option<SocketAddr>]>,
    warnings: Vec<String>,
    /// The thread that resolves names; `None` if the list has no names.
    resolver: Option<PeriodicValue<Resolution>>,
    /// Whether this server binds its address from the list.
    uses_listed_address: bool,
    /// Whether the addresses changed after the state machine last got them.
    has_changed: bool,
}

impl Addresses {
    /// Creates the addresses from a list that was just read.
    ///
    /// # Errors
    /// Fails if the process has too many open files or too many threads.
    pub(super) fn of(
        servers: &Servers,
        hosts: Hosts,
        warnings: Vec<String>,
        uses_listed_address: bool,
    ) -> io::Result<Self> {
        for warning in &warnings {
            warn!(event = events::ADDRESS_WARNING, "{warning}");
        }
        let resolver = hosts.has_names().then(|| {
            let resolve = move || hosts.resolve();
            PeriodicValue::start("names", RESOLVE_INTERVAL, RESOLVE_INTERVAL, resolve)
        });
        Ok(Self {
            known: (0..servers.len())
                .map(|index| servers.address(index))
                .collect(),
            warnings,
            resolver: resolver.transpose()?,
            uses_listed_address,
            has_changed: false,
        })
    }

    /// If the thread returned a new result, takes it.
    pub(super) fn update(&mut self, own: usize, names: &Names, link: &mut Link) {
        let Some(Resolution {
            addresses,
            doubts: warnings,
            ..
        }) = self.resolver.as_ref().and_then(PeriodicValue::take)
        else {
            return;
        };
        for warning in warnings
            .iter()
            .filter(|warning| !self.warnings.contains(warning))
        {
            warn!(event = events::ADDRESS_WARNING, "{warning}");
        }
        self.warnings = warnings;
        for (index, (known, found)) in self.known.iter_mut().zip(&addresses).enumerate() {
            let Some(address) = found.filter(|found| *known != Some(*found)) else {
                continue;
            };
            *known = Some(address);
            self.has_changed = true;
            if index == own {
                if self.uses_listed_address {
                    link.link_mut().move_to(address);
                }
            } else {
                let server = names.server(index);
                info!(event = events::SERVER_MOVED, server = index, %address, "{server} has moved to {address}");
            }
        }
        if self.has_changed
            && let Some(signer) = link.signer_mut()
        {
            let addressing = signer.addressing_mut();
            addressing.set_addresses(self.listed(own, addressing.own()), self.servers());
        }
    }

    /// Returns the addresses for signatures. Clients send to the listed address of the server `own`, which may differ
    /// from its `bound` address.
    pub(super) fn for_signatures(&self, own: usize, bound: SocketAddr) -> ServerAddressing {
        ServerAddressing::new(self.listed(own, bound), self.servers())
    }

    fn listed(&self, index: usize, default: SocketAddr) -> SocketAddr {
        self.address(index).unwrap_or(default)
    }

    /// Returns the address of a server; `None` if it is not known.
    pub(super) fn address(&self, index: usize) -> Option<SocketAddr> {
        self.known.get(index).copied().flatten()
    }

    fn servers(&self) -> Vec<SocketAddr> {
        self.known.iter().copied().flatten().collect()
    }

    pub(super) fn take_changed(&mut self) -> Option<Box<[Option<SocketAddr>]>> {
        mem::take(&mut self.has_changed).then(|| self.known.clone())
    }

    /// Describes all problems: names without an address, and servers to which the system cannot send.
    pub(super) fn findings(&self, names: &Names, failures: &SendFailures) -> Vec<Finding> {
        let failures = failures.iter().filter_map(|(to, why)| {
            let server = self.known.iter().position(|known| *known == Some(to))?;
            let text = format!("cannot send to {}, {to}: {why}", names.server(server));
            Some(Finding::new(&troubles::SEND_FAILED, text))
        });
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|text| Finding::new(&troubles::ADDRESS_WARNING, text.as_str()));
        warnings.chain(failures).collect()
    }
}
