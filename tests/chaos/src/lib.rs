#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "only tests and benchmarks of this repository use the crate"
)]
#![allow(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "a run prints its errors, and may ignore getters' results"
)]
//! Causes faults in a ring of real daemons, and checks the recorded frames.
//!
//! [`run::run`] starts eight `ringd`s, two members of a second implementation and a stranger on a switch. A seed
//! determines the plan of faults. The run leaves recordings, logs and a journal in a folder. [`check::check`] reads
//! such a folder. The check finds violations of the promises of `docs/reference/lab2/promises.md`, and [`report::text`]
//! describes the violations.

pub mod burners;
pub mod check;
pub mod conform;
pub mod fault;
pub mod journal;
pub mod member;
pub mod observers;
pub mod plan;
pub mod recording;
pub mod report;
pub mod rig;
pub mod run;
pub mod stations;
pub mod stranger;
