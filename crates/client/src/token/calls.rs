//! The methods of a session that send a request and wait for the result.

use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::ftn::client::{ClientState, Command, Event, Loss, Refusal};
use ring_proto::time::Instant;
use ring_runtime::clock;

use super::session::Wake;
use super::{Error, Session, WaitLimits};

/// Maximum time to wait for the confirmation of a withdrawal.
const WITHDRAW_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time to wait for the answer to LOGOUT. The client sends LOGOUT three times within 0.7 s.
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(2);

/// A granted token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The fencing number. It is larger than the fencing number of every earlier grant of the token.
    pub fence: u128,
    /// The token's data.
    pub data: Vec<u8>,
}

enum RequestOutcome {
    Granted(Grant),
    Refused(Refusal),
    Lost,
}

impl Session {
    /// Waits until the session is live, but at most `timeout`.
    ///
    /// # Errors
    /// Fails if the session is not live in time, or if the wait is interrupted.
    pub fn log_in(&mut self, timeout: Duration) -> Result<(), Error> {
        let by = clock::now().monotonic + timeout;
        while self.live_since().is_none() {
            match self.step(Some(by))? {
                Some(Wake::Ready) => return Err(Error::Interrupted),
                Some(Wake::TimedOut) if self.live_since().is_none() => {
                    return Err(Error::NoSession {
                        after: timeout,
                        obstacle: self.obstacle(),
                    });
                }
                _ => {}
            }
        }
        while self
            .take(|event| matches!(event, Event::Live { .. }))
            .is_some()
        {}
        Ok(())
    }

    /// Requests a token. Waits for the session, and then for the grant. If the session is lost during the wait, the
    /// request continues in a new session.
    ///
    /// # Errors
    /// Fails if the token is not granted in time, or if the wait is interrupted. In these cases, the client withdraws
    /// the request. Also fails if no session is live in time, or if the name is invalid.
    pub fn acquire(
        &mut self,
        name: &[u8],
        access: Access,
        limits: WaitLimits,
    ) -> Result<Grant, Error> {
        let began = clock::now().monotonic;
        loop {
            self.log_in(limits.session())?;
            let (Some(live), Some(id)) = (self.live_since(), self.id()) else {
                continue;
            };
            // A late answer to an earlier request must not count as the answer to this request.
            while self.take(|event| is_about(event, name)).is_some() {}
            self.request(name, access)?;
            let by = limits.grant_deadline(began, live);
            match self.wait_for(by, |event| request_outcome(event, name, id)) {
                Ok(Some(RequestOutcome::Granted(grant))) => return Ok(grant),
                Ok(Some(RequestOutcome::Refused(Refusal::NotLive) | RequestOutcome::Lost)) => {}
                Ok(Some(RequestOutcome::Refused(refusal))) => return Err(Error::Refused(refusal)),
                Ok(None) => {
                    self.withdraw(name)?;
                    return Err(Error::NotGranted);
                }
                Err(Error::Interrupted) => {
                    self.withdraw(name)?;
                    return Err(Error::Interrupted);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Releases a token and waits for the confirmation. If `data` is given, also sets the token's data. The wait also
    /// ends when the lease ends.
    ///
    /// # Errors
    /// Fails if the token is not held. Also fails if the session is lost. Then it is unknown whether the data were set.
    pub fn release(&mut self, name: &[u8], data: Option<&[u8]>) -> Result<(), Error> {
        let id = self.id();
        self.command(release_command(name, data))?;
        let outcome = self.wait_for_unwatched(None, |event| release_outcome(event, name, id))?;
        outcome.unwrap_or(Ok(()))
    }

    /// Releases a token as [`release`](Self::release) does, but waits at most until `by`. The wait also ends when the
    /// watched descriptor becomes readable.
    ///
    /// # Errors
    /// Fails with the errors of [`release`](Self::release). Also fails if the confirmation does not come in time, or if
    /// the wait is interrupted. If the confirmation does not come, the client gives up the token, and it is unknown
    /// whether the data were set.
    pub fn release_by(
        &mut self,
        name: &[u8],
        data: Option<&[u8]>,
        by: Option<Instant>,
    ) -> Result<(), Error> {
        let id = self.id();
        self.command(release_command(name, data))?;
        match self.wait_for(by, |event| release_outcome(event, name, id)) {
            Ok(Some(outcome)) => outcome,
            Ok(None) => {
                self.withdraw(name)?;
                Err(Error::NotConfirmed)
            }
            Err(Error::Interrupted) => {
                self.withdraw(name)?;
                Err(Error::Interrupted)
            }
            Err(error) => Err(error),
        }
    }

    /// Gives up a held or requested token, and waits up to a second for the confirmation.
    ///
    /// # Errors
    /// Fails only if a system call fails.
    pub fn withdraw(&mut self, name: &[u8]) -> Result<(), Error> {
        let id = self.id();
        let name: Box<[u8]> = name.into();
        self.command(Command::Cancel { name: name.clone() })?;
        let by = clock::now().monotonic + WITHDRAW_TIMEOUT;
        let is_over = |event: &Event| match event {
            Event::Cancelled { name: of }
            | Event::Returned { name: of }
            | Event::Refused { name: of, .. } => (*of == name).then_some(()),
            Event::Lost { session, .. } if Some(*session) == id => Some(()),
            _ => None,
        };
        self.wait_for_unwatched(Some(by), is_over).map(drop)
    }

    /// Requests a page of a server's list of tokens, and waits for the page until `by`. The page begins with the first
    /// token after the name `after`. Returns `None` if the server is DOWN or does not answer in time.
    ///
    /// # Errors
    /// Fails if the session is lost, or the wait is interrupted.
    pub fn page(
        &mut self,
        server: usize,
        after: &[u8],
        by: Instant,
    ) -> Result<Option<Box<[u8]>>, Error> {
        let id = self.id();
        let after = after.into();
        self.command(Command::List { server, after })?;
        let page = self.wait_for(Some(by), |event| match event {
            Event::Listed { server: of, page } if *of == server => Some(Ok(Some(page.clone()))),
            Event::ListingFailed { server: of } if *of == server => Some(Ok(None)),
            Event::Lost { session, loss } if Some(*session) == id => Some(Err(Error::Lost(*loss))),
            _ => None,
        })?;
        page.unwrap_or(Ok(None))
    }

    /// Ends the session, together with all its tokens and requests. Waits for the leader's answer, and returns whether
    /// it arrived. If no answer arrived, the session may continue on the servers until the client timeout has passed.
    ///
    /// # Errors
    /// Fails only if a system call fails.
    pub fn log_out(&mut self) -> Result<bool, Error> {
        if self.standing() == ClientState::Ended {
            return Ok(true);
        }
        self.command(Command::Logout)?;
        let by = clock::now().monotonic + LOGOUT_TIMEOUT;
        let confirmed = self.wait_for_unwatched(Some(by), |event| match event {
            Event::LoggedOut { confirmed } => Some(*confirmed),
            _ => None,
        })?;
        Ok(confirmed.unwrap_or(false))
    }

    /// Waits for an event as [`wait_for`](Self::wait_for) does, but does not stop when the watched descriptor becomes
    /// readable.
    fn wait_for_unwatched<T>(
        &mut self,
        by: Option<Instant>,
        wanted: impl Fn(&Event) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let watched = self.take_watched()?;
        let outcome = self.wait_for(by, wanted);
        if let Some(fd) = watched {
            self.watch(fd)?;
        }
        outcome
    }

    /// Waits until `by` for an event that `wanted` accepts. Returns `None` if no such event arrived. Other events stay
    /// in the queue.
    fn wait_for<T>(
        &mut self,
        by: Option<Instant>,
        wanted: impl Fn(&Event) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let mut wake = None;
        loop {
            if let Some(event) = self.take(|event| wanted(event).is_some()) {
                return Ok(wanted(&event));
            }
            match wake {
                Some(Wake::Ready) => return Err(Error::Interrupted),
                Some(Wake::TimedOut) => return Ok(None),
                _ => wake = self.step(by)?,
            }
        }
    }
}

/// Returns the command that releases a token. If `data` is given, the command also sets the token's data.
fn release_command(name: &[u8], data: Option<&[u8]>) -> Command {
    let name = name.into();
    match data {
        Some(data) => Command::UpdateAndRelease {
            name,
            data: data.into(),
        },
        None => Command::Release { name },
    }
}

/// Returns the outcome of a release. Returns `None` if the event is not about this release.
fn release_outcome(event: &Event, name: &[u8], id: Option<i32>) -> Option<Result<(), Error>> {
    match event {
        Event::Returned { name: of } if **of == *name => Some(Ok(())),
        Event::Refused { name: of, refusal } if **of == *name => Some(Err(match refusal {
            Refusal::NotLive => Error::Lost(Loss::LeaseOver),
            other => Error::Refused(*other),
        })),
        Event::Lost { session, loss } if Some(*session) == id => Some(Err(Error::Lost(*loss))),
        _ => None,
    }
}

/// Whether an event concerns a request for this token, or reports that the client no longer holds this token.
fn is_about(event: &Event, wanted: &[u8]) -> bool {
    match event {
        Event::Granted { name, .. }
        | Event::Revoked { name }
        | Event::UpgradeRevoked { name }
        | Event::Updated { name }
        | Event::Returned { name }
        | Event::Cancelled { name }
        | Event::Refused { name, .. } => **name == *wanted,
        _ => false,
    }
}

fn request_outcome(event: &Event, wanted: &[u8], id: i32) -> Option<RequestOutcome> {
    match event {
        Event::Granted {
            name, fence, data, ..
        } if **name == *wanted => Some(RequestOutcome::Granted(Grant {
            // The client requested a fencing number, so the grant contains one.
            fence: fence.unwrap_or_default(),
            data: data.to_vec(),
        })),
        Event::Refused { name, refusal } if **name == *wanted => {
            Some(RequestOutcome::Refused(*refusal))
        }
        Event::Lost { session, .. } if *session == id => Some(RequestOutcome::Lost),
        _ => None,
    }
}
