//! Tests of the rules of `docs/jitterbug/protocol/` on the state machine. Start with `rig.rs`, one node in virtual
//! time. If a rule depends on the larger id, the test sets the token ids.
//!
//! | rules | files |
//! |---|---|
//! | O, A | `options`, `network` |
//! | T, F | `terms`, `leases` |
//! | R | `restore` |
//! | M | `datagrams` |
//! | L, K, S, H | `turn`, `candidates`, `stall`, `shutdown` |
//! | P, C | `pass`, `candidate_side`; `broken_passes` for both sides together |
//! | N | `announcements` |
//! | D, E | `data`, `lists` |
//! | X | `bad_input` |
//! | Q | `rings` for the promises about whole rings, which the simulator tests with faults |
//!
//! Each decision of `docs/appendix/decisions/jitterbug/` is tested in the file that tests its rule.
//!
//! Other tests use the program:
//! - `src/system/jitterbug/` and `tests/network/jitterbug/`: the command line, the sockets and the status
//! - `src/system/jitterbug/programs.rs`: the commands of D1 and D6
//! - `crates/runtime/src/driver/` and `crates/runtime/src/net/tcp.rs`: the order of inputs, lingering connections, and
//!   the errors in S5 to S8 and P4 to P7

mod prelude;
pub(super) mod rig;
mod segment;

mod announcements;
mod bad_input;
mod broken_passes;
mod candidate_side;
mod candidates;
mod data;
mod datagrams;
mod leases;
mod lists;
mod network;
mod options;
mod pass;
mod restore;
mod rings;
mod shutdown;
mod stall;
mod terms;
mod turn;
mod vectors;
