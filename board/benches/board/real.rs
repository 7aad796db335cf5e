//! The segment and the start of processes, shared with the benches of `ringd`.

#[path = "../../../benches/real/fabric.rs"]
pub(crate) mod fabric;
#[path = "../../../benches/real/start.rs"]
pub(crate) mod start;
