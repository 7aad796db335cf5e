//! Real daemons in network namespaces, and nothing that looks at their frames.

pub mod daemon;
pub mod fabric;
pub mod start;
