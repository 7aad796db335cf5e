//! The keeper: the process that holds a lock for others, and ends their work when the lock is lost.
//!
//! The keeper is this program again. `ringctl run` and `ringctl lock` start it in its own session and under another
//! name, so that neither the terminal nor a signal for `ringctl` reaches it. It never runs the command itself. Only the
//! keeper has the connection to the daemon, so the lock lasts as long as the keeper. If `ringctl` is stopped or killed,
//! the keeper still ends the command in time. Start reading with `begin.rs`, then `event_loop.rs`.
//!
//! The order of the messages:
//!
//! 1. `ringctl` starts the keeper and waits for [`Note::Granted`].
//! 2. `ringctl` starts the process that will become the command. It waits at a gate (`super::gate`) and has run nothing
//!    yet. `ringctl` sends [`Order::Started`].
//! 3. The keeper puts that process into its control group, if there is one, and sends [`Note::Go`] unless the lock is lost. From here on a
//!    loss ends the command, even if `ringctl` is slow.
//! 4. `ringctl` opens the gate. If `ringctl` dies before, the gate stays shut and its process ends.
//! 5. When the command has ended, `ringctl` sends [`Order::Exited`]. The keeper ends all processes that the command has
//!    left behind, releases the lock and sends [`Note::Released`].
//!
//! If no daemon grants the lock, the keeper starts a process that does ([`Granter::Process`]). That process sends the
//! same messages as a daemon, and takes the daemon's place in the rest of this page.
//!
//! `ringctl lock` has no command. After [`Order::StandAlone`] its keeper runs without a parent, and watches the process
//! that the lock is bound to. Other programs find the keeper by its registration.
//!
//! The failures, and the process that ends the command:
//!
//! | failure | the command is ended by |
//! |---|---|
//! | `ringctl run` dies | the keeper: a closed connection has the effect of [`Order::Ended`] |
//! | the keeper dies | the kernel at once, by the [life line](ring_process::Lifeline); `ringctl` ends the other processes |
//! | all processes are stopped | the kernel: it kills the keeper at the end of the lease (`super::kill_timer`), and so the command's process group |
//! | `ringctl` and the keeper die | the daemon, by a life line and the kill file of the control group (`backstop`) |
//!
//! The daemon gets the descriptors for the last row before the command starts
//! ([`Request::Bind`](ring_control::Request::Bind)), and uses them if the keeper ends without a release. In the same way
//! the kernel signals the process of `ringctl lock --kill` if its keeper is killed, or stopped until the end of the lease.
//!
//! Without a control group, the keeper cannot end a process that runs as another user, for example after `sudo`. Then it
//! reports that process, and holds the lock until the process or the lease ends. At the end of the lease the kill timer
//! kills the keeper.

mod backstop;
mod begin;
mod binding;
mod detach;
mod event_loop;
mod granter;
mod messages;
mod private_path;
mod registration;
mod start;
mod termination;
mod tree;
mod warned_once;

pub(crate) use begin::run_keeper;
pub(super) use detach::detach;
pub(super) use granter::Granter;
pub(super) use messages::{Assignment, Binding, JobReports, NotAcquired, Note, Order};
pub(super) use registration::connect_keeper;
pub(super) use start::{Keeper, THIS_PROGRAM};
pub(super) use tree::{Killed, Survivor, Tree, survivor_text};

const NAME: &std::ffi::CStr = c"ringd-keeper";
