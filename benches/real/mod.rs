//! Real daemons in network namespaces. The frames are not captured.

#[allow(dead_code, reason = "not every benchmark uses the token")]
pub(crate) mod client;
pub(crate) mod daemon;
pub(crate) mod fabric;
pub(crate) mod start;
#[allow(
    dead_code,
    reason = "not every benchmark measures the use of memory and CPU"
)]
pub(crate) mod usage;
