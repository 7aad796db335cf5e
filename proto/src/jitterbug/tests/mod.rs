//! The rules of `docs/jitterbug.md`, a test each, on the machine that ships. Everything is taken from the page, but for
//! token ids, which are set where a rule is about which is the larger one.
//!
//! | section | files |
//! |---|---|
//! | 1, 2 | `options`, `network`, `lists`, `restore` |
//! | 3 | `restore` |
//! | 4 | `datagrams` |
//! | 5 | `turn`, `candidates`, `stall`, `shutdown` |
//! | 6, 7 | `pass`, `candidate_side`; `cuts` for both sides together |
//! | 8 | `announcements` |
//! | 9 | `data` |
//! | 10 | `lists` |
//! | 11 | `bad_input`; `rings` for what must hold of all nodes, which the simulator shows in worlds where things go wrong |
//! | 12 | the counter-examples and the differences from the design are beside the rules that they have made |
//!
//! What a machine cannot show is tested with the program: of section 1 the command line and the sockets, and of 11 the
//! status, in `src/system/jitterbug/` and `tests/network/jitterbug/`; of 9 the commands, in `src/system/jitterbug/programs.rs`; of 5 to 7
//! the order of input, the lingering and the look at errors, in `crates/runtime/src/driver/` and `crates/runtime/src/net/tcp.rs`.

mod prelude;
pub(super) mod rig;
mod world;

mod announcements;
mod bad_input;
mod candidate_side;
mod candidates;
mod cuts;
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
