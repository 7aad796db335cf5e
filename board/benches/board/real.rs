//! The segment and the start of processes, as `ringd`'s benches have them.

#[path = "../../../benches/real/fabric.rs"]
pub(crate) mod fabric;
#[path = "../../../benches/real/start.rs"]
pub(crate) mod start;
