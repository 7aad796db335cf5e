//! What `ringctl` says of nodes of Jitterbug: it asks them as it asks nodes of any ring.

pub(super) mod help;
