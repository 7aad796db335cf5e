//! Help about nodes of Jitterbug. `ringctl` sends the same requests to nodes of Jitterbug and to nodes of a ring.

pub(super) mod help;
