//! Real daemons in network namespaces, and nothing that looks at their frames.

#[allow(dead_code, reason = "not every bench wants the token")]
pub(crate) mod client;
pub(crate) mod daemon;
pub(crate) mod fabric;
pub(crate) mod start;
