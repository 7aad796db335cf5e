//! Whether a file can be the database of all nodes of a list: it serves those of one machine only.

use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};

use tracing::warn;

use crate::database::Url;
use crate::list::List;

/// Nodes that are named; there may be thousands.
const NAMED: usize = 5;

/// Warns if the database is a file and nodes of the list have addresses that this machine has not: they would have a file, and
/// so a ring, of their own.
pub(super) fn warn_of_files(database: &Url, list: &List) {
    if !matches!(database, Url::Sqlite(_)) {
        return;
    }
    let elsewhere: Vec<u32> = list
        .lines()
        .iter()
        .filter(|line| !is_here(line.ring.ip()))
        .map(|line| line.id)
        .collect();
    if let Some(nodes) = named(&elsewhere) {
        warn!(
            event = "other_machines", %database, nodes = elsewhere.len(),
            "{nodes} at an address that is not this machine's, and {database} serves the nodes of one machine only: others \
             have a ring of their own; give all nodes --database postgres://USER@HOST/DATABASE"
        );
    }
}

/// Whether the kernel has this address for sockets. What it refuses for other reasons says nothing about that.
fn is_here(address: IpAddr) -> bool {
    let bound = UdpSocket::bind((address, 0));
    !bound.is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable)
}

/// Nodes by their ids, as the subject of a sentence. `None`: there are none.
fn named(ids: &[u32]) -> Option<String> {
    let all: Vec<String> = ids.iter().take(NAMED).map(u32::to_string).collect();
    let (first, all) = (ids.first()?, all.join(", "));
    Some(match ids.len() {
        1 => format!("node {first} is"),
        count if count > NAMED => format!("nodes {all} and {} more are", count - NAMED),
        _ => format!("nodes {all} are"),
    })
}

#[cfg(test)]
mod tests {
    use super::{is_here, named};

    #[test]
    fn an_address_of_this_machine_is_here_and_one_for_documents_is_not() {
        assert!(is_here([127, 0, 0, 1].into()));
        assert!(!is_here([192, 0, 2, 1].into()));
    }

    #[test]
    fn few_nodes_are_named_and_many_counted() {
        assert_eq!(named(&[]), None);
        assert_eq!(named(&[7]).unwrap(), "node 7 is");
        assert_eq!(named(&[1, 2, 5]).unwrap(), "nodes 1, 2, 5 are");
        let many: Vec<u32> = (1..=9).collect();
        assert_eq!(named(&many).unwrap(), "nodes 1, 2, 3, 4, 5 and 4 more are");
    }
}
