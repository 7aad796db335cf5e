//! Long help texts about nodes of Jitterbug.

pub(crate) const RUN: &str = "\
With a node of Jitterbug (-i jitterbug-eth0), ringctl run guarantees less. The
ring runs one command at a time only while no messages are lost and the network
does not split. After a split, each side can run a command. A lock has no grade.
RINGD_TOKEN differs for each lock, but does not show which lock is newer.
RINGD_DATA is empty if the data are longer than 1,024 bytes. If the daemon does
not renew the lease, ringctl ends the command. By default, the lease lasts half
a second. No other node leads before the lease ends.";

pub(crate) const LOCK: &str =
    "With a node of Jitterbug, a lock guarantees less: read ringctl run --help.";
