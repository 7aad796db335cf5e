//! The granter: the process that has the session of a `ringctl token run`, and grants the token to its keeper.
//!
//! It is this program again, started by the keeper, which speaks with it as with a daemon (`super::super::keeper`). It is
//! another process than the keeper so that either can be killed or stopped: if this one is, the keeper ends the command
//! before the lease does; if the keeper is, the kernel ends the command's process group, and the granter all else that it
//! was [handed](Backstops) for that. Then it gives the token back.

mod port;
mod wanted;

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

use super::super::client::Plain;
use super::super::keeper::detach;
use super::holders;
use super::name::Name;
use port::Port;
pub(super) use wanted::Wanted;

/// The name that a granter goes by.
pub(super) const NAME: &CStr = c"ringd-granter";
/// The reason of a refusal for a token that others hold.
pub(super) const BUSY: &str = "busy";
/// The reason of a refusal where there is no session.
const NO_SESSION: &str = "no_session";
/// How long a keeper's work may take to die of its SIGKILL. One that hangs in the kernel does not delay the token's
/// next holder for longer, as where the keeper itself ends it.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// The keeper, as who hands descriptors over.
fn keeper() -> Client {
    Client {
        id: 0,
        pid: None,
        uid: Some(getuid().as_raw()),
    }
}

/// Asks for a token for the keeper, which speaks to this process over standard input, and holds it until the keeper says that it is
/// enough, or is gone.
///
/// # Errors
/// A system call failed that does not fail on a healthy system.
pub(crate) fn grant() -> io::Result<()> {
    detach(NAME)?;
    // It must not keep a file system busy.
    chdir("/")?;
    let mut port = Port::of_stdin()?;
    let Some(wanted) = port.wait::<Wanted>()? else {
        return Ok(());
    };
    let last = match wanted.open() {
        Ok((mut session, name)) => {
            let last = serve(&mut port, &mut session, &wanted, &name);
            // The token is free before the keeper is told so. Who is not heard is logged out by the servers' clock.
            let _ = session.log_out();
            last
        }
        Err(why) => Some(Reply::Error(why)),
    };
    if let Some(reply) = last {
        port.say(&reply);
    }
    Ok(())
}

/// Asks for the token and holds it. Returns what is to be said last, if the keeper is there.
fn serve(port: &mut Port, session: &mut Session, wanted: &Wanted, name: &Name) -> Option<Reply> {
    let refusal = |why: &str, text| {
        Some(Reply::Refused(Refusal {
            why: why.to_owned(),
            text,
            lost: false,
        }))
    };
    let acquired = session
        .watch(&*port)
        .and_then(|()| session.acquire(name.bytes(), wanted.access(), wanted.wait_limits()));
    match acquired {
        Ok(grant) => {
            let holder = Holder {
                port,
                session,
                name,
                backstops: Backstops::new(),
                is_bound: false,
            };
            holder.hold(&grant)
        }
        // Before the grant a keeper says nothing, but may be gone.
        Err(Error::Interrupted) => None,
        Err(Error::NotGranted) => refusal(BUSY, holders::busy(session, name)),
        Err(error @ Error::NoSession { .. }) => refusal(NO_SESSION, error.to_string()),
        Err(error) => Some(Reply::Error(error.to_string())),
    }
}

/// A granter whose token is held.
struct Holder<'a> {
    port: &'a mut Port,
    session: &'a mut Session,
    name: &'a Name,
    backstops: Backstops,
    /// Whether work may have begun.
    is_bound: bool,
}

/// What the keeper is there for.
enum Keeper {
    /// It holds the token.
    Holds,
    /// It has ended the work, or has none.
    Done,
    /// It is gone, and has not ended the work.
    Gone,
}

impl Holder<'_> {
    fn hold(mut self, grant: &token::Grant) -> Option<Reply> {
        let (Some(id), Some(until)) = (self.session.id(), self.session.lease()) else {
            return Some(Reply::Error("the session was lost at once".to_owned()));
        };
        self.port.say(&Reply::Granted(Grant {
            token: None,
            fencing: grant.fence.to_string(),
            grade: None,
            data: hex::encode(&grant.data),
            until_ns: until.as_nanos(),
            // It is this process that asks the servers, in the time namespace of the work.
            clock: clock::of_boot()
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
                        self.port.say(&Reply::Renewed(Renewal { until_ns }));
                    }
                }
                Ok(Wake::Ready) => match self.hear() {
                    Keeper::Holds => {}
                    Keeper::Done => return Some(self.release()),
                    Keeper::Gone => {
                        self.end_work();
                        return None;
                    }
                },
                Ok(Wake::Event(_) | Wake::Late) => {}
                Err(error) => return self.lose(&error),
            }
        }
    }

    /// Hears what the keeper has said, and answers it.
    fn hear(&mut self) -> Keeper {
        self.port.receive();
        while let Some(request) = self.port.next::<Plain>() {
            match request {
                Ok(Request::Bind) => {
                    self.is_bound = true;
                    let descriptors = self.port.descriptors();
                    let reply = match self.backstops.set(keeper(), descriptors) {
                        Ok(()) => Reply::Done {},
                        Err(why) => Reply::Error(why.to_owned()),
                    };
                    self.port.say(&reply);
                }
                Ok(Request::Unlock { .. }) => {
                    self.backstops.cancel(keeper().id);
                    return Keeper::Done;
                }
                _ => {
                    let text = "a process that grants tokens does not know this request";
                    self.port.say(&Reply::Error(text.to_owned()));
                }
            }
        }
        if self.port.has_ended() {
            Keeper::Gone
        } else {
            Keeper::Holds
        }
    }

    /// The keeper has ended its work.
    fn release(&mut self) -> Reply {
        // If the session is lost by now the token is not held, which is all that is asked for.
        let _ = self.session.release(self.name.bytes(), None);
        Reply::Unlocked {}
    }

    /// The keeper is gone: ends its work, and holds the token until nothing of it can be left.
    fn end_work(&mut self) {
        self.backstops.end(keeper().id);
        let by = clock::now().monotonic + LAST_BREATH;
        // It is readable for good.
        let mut holds = self.is_bound && self.session.unwatch().is_ok();
        while holds {
            let wake = self.session.next(Some(by));
            let is_over = matches!(
                wake,
                Ok(Wake::Late | Wake::Event(Event::Lost { .. })) | Err(_)
            );
            holds = !is_over;
        }
        let _ = self.session.release(self.name.bytes(), None);
    }

    /// The session is lost. The keeper ends its work by then; here it is waited for.
    fn lose(mut self, error: &Error) -> Option<Reply> {
        self.port.say(&Reply::Lost(Loss {
            why: "session".to_owned(),
            text: error.to_string(),
            until_ns: clock::now().monotonic.as_nanos(),
        }));
        let _ = self.session.log_out();
        loop {
            match self.hear() {
                Keeper::Holds => {}
                Keeper::Done => return Some(Reply::Unlocked {}),
                Keeper::Gone => {
                    self.backstops.end(keeper().id);
                    return None;
                }
            }
        }
    }
}
