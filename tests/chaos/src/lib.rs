#![forbid(unsafe_code)]
#![allow(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "a run ends with an error's own words, and a look that nobody uses harms none"
)]
//! A ring of real daemons that is broken on purpose, and what the frames say of it afterwards.
//!
//! [`run::run`] lets eight `ringd`s, two members by a second implementation and a stranger live on
//! a switch, breaks them by a plan from a seed, and leaves recordings, logs and a journal in a
//! folder. [`check::check`] reads such a folder, then or later, and tells what broke the invariants
//! of `docs/protocol.md`, section 5; [`report::text`] says it.

pub mod burn;
pub mod cast;
pub mod check;
pub mod fault;
pub mod journal;
pub mod member;
pub mod plan;
pub mod recording;
pub mod report;
pub mod run;
pub mod stage;
pub mod stranger;
pub mod watch;
