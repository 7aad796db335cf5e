//! Reads the configuration file and the key files of a running server again.

use ring_config::Configured;

use super::Options;
use super::addresses::Addresses;
use super::observe::Names;
use super::trust::Link;
use crate::system::PROGRAM;

/// The options that change without a restart.
const ADJUSTABLE: [&str; 4] = ["accept-unsigned", "client-keys", "key-file", "verbose"];

/// Reads the configuration file and the key files again, and logs the result. If one of the files cannot be used,
/// changes nothing.
pub(super) fn reload(
    configured: &mut Configured<Options>,
    link: &mut Link,
    addresses: &Addresses,
    names: &Names,
) {
    let mut options = configured.options().clone();
    ring_host::reload(PROGRAM, configured, &ADJUSTABLE, |new| {
        options.adjust(new);
        options.check().map_err(|error| error.to_string())?;
        let trust = options.trust().map_err(|error| error.to_string())?;
        let addressing = addresses.for_signatures(names.own(), link.link().address());
        let clients_max = options.of_machine(names.iter().count()).max_clients;
        trust.apply(link, addressing, clients_max)?;
        Ok(options)
    });
}
