//! Simulations of Lab2: every fault, and the effects of the kernel on frames and processes.

mod apart;
mod faults;
mod schedules;
mod troubles;
mod world;
