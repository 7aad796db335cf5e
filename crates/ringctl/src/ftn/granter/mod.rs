//! The granter: the process that owns the session of `ringctl token run`, and grants the token to the keeper.
//!
//! The granter is a separate process of this program. The keeper starts the granter, and sends it the requests that it
//! would send to a daemon (`super::super::keeper`). Because they are separate processes, one of them can be killed or
//! stopped without harm. If the granter is killed, the keeper ends the command before the lease ends. If the keeper is
//! killed, the kernel ends the command's process group, and the granter ends the other processes with the keeper's
//! descriptors ([`Backstops`]). When all work has ended, the granter releases the token.

mod keeper_socket;
mod token_request;

use std::ffi::CStr;
use std::io;
use std::time::Duration;

use nix::unistd::chdir;
use ring_client::token::{self, Error, Event, Session, Wake};
use ring_control::{BootClock, Grant, Loss, Refusal, Renewal, Reply, Request};
use ring_process::{Backstops, Client};
use ring_runtime::clock;
use ring_text::hex;
use rustix::process::getuid;

use super::super::client::CommonRequest;
use super::super::keeper::detach;
use super::busy;
use super::name::TokenName;
use keeper_socket::KeeperSocket;
pub(super) use token_request::TokenRequest;

pub(super) const NAME: &CStr = c"ringd-granter";
/// The reason of a refusal because other clients hold the token.
pub(super) const BUSY: &str = "busy";
/// The reason of a refusal because there is no session.
const NO_SESSION: &str = "no_session";
/// Maximum time to wait until killed processes have disappeared. A process that hangs in the kernel delays the next
/// holder of the token at most by this time. The keeper has the same limit.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// Returns the keeper as a client, because it passes descriptors as clients of a daemon do.
fn keeper_client() -> Client {
    Client {
        id: 0,
        pid: None,
        uid: Some(getuid().as_raw()),
    }
}

/// Runs the granter, which acquires a token for the keeper. The keeper sends its requests over standard input. The
/// granter holds the token until the keeper releases the token, or until the keeper has ended.
pub(crate) fn run_granter() -> io::Result<()> {
    detach(NAME)?;
    // Otherwise, the file system of the working directory could not be unmounted while this process runs.
    chdir("/")?;
    let mut keeper = KeeperSocket::of_stdin()?;
    let Some(request) = keeper.wait_for_first::<TokenRequest>()? else {
        return Ok(());
    };
    let last = match request.open() {
        Ok((mut session, name)) => {
            let last = serve(&mut keeper, &mut session, &request, &name);
            // Log out before the reply, so that the token is free when the keeper gets the reply. If the logout fails,
            // the servers end the session after the client timeout.
            let _ = session.log_out();
            last
        }
        Err(why) => Some(Reply::Error(why)),
    };
    if let Some(reply) = last {
        keeper.send(&reply);
    }
    Ok(())
}

/// Acquires the token and holds it. Returns the last reply to the keeper, if there is one.
fn serve(
    keeper: &mut KeeperSocket,
    session: &mut Session,
    request: &TokenRequest,
    name: &TokenName,
) -> Option<Reply> {
    let refusal = |why: &str, text| {
        Some(Reply::Refused(Refusal {
            why: why.to_owned(),
            text,
            lost: false,
        }))
    };
    let acquired = session
        .watch(&*keeper)
        .and_then(|()| session.acquire(name.bytes(), request.access(), request.wait_limits()));
    match acquired {
        Ok(grant) => {
            let holder = TokenHolder {
                keeper,
                session,
                name,
                backstops: Backstops::new(),
                is_bound: false,
            };
            holder.hold(&grant)
        }
        // The keeper sends no message before the grant. So if its socket is readable, the keeper has ended.
        Err(Error::Interrupted) => None,
        Err(Error::NotGranted) => refusal(BUSY, busy::busy_text(session, name)),
        Err(error @ Error::NoSession { .. }) => refusal(NO_SESSION, error.to_string()),
        Err(error) => Some(Reply::Error(error.to_string())),
    }
}

struct TokenHolder<'a> {
    keeper: &'a mut KeeperSocket,
    session: &'a mut Session,
    name: &'a TokenName,
    backstops: Backstops,
    /// Whether the keeper has passed its descriptors. If so, the work of the keeper may have begun.
    is_bound: bool,
}

enum KeeperState {
    Holding,
    /// The keeper released the token after the end of its work.
    Done,
    /// The keeper ended without ending its work.
    Ended,
}

impl TokenHolder<'_> {
    fn hold(mut self, grant: &token::Grant) -> Option<Reply> {
        let (Some(id), Some(until)) = (self.session.id(), self.session.lease()) else {
            return Some(Reply::Error("the session was lost at once".to_owned()));
        };
        self.keeper.send(&Reply::Granted(Grant {
            token: None,
            fencing: grant.fence.to_string(),
            grade: None,
            data: hex::encode(&grant.data),
            until_ns: until.as_nanos(),
            // The clock of this process is right for the lease, because the work is in the same time namespace.
            clock: clock::boot_clock_offset()
                .ok()
                .map(|(boot, offset_ns)| BootClock { boot, offset_ns }),
        }));
        loop {
            let wake = match self.session.next(None) {
                Ok(Wake::Event(Event::Lost { session, loss })) if session == id => {
                    Err(Error::Lost(loss))
                }
                other => other,
            };
            match wake {
                Ok(Wake::Renewed) => {
                    let lease = self
                        .session
                        .lease()
                        .filter(|_| self.session.id() == Some(id));
                    if let Some(until) = lease {
                        let until_ns = until.as_nanos();
                        self.keeper.send(&Reply::Renewed(Renewal { until_ns }));
                    }
                }
                Ok(Wake::Ready) => match self.handle_requests() {
                    KeeperState::Holding => {}
                    KeeperState::Done => return Some(self.release()),
                    KeeperState::Ended => {
                        self.end_work();
                        return None;
                    }
                },
                Ok(Wake::Event(_) | Wake::TimedOut) => {}
                Err(error) => return self.on_session_lost(&error),
            }
        }
    }

    /// Receives the keeper's requests and answers them.
    fn handle_requests(&mut self) -> KeeperState {
        self.keeper.receive();
        while let Some(request) = self.keeper.next::<CommonRequest>() {
            match request {
                Ok(Request::Bind) => {
                    self.is_bound = true;
                    let descriptors = self.keeper.descriptors();
                    let reply = match self.backstops.store(keeper_client(), descriptors) {
                        Ok(()) => Reply::Done {},
                        Err(why) => Reply::Error(why.to_owned()),
                    };
                    self.keeper.send(&reply);
                }
                Ok(Request::Unlock { .. }) => {
                    self.backstops.cancel(keeper_client().id);
                    return KeeperState::Done;
                }
                _ => {
                    let text = "ringd-granter does not know this request";
                    self.keeper.send(&Reply::Error(text.to_owned()));
                }
            }
        }
        if self.keeper.has_ended() {
            KeeperState::Ended
        } else {
            KeeperState::Holding
        }
    }

    fn release(&mut self) -> Reply {
        // Ignore a loss of the session, because it frees the token too.
        let _ = self.session.release(self.name.bytes(), None);
        Reply::Unlocked {}
    }

    /// Ends the work of a keeper that has ended. Then holds the token until the processes of the work have had time to
    /// disappear.
    fn end_work(&mut self) {
        self.backstops.end(keeper_client().id);
        let by = clock::now().monotonic + EXIT_GRACE;
        // Stop watching the socket of the keeper: a closed socket stays readable, and would end each wait at once.
        let mut holds = self.is_bound && self.session.unwatch().is_ok();
        while holds {
            let wake = self.session.next(Some(by));
            let is_over = matches!(
                wake,
                Ok(Wake::TimedOut | Wake::Event(Event::Lost { .. })) | Err(_)
            );
            holds = !is_over;
        }
        let _ = self.session.release(self.name.bytes(), None);
    }

    /// Handles the loss of the session. The keeper ends its work before the lease ends, and the granter waits for this
    /// end.
    fn on_session_lost(mut self, error: &Error) -> Option<Reply> {
        self.keeper.send(&Reply::Lost(Loss {
            why: "session".to_owned(),
            text: error.to_string(),
            until_ns: clock::now().monotonic.as_nanos(),
        }));
        let _ = self.session.log_out();
        loop {
            match self.handle_requests() {
                KeeperState::Holding => {}
                KeeperState::Done => return Some(Reply::Unlocked {}),
                KeeperState::Ended => {
                    self.backstops.end(keeper_client().id);
                    return None;
                }
            }
        }
    }
}
