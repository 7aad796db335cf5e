//! Real daemons in network namespaces, and nothing that looks at their frames.

#[allow(dead_code, reason = "not every bench wants the token")]
pub mod client;
pub mod daemon;
pub mod fabric;
pub mod start;
