//! Help about nodes of Jitterbug. `ringctl` sends them the same requests as nodes of a ring.

pub(super) mod help;
