//! Names of machines for log lines. The MAC addresses in the lines identify the machines.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ring_text::{Names, has_mac, name_macs};

/// The time after a read during which names are valid.
const NAMES_LIFETIME: Duration = Duration::from_secs(60);

/// The known IP addresses of machines, by their MAC addresses.
static ADDRESSES: Mutex<BTreeMap<[u8; 6], IpAddr>> = Mutex::new(BTreeMap::new());

/// Replaces the known IP addresses. Later log lines name machines by the new addresses.
pub fn note_addresses(addresses: impl Iterator<Item = ([u8; 6], IpAddr)>) {
    *ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner) = addresses.collect();
}

/// The names in this machine's files. The files are read again periodically.
#[derive(Debug, Default)]
pub(super) struct MachineNames {
    names: Names,
    read_at: Option<Instant>,
}

impl MachineNames {
    /// Adds to each MAC address in a text the name of its machine, if the machine has a name.
    pub(super) fn add_names(&mut self, text: &str) -> String {
        if !has_mac(text) {
            return text.to_owned();
        }
        if self.read_at.is_none_or(|at| at.elapsed() >= NAMES_LIFETIME) {
            self.names = Names::read();
            self.read_at = Some(Instant::now());
        }
        let addresses = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
        name_macs(text, |mac| {
            let name = self.names.of_machine(mac, addresses.get(&mac).copied());
            name.map(str::to_owned)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{MachineNames, note_addresses};

    #[test]
    fn a_line_names_the_machines_that_have_a_name() {
        let ip = "127.0.0.1".parse().expect("the text is an IP address");
        note_addresses([([2, 0, 0, 0, 0, 0xaa], ip)].into_iter());
        let line = "owner is 02:00:00:00:00:aa, not 02:00:00:00:00:ab";
        let expected = "owner is 02:00:00:00:00:aa (localhost), not 02:00:00:00:00:ab";
        assert_eq!(MachineNames::default().add_names(line), expected);
    }
}
