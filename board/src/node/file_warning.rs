//! A check whether a database in a file can serve all nodes of a list. A file serves only the nodes of one machine.

use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};

use tracing::warn;

use crate::database::Url;
use crate::events;
use crate::list::List;

/// Maximum number of nodes that the warning names. There may be thousands of nodes.
const NAMED_NODES_MAX: usize = 5;

/// Warns if the database is a file and some nodes of the list have addresses of other machines. Nodes on other machines
/// would use a different file, and form a second ring.
pub(super) fn warn_if_file_is_local(database: &Url, list: &List) {
    if !matches!(database, Url::Sqlite(_)) {
        return;
    }
    let elsewhere: Vec<u32> = list
        .lines()
        .iter()
        .filter(|line| !is_here(line.ring.ip()))
        .map(|line| line.id)
        .collect();
    if let Some(nodes) = nodes_as_subject(&elsewhere) {
        warn!(
            event = events::OTHER_MACHINES, %database, nodes = elsewhere.len(),
            "{nodes} at an address that is not this machine's, but {database} serves only the nodes of one machine. \
             Nodes on other machines would form a separate ring: start all nodes with --database \
             postgres://USER@HOST/DATABASE"
        );
    }
}

/// Whether this address belongs to this machine. Returns `false` only if the kernel refuses to bind a socket to the
/// address because the address is not available.
fn is_here(address: IpAddr) -> bool {
    let bound = UdpSocket::bind((address, 0));
    !bound.is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable)
}

/// Returns the names of the nodes as the subject of a sentence. Returns `None` if there are no nodes.
fn nodes_as_subject(ids: &[u32]) -> Option<String> {
    let all: Vec<String> = ids
        .iter()
        .take(NAMED_NODES_MAX)
        .map(u32::to_string)
        .collect();
    let (first, all) = (ids.first()?, all.join(", "));
    Some(match ids.len() {
        1 => format!("node {first} is"),
        count if count > NAMED_NODES_MAX => {
            format!("nodes {all} and {} more are", count - NAMED_NODES_MAX)
        }
        _ => format!("nodes {all} are"),
    })
}

#[cfg(test)]
mod tests {
    use super::{is_here, nodes_as_subject};

    #[test]
    fn an_address_of_this_machine_is_here_and_one_for_documents_is_not() {
        assert!(is_here([127, 0, 0, 1].into()));
        assert!(!is_here([192, 0, 2, 1].into()));
    }

    #[test]
    fn few_nodes_are_named_and_many_counted() {
        assert_eq!(nodes_as_subject(&[]), None);
        assert_eq!(nodes_as_subject(&[7]).unwrap(), "node 7 is");
        assert_eq!(nodes_as_subject(&[1, 2, 5]).unwrap(), "nodes 1, 2, 5 are");
        let many: Vec<u32> = (1..=9).collect();
        assert_eq!(
            nodes_as_subject(&many).unwrap(),
            "nodes 1, 2, 3, 4, 5 and 4 more are"
        );
    }
}
