//! The segment and the start of processes, as `ringd`'s benches have them.

#[path = "../../../benches/real/fabric.rs"]
pub mod fabric;
#[path = "../../../benches/real/start.rs"]
pub mod start;
