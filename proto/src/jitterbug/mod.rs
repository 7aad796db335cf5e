//! A node of a Jitterbug ring, as a pure state machine (`docs/jitterbug.md`).
//!
//! [`Jitterbug`] is a [`Machine`](crate::Machine) on datagrams and connections. What it is started with are
//! [`Options`]; what it is told of its network is [`Net`]; what it tells are [`Event`]s and [`Counters`]; what it shows
//! is a [`Snapshot`].
//!
//! | files | what |
//! |---|---|
//! | `machine`, `datagrams`, `saying`, `streams`, `network`, `leaving`, `outbox` | what comes in and goes out |
//! | `role`, `restore`, `token`, `gave`, `rival`, `announcements`, `company` | the states, and what is known of tokens |
//! | `turn`, `leading`, `pass`, `giving` | a leader's turn, and the giver's side of a pass |
//! | `inbound`, `exchange`, `list_reader`, `candidate` | the candidate's side |
//! | `data`, `policy` | data, and how it goes on |
//! | `nodes`, `list`, `penalties`, `peers`, `terms`, `foreign` | the other nodes |

mod announcements;
mod candidate;
mod command;
mod company;
mod counters;
mod data;
mod datagrams;
mod event;
mod exchange;
mod foreign;
mod gave;
mod giving;
mod inbound;
#[cfg(debug_assertions)]
mod invariants;
mod leading;
mod leaving;
mod list;
mod list_reader;
mod machine;
mod network;
mod nodes;
mod options;
mod outbox;
mod pass;
mod peers;
mod penalties;
pub mod policy;
mod reason;
mod restore;
mod rival;
mod role;
mod saying;
mod status;
mod streams;
mod terms;
#[cfg(test)]
mod tests;
mod token;
mod turn;

pub use command::{Command, Job, Outcome, Work};
pub use counters::Counters;
pub use event::{Acceptance, Difference, Event, Failure};
pub use machine::Jitterbug;
pub use network::{Net, Network};
pub use options::{Compute, Decide, LEAST_LEASE, MOST_LEASE, Options, OptionsError};
pub use reason::Reason;
pub use status::{NodeStatus, Snapshot, Standing, State};
