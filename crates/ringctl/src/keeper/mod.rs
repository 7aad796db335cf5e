//! The keeper: the process that holds a lock for others, and ends their work when it is lost.
//!
//! It is this program again, started by `ringctl run` and `ringctl lock`, in a session of its own
//! and under another name, so that neither the terminal nor a signal for `ringctl` reaches it. It
//! has the connection to the daemon; nobody else has. So the lock lasts as long as the keeper,
//! and whatever becomes of the one who has started it, stopped or killed, the keeper is there to
//! end the command in time. That is why it is a process at all: a `ringctl` that is stopped could
//! not do it.
//!
//! Who waits for whom:
//!
//! 1. `ringctl` starts the keeper and waits for [`Note::Granted`].
//! 2. It makes the process that will be the command, which waits at a gate (`super::gate`) and
//!    has run nothing yet, and says [`Order::Started`].
//! 3. The keeper puts that process where it can end all that comes of it, and says [`Note::Go`],
//!    but only if the lock is not lost. From here on a loss hits the command, whoever is slow.
//! 4. `ringctl` opens the gate. If it dies before, the gate stays shut and its process ends.
//! 5. When the command has ended, `ringctl` says [`Order::Exited`]; the keeper ends what the
//!    command has left behind, gives the lock back and says [`Note::Released`].
//!
//! Where no daemon grants the lock the keeper starts a process that does ([`Granter::Process`]), and speaks with it in the
//! same words. It stands for the daemon in all that follows.
//!
//! For `ringctl lock` there is no command. There the keeper is left alone after
//! [`Order::StandAlone`], watches the process that the lock is bound to, and is found again
//! through its registration.
//!
//! If `ringctl run` is gone, its end of their conversation is closed: the keeper does what it does at
//! [`Order::Ended`]. If the keeper is gone, so is the lock: the kernel kills the command at once, and
//! `ringctl` all that has come of it.
//!
//! What has become another user, by `sudo` as a rule, cannot be ended without a control group. The keeper
//! says so and holds the lock until that is gone, or the lease is over: then its kill timer ends it.
//!
//! Where all of them are stopped, and perhaps the whole machine, the keeper cannot end the command in
//! time. The kernel can: it kills the keeper at the end of the lease (`super::kill_timer`), and the command's
//! process group with it ([`Lifeline`](ring_process::Lifeline)). What is stopped dies without having
//! woken up.
//!
//! Where the keeper and `ringctl` are both killed, what has closed the life line or left the process
//! group would go on. So the daemon has a life line of its own, and the kill file of the command's
//! control group, from before the command starts ([`Request::Bind`](ring_control::Request::Bind)). It
//! uses them when the keeper is gone and has not given the lock back (`backstop`). In the same way the
//! kernel tells the process of `ringctl lock --kill` when its keeper is killed, or stopped until the end of
//! the lease.

mod backstop;
mod begin;
mod binding;
mod detach;
mod ending;
mod granter;
mod messages;
mod place;
mod registration;
mod reminder;
mod start;
mod tree;
mod work;

pub(crate) use begin::keep;
pub(super) use detach::detach;
pub(super) use granter::Granter;
pub(super) use messages::{Assignment, Binding, JobReports, NotAcquired, Note, Order};
pub(super) use registration::find_keeper;
pub(super) use start::{Keeper, THIS_PROGRAM};
pub(super) use tree::{Killed, Survivor, Tree, out_of_reach};

/// The name that a keeper goes by.
const NAME: &std::ffi::CStr = c"ringd-keeper";
