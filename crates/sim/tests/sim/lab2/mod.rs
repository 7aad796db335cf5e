//! Rings of Lab2 in the simulated world: every fault met, and what the kernel and the world do to frames and processes.

mod apart;
mod faults;
mod schedules;
mod troubles;
mod world;
