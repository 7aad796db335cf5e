//! Names of machines. MAC addresses identify the machines. In log lines, a name follows each address. The name comes
//! from the files of this machine. If the files contain no name for an address, the name is the host name that the
//! machine announced.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ring_text::{Names, has_mac, name_macs};

/// The time after which the files with names are read again.
const NAMES_LIFETIME: Duration = Duration::from_secs(60);

/// The known machines, by their MAC addresses.
static MACHINES: Mutex<BTreeMap<[u8; 6], KnownMachine>> = Mutex::new(BTreeMap::new());

/// The properties of a machine from which its name is found.
#[derive(Debug, Default)]
pub struct KnownMachine {
    /// The IP address of the machine. The files of this machine may have a name for this address.
    pub ip: Option<IpAddr>,
    /// The host name that the machine announced.
    pub host_name: Option<String>,
}

/// Replaces the known machines. Later log lines have the names of these machines.
pub fn note_machines(machines: impl Iterator<Item = ([u8; 6], KnownMachine)>) {
    *lock_machines() = machines.collect();
}

/// Notes the host name that a machine announced.
pub fn note_host_name(mac: [u8; 6], name: String) {
    lock_machines().entry(mac).or_default().host_name = Some(name);
}

/// Returns the host name that a machine announced; `None` if the machine announced no host name.
pub fn announced_host_name(mac: [u8; 6]) -> Option<String> {
    lock_machines().get(&mac)?.host_name.clone()
}

fn lock_machines() -> MutexGuard<'static, BTreeMap<[u8; 6], KnownMachine>> {
    MACHINES.lock().unwrap_or_else(PoisonError::into_inner)
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
            self.names.refresh();
            self.read_at = Some(Instant::now());
        }
        let machines = lock_machines();
        name_macs(text, |mac| {
            let machine = machines.get(&mac);
            let name = self.names.of_machine(mac, machine.and_then(|it| it.ip));
            let announced = || machine?.host_name.as_deref();
            name.or_else(announced).map(str::to_owned)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownMachine, MachineNames, announced_host_name, note_host_name, note_machines};

    #[test]
    fn a_line_names_the_machines_that_have_a_name() {
        let machine = KnownMachine {
            ip: Some("127.0.0.1".parse().expect("the text is an IP address")),
            host_name: Some("in-the-files".to_owned()),
        };
        note_machines([([2, 0, 0, 0, 0, 0xaa], machine)].into_iter());
        let line = "owner is 02:00:00:00:00:aa, not 02:00:00:00:00:ab";
        let expected = "owner is 02:00:00:00:00:aa (localhost), not 02:00:00:00:00:ab";
        assert_eq!(MachineNames::default().add_names(line), expected);
        note_host_name([2, 0, 0, 0, 0, 0xab], "db2".to_owned());
        let expected = "owner is 02:00:00:00:00:aa (localhost), not 02:00:00:00:00:ab (db2)";
        assert_eq!(MachineNames::default().add_names(line), expected);
        let announced = [0xab, 0xac].map(|last| announced_host_name([2, 0, 0, 0, 0, last]));
        assert_eq!(announced, [Some("db2".to_owned()), None]);
    }
}
