//! `ringctl` as its users see it: real processes, signals and terminals, and a daemon that does
//! what the test says (`docs/control.md`).

mod fake;
mod guarding;
mod leaving;
mod locking;
mod loss;
mod program;
mod requests;
mod running;
mod signals;
mod silence;
mod stranger;
mod sudo;
mod terminal;
