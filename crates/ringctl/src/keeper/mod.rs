//! The keeper: the process that holds a lock for other processes, and ends their work when the lock is lost.
//!
//! The keeper is a second process of this program. `ringctl run` and `ringctl lock` start the keeper in a separate
//! session and with a different name. So the keeper gets neither signals of the terminal nor signals for `ringctl`. The
//! keeper never runs the command itself. Only the keeper is connected to the daemon, so the lock lasts as long as the
//! keeper runs. If `ringctl` is stopped or killed, the keeper still ends the command in time. Start reading with
//! `begin.rs`, then `event_loop.rs`.
//!
//! The order of the messages:
//!
//! 1. `ringctl` starts the keeper and waits for [`Note::Granted`].
//! 2. `ringctl` starts the process that will become the command. The process waits at a gate (`super::gate`) and has
//!    run nothing yet. `ringctl` sends [`Order::Started`].
//! 3. If the keeper has a control group for the command, that process started in this group. If the kernel could not
//!    start it there, the keeper moves it, which takes some 20 ms. Unless the lock is lost, the keeper sends
//!    [`Note::Go`]. From this step on, a loss ends the command, even if `ringctl` is slow.
//! 4. `ringctl` opens the gate. If `ringctl` dies before this step, the gate stays shut and the waiting process ends.
//! 5. When the command ends, `ringctl` sends [`Order::Exited`]. The keeper ends all processes that the command left
//!    behind, releases the lock, and sends [`Note::Released`].
//!
//! If no daemon grants the lock, the keeper starts a process that grants it ([`Granter::Process`]). This granter sends
//! the same messages as a daemon. Below, "the daemon" also means this granter.
//!
//! `ringctl lock` has no command. After [`Order::StandAlone`], the keeper of the lock runs without a parent. The keeper
//! watches the process that the lock is bound to. Other programs find the keeper through its registration.
//!
//! For each failure, a different process ends the command:
//!
//! - `ringctl run` dies: the keeper ends the command. For the keeper, the closed connection has the same effect as
//!   [`Order::Ended`].
//! - The keeper dies: the kernel ends the command at once, because of the [life line](ring_process::Lifeline).
//!   `ringctl` ends the other processes.
//! - All processes are stopped: at the end of the lease, the kernel kills the keeper (`super::kill_timer`). When the
//!   keeper dies, the kernel also kills the command's process group.
//! - `ringctl` and the keeper die: the daemon ends the command. For this purpose, the daemon has a life line and the
//!   kill file of the control group (`backstop`).
//!
//! For the last case, the daemon gets the descriptors before the command starts
//! ([`Request::Bind`](ring_control::Request::Bind)). The daemon uses the descriptors if the keeper ends without a
//! release. With `ringctl lock --kill`, the kernel signals the bound process if its keeper is killed, or if the keeper
//! is stopped at the end of the lease.
//!
//! Without a control group, the keeper cannot end a process of another user, for example after `sudo`. The keeper
//! reports such a process, and holds the lock until the process has ended. If the lease ends before, the kill timer
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
pub(super) use messages::{Assignment, Binding, JobReports, LockId, NotAcquired, Note, Order};
pub(super) use registration::connect_keeper;
pub(super) use start::{Keeper, THIS_PROGRAM};
pub(super) use tree::{Killed, Survivor, Tree, survivor_text};

const NAME: &std::ffi::CStr = c"ringd-keeper";
