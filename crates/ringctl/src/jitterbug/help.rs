//! What `--help` says at length of nodes of Jitterbug.

/// What `ringctl run` promises.
pub(crate) const RUN: &str = "\
With a node of Jitterbug (-i jitterbug-eth0) run promises less. One command at a
time runs in the ring as long as no messages are lost and nothing is cut: who
is cut off goes on working on its side. There is no grade, and RINGD_TOKEN tells
one lock from another, but not which is newer. RINGD_DATA is empty if there are
more than 1,024 bytes. The command is ended if the daemon does not renew the
lease, of half a second with its defaults; before that nobody else leads.";

/// What `ringctl lock` promises.
pub(crate) const LOCK: &str =
    "With a node of Jitterbug a lock promises what ringctl run --help says.";
