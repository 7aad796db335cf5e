//! Tests of the rules of `docs/jitterbug/protocol.md` on the state machine. Start with `rig.rs`, one node in virtual
//! time. If a rule depends on the larger id, the test sets the token ids.
//!
//! | section | files |
//! |---|---|
//! | 1, 2 | `options`, `network`, `lists`, `restore` |
//! | 3 | `restore` |
//! | 4 | `datagrams` |
//! | 5 | `turn`, `candidates`, `stall`, `shutdown` |
//! | 6, 7 | `pass`, `candidate_side`; `broken_passes` for both sides together |
//! | 8 | `announcements` |
//! | 9 | `data` |
//! | 10 | `lists` |
//! | 11 | `bad_input`; `rings` for the promises about whole rings, which the simulator tests with faults |
//! | 12 | each counter-example is tested in the file that tests the rule against it |
//!
//! Other tests use the program:
//! - `src/system/jitterbug/` and `tests/network/jitterbug/`: the command line, the sockets and the status
//! - `src/system/jitterbug/programs.rs`: the commands of section 9
//! - `crates/runtime/src/driver/` and `crates/runtime/src/net/tcp.rs`: the order of inputs, lingering connections, and
//!   the errors in sections 5 to 7

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
