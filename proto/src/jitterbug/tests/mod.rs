//! The rules of `docs/jitterbug.md`, a test each, on the machine that ships. Everything is taken from the page, but for
//! token ids, which are set where a rule is about which is the larger one.

mod rig;
mod world;

mod announcements;
mod bad_input;
mod candidate_side;
mod candidates;
mod chaos;
mod counter_examples;
mod cuts;
mod data;
mod datagrams;
mod lists;
mod network;
mod options;
mod pass;
mod restore;
mod rings;
mod shutdown;
mod stall;
mod turn;
