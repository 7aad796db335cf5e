//! The keys of a server and its clients.

use std::io;
use std::net::SocketAddr;

use ring_host::UdpSlot;
use ring_host::trust::Trust;
use ring_proto::ftn::{DATAGRAM_BYTES_MAX, SERVERS_MAX};
use ring_runtime::driver::{Authenticated, Signer, datagrams};
use ring_trust::{Authenticator, ClientKeys, PEERS_MAX, TRAILER_LEN};
use tracing::info;

use super::client_names::ServerAddressing;
use super::events;

/// The length of the longest datagram with its signature.
pub(super) const SIGNED_BYTES_MAX: usize = DATAGRAM_BYTES_MAX + TRAILER_LEN;

/// The link of a server.
pub(super) type Link = Authenticated<UdpSlot, ServerAddressing>;

/// The keys of a server and its clients, and the rule for messages without a valid signature.
pub(super) struct ServerTrust {
    pub trust: Trust,
    /// The keys that only clients use; `None` without a file.
    pub clients: Option<ClientKeys>,
}

impl ServerTrust {
    /// Logs the keys at the start.
    pub(super) fn log(&self) {
        self.trust.log(false);
        self.log_clients();
    }

    /// Makes the signer of a server with at most `clients_max` clients; `None` without keys.
    ///
    /// # Errors
    /// Fails if the kernel has no random source.
    pub(super) fn signer(
        &self,
        addressing: ServerAddressing,
        clients_max: usize,
    ) -> io::Result<Option<Signer<ServerAddressing>>> {
        let authenticator = self.trust.authenticator()?;
        Ok(authenticator.map(|it| {
            let mut signer = new_signer(it, addressing, clients_max);
            self.set_client_keys(&mut signer);
            signer
        }))
    }

    /// Replaces the keys of a link, and logs them. The proofs of the servers and clients stay.
    ///
    /// # Errors
    /// Fails if the kernel has no random source. Then the keys stay the same.
    pub(super) fn apply(
        &self,
        link: &mut Link,
        addressing: ServerAddressing,
        clients_max: usize,
    ) -> Result<(), String> {
        let signer = |authenticator| new_signer(authenticator, addressing, clients_max);
        self.trust.apply(link, signer)?;
        if let Some(signer) = link.signer_mut() {
            self.set_client_keys(signer);
        }
        self.log_clients();
        Ok(())
    }

    fn set_client_keys(&self, signer: &mut Signer<ServerAddressing>) {
        let keys = self.clients.as_ref().map_or(&[][..], ClientKeys::keys);
        signer.authenticator_mut().set_client_keys(keys);
        signer.addressing_mut().set_clients(self.clients.clone());
    }

    fn log_clients(&self) {
        if let Some(clients) = &self.clients {
            let count = clients.keys().len();
            info!(
                event = events::CLIENT_KEYS_LOADED,
                count, "keys of clients: {count}"
            );
        }
    }
}

fn new_signer(
    mut authenticator: Authenticator<SocketAddr>,
    addressing: ServerAddressing,
    clients_max: usize,
) -> Signer<ServerAddressing> {
    authenticator.set_peers_max(PEERS_MAX.max(clients_max + SERVERS_MAX));
    let transmit = datagrams::transmit_batch(SIGNED_BYTES_MAX);
    Signer::new(authenticator, addressing, transmit)
}
