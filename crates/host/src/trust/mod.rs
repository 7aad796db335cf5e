//! The keys of a node: options, key files, and reports of messages without a valid signature.
//!
//! `ring-trust` makes and checks the signatures. Start with [`KeyOptions`].

mod key_file;
mod options;
mod refused_messages;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use ring_control::TrustStatus;
use ring_runtime::driver::{Addressing, Authenticated, Signer};
use ring_runtime::random_bytes;
use ring_trust::{Authenticator, DropReason, Keyring, StreamKeys};
use tracing::info;

pub use key_file::{KeyFileError, KeySource, ServiceUser};
pub use options::KeyOptions;
pub use refused_messages::RefusedMessages;

use crate::observe::events;

/// The keys of a node, and the rule for messages without a valid signature.
#[derive(Debug, Clone)]
pub struct Trust {
    /// The keys; `None` if the node neither signs nor verifies.
    pub keys: Option<Keyring>,
    /// Whether the node also accepts messages without a valid signature.
    pub accepts_unsigned: bool,
}

impl Trust {
    /// Logs the ids of the keys. Logs nothing if the node has no keys and had none before.
    pub fn log(&self, had_keys: bool) {
        match &self.keys {
            Some(keys) => {
                let (signs, mut text) = (keys.signing_id(), String::new());
                for id in keys.ids().skip(1) {
                    text = format!("{text}, also verifies with key {id}");
                }
                let unsigned = if self.accepts_unsigned {
                    "accepts"
                } else {
                    "drops"
                };
                info!(
                    event = events::KEYS_LOADED,
                    signs, "signs with key {signs}{text}, {unsigned} unsigned messages"
                );
            }
            None if had_keys => info!(
                event = events::KEYS_LOADED,
                "has lost its keys: signs no messages, and accepts all messages"
            ),
            None => {}
        }
    }

    /// Gives these keys to a link, and logs them. `new_signer` makes a signer for a link that had no keys.
    ///
    /// # Errors
    /// Fails if the kernel has no random source. In this case, the link keeps its old keys.
    pub fn apply<L, D: Addressing>(
        &self,
        link: &mut Authenticated<L, D>,
        new_signer: impl FnOnce(Authenticator<D::Address>) -> Signer<D>,
    ) -> Result<(), String> {
        let had_keys = link.signer().is_some();
        if let (Some(signer), Some(keys)) = (link.signer_mut(), &self.keys) {
            let authenticator = signer.authenticator_mut();
            authenticator.set_keyring(keys, self.accepts_unsigned);
        } else {
            let authenticator = self.authenticator();
            let authenticator = authenticator
                .map_err(|error| format!("cannot draw a random number: {error}; try again"))?;
            link.set_signer(authenticator.map(new_signer));
        }
        self.log(had_keys);
        Ok(())
    }

    /// Returns the keys for encrypted connections.
    pub fn stream_keys(&self) -> StreamKeys {
        match &self.keys {
            Some(keys) => StreamKeys::new(keys, self.accepts_unsigned),
            None => StreamKeys::none(),
        }
    }

    /// Makes an authenticator with these keys; `None` without keys.
    ///
    /// # Errors
    /// Fails if the kernel has no random source.
    pub fn authenticator<A: Copy + Ord>(&self) -> io::Result<Option<Authenticator<A>>> {
        let Some(keys) = &self.keys else {
            return Ok(None);
        };
        let seed = random_bytes()?;
        Ok(Some(Authenticator::new(keys, self.accepts_unsigned, seed)))
    }
}

/// Returns the part of the status that describes the keys.
pub fn trust_status<D: Addressing>(signer: Option<&Signer<D>>) -> TrustStatus {
    let Some(signer) = signer else {
        return TrustStatus {
            keys: Vec::new(),
            accepts_unsigned: true,
        };
    };
    let authenticator = signer.authenticator();
    TrustStatus {
        keys: authenticator.key_ids().map(u32::from).collect(),
        accepts_unsigned: authenticator.accepts_unsigned(),
    }
}

/// Returns the id of the key of each sender that has a key.
pub fn key_ids<D: Addressing>(signer: Option<&Signer<D>>) -> BTreeMap<D::Address, u32> {
    let signers = signer.into_iter();
    // The result does not depend on this time, because only the keys of the peers are used.
    let peers = signers.flat_map(|signer| signer.authenticator().peers(Duration::ZERO));
    let proven = peers.filter_map(|peer| Some((peer.address, peer.key_id?.get())));
    proven.collect()
}

/// Returns the numbers of messages without a valid signature, for the status. The map is empty without keys.
pub fn unproven_counts<D: Addressing>(signer: Option<&Signer<D>>) -> BTreeMap<String, u64> {
    let Some(signer) = signer else {
        return BTreeMap::new();
    };
    let counts = signer.authenticator().counts();
    let count = |reason: DropReason| (reason.name().to_owned(), counts.get(reason));
    DropReason::ALL.into_iter().map(count).collect()
}
