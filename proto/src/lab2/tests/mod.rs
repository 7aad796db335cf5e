//! Tests of the rules of `docs/reference/lab2/README.md`, at least one per rule, on the real state machine.
//!
//! `rig` drives one state machine: a test passes frames to the state machine and reads its frames as text. `network`
//! connects several state machines by a network that may lose, duplicate and delay frames, and may split. The expected
//! results come from the specification, never from the code.

#![allow(
    clippy::unchecked_time_subtraction,
    reason = "a test that takes too much from a timeout fails"
)]

mod named_locks;
mod network;
mod node;
mod notation;
pub(super) mod rig;

mod adjust;
mod apart_members;
mod backing;
mod cards;
mod constants;
mod data;
mod deafness;
mod duplicate_macs;
mod forming;
mod frames;
mod generating;
mod grade;
mod handover;
mod host_names;
mod invariants;
mod large_ring;
mod last_frames;
mod late_take;
mod lease;
mod looser;
mod membership;
mod once;
mod once_rig;
mod order;
mod outgrown;
mod owner;
mod pause;
mod pause_notices;
mod penalties;
mod preference;
mod problems;
mod promises;
mod reachability;
mod requests;
mod rivals;
mod sending;
mod shutdown;
mod silence;
mod silence_reports;
mod stamps;
mod storage;
mod survey;
mod sync;
mod table_broadcast;
mod transitions;
mod vectors;
mod waiter;
