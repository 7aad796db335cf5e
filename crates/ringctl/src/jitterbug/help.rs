//! Long help texts about nodes of Jitterbug.

pub(crate) const RUN: &str = "\
With a node of Jitterbug (-i jitterbug-eth0), run guarantees less. One command
at a time runs in the ring only while no messages are lost and the network does
not split. After a split, each side can run a command. A lock has no grade.
RINGD_TOKEN differs for each lock, but does not show which lock is newer.
RINGD_DATA is empty if the data are longer than 1,024 bytes. The command is
ended if the daemon does not renew the lease, which lasts half a second by
default. No other node leads before the lease ends.";

pub(crate) const LOCK: &str =
    "With a node of Jitterbug, a lock guarantees what ringctl run --help describes.";
