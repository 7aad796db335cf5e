//! The parts of a benchmark that create the segment and start processes. The benches of `ringd` use the same code.

#[path = "../../../benches/real/fabric.rs"]
pub(crate) mod fabric;
#[path = "../../../benches/real/start.rs"]
pub(crate) mod start;
