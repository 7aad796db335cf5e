//! The simulated world, as those see it who use it: the same run for the same seed, every fault
//! met, every schedule that once failed kept.

mod andrews;
mod command;
mod faults;
mod ftn;
mod jitterbug;
mod note;
mod schedules;
mod troubles;
mod world;
