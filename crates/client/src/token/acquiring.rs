//! Calls that wait for their outcome.

use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::ftn::client::{Command, Event, Loss, Refusal, Standing};
use ring_proto::time::Instant;
use ring_runtime::clock;

use super::session::Wake;
use super::{Error, Session, WaitLimits};

/// How long the confirmation is waited for that a request is withdrawn.
const WITHDRAWN: Duration = Duration::from_secs(1);
/// The same for the answer to LOGOUT, which the client sends three times within 0.7 s.
const LOGGED_OUT: Duration = Duration::from_secs(2);

/// A token as it was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The fencing number, larger than that of any earlier grant of the token.
    pub fence: u128,
    /// The token's data.
    pub data: Vec<u8>,
}

/// What a request has come to.
enum Answer {
    Granted(Grant),
    Refused(Refusal),
    Lost,
}

impl Session {
    /// Waits until the session is live, for as long as `patience` at most.
    ///
    /// # Errors
    /// No session comes about in time, or the wait is interrupted.
    pub fn log_in(&mut self, patience: Duration) -> Result<(), Error> {
        let by = clock::now().monotonic + patience;
        while self.live_since().is_none() {
            match self.step(Some(by))? {
                Some(Wake::Ready) => return Err(Error::Interrupted),
                Some(Wake::Late) if self.live_since().is_none() => {
                    return Err(Error::NoSession {
                        after: patience,
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

    /// Requests a token and waits until it is granted, in a session that it waits for as well. One that is lost
    /// meanwhile is replaced.
    ///
    /// # Errors
    /// It is not granted in time, or the wait is interrupted: the request is withdrawn. Or there is no session, or the
    /// name is wrong.
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
            // What came late of an earlier request is no answer to this one.
            while self.take(|event| is_about(event, name)).is_some() {}
            self.request(name, access)?;
            let by = limits.grant_by(began, live);
            match self.wait_for(by, |event| answer(event, name, id)) {
                Ok(Some(Answer::Granted(grant))) => return Ok(grant),
                Ok(Some(Answer::Refused(Refusal::NotLive) | Answer::Lost)) => {}
                Ok(Some(Answer::Refused(refusal))) => return Err(Error::Refused(refusal)),
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

    /// Gives a token back, with new data if there are any, and waits for the confirmation: for no longer than the
    /// lease.
    ///
    /// # Errors
    /// The session is lost, and it is not known whether the data were set; or the token is not held.
    pub fn release(&mut self, name: &[u8], data: Option<&[u8]>) -> Result<(), Error> {
        let id = self.id();
        self.command(returning(name, data))?;
        let outcome = self.wait_for_unwatched(None, |event| returned(event, name, id))?;
        outcome.unwrap_or(Ok(()))
    }

    /// Gives a token back as [`release`](Self::release) does, but waits until `by` at most, and lets the watched descriptor end the wait.
    ///
    /// # Errors
    /// The same, or the confirmation does not come in time, or the wait is interrupted: the token is given up, and it is not known
    /// whether the data were set.
    pub fn release_by(
        &mut self,
        name: &[u8],
        data: Option<&[u8]>,
        by: Option<Instant>,
    ) -> Result<(), Error> {
        let id = self.id();
        self.command(returning(name, data))?;
        match self.wait_for(by, |event| returned(event, name, id)) {
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

    /// Gives up whatever there is of a token, held or not, and waits a second for the confirmation.
    ///
    /// # Errors
    /// The system refuses.
    pub fn withdraw(&mut self, name: &[u8]) -> Result<(), Error> {
        let id = self.id();
        let name: Box<[u8]> = name.into();
        self.command(Command::Cancel { name: name.clone() })?;
        let by = clock::now().monotonic + WITHDRAWN;
        let is_over = |event: &Event| match event {
            Event::Cancelled { name: of }
            | Event::Returned { name: of }
            | Event::Refused { name: of, .. } => (*of == name).then_some(()),
            Event::Lost { session, .. } if Some(*session) == id => Some(()),
            _ => None,
        };
        self.wait_for_unwatched(Some(by), is_over).map(drop)
    }

    /// Asks a server for a page of its tokens, those after a name, and waits for it until `by`. `None`: the server is DOWN,
    /// or does not answer in time.
    ///
    /// # Errors
    /// The session is lost, or the wait is interrupted.
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

    /// Ends the session, with all that it holds and awaits, and waits for the leader's answer. Returns whether that
    /// came; if not, the servers find out a client timeout later.
    ///
    /// # Errors
    /// The system refuses.
    pub fn log_out(&mut self) -> Result<bool, Error> {
        if self.standing() == Standing::Ended {
            return Ok(true);
        }
        self.command(Command::Logout)?;
        let by = clock::now().monotonic + LOGGED_OUT;
        let confirmed = self.wait_for_unwatched(Some(by), |event| match event {
            Event::LoggedOut { confirmed } => Some(*confirmed),
            _ => None,
        })?;
        Ok(confirmed.unwrap_or(false))
    }

    /// Waits for an event until `by`, whatever the watched descriptor does.
    fn wait_for_unwatched<T>(
        &mut self,
        by: Option<Instant>,
        wanted: impl Fn(&Event) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let watched = self.lend_watched()?;
        let outcome = self.wait_for(by, wanted);
        if let Some(fd) = watched {
            self.watch(fd)?;
        }
        outcome
    }

    /// Waits for an event until `by`; `None`: it has not come. Others stay for who takes them.
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
                Some(Wake::Late) => return Ok(None),
                _ => wake = self.step(by)?,
            }
        }
    }
}

/// The command that gives a token back, with new data if there are any.
fn returning(name: &[u8], data: Option<&[u8]>) -> Command {
    let name = name.into();
    match data {
        Some(data) => Command::UpdateAndRelease {
            name,
            data: data.into(),
        },
        None => Command::Release { name },
    }
}

/// Whether an event says that a token is given back, or cannot be.
fn returned(event: &Event, name: &[u8], id: Option<i32>) -> Option<Result<(), Error>> {
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

/// Whether an event is about a request for this token, or its end.
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

fn answer(event: &Event, wanted: &[u8], id: i32) -> Option<Answer> {
    match event {
        Event::Granted {
            name, fence, data, ..
        } if **name == *wanted => Some(Answer::Granted(Grant {
            // It was asked for.
            fence: fence.unwrap_or_default(),
            data: data.to_vec(),
        })),
        Event::Refused { name, refusal } if **name == *wanted => Some(Answer::Refused(*refusal)),
        Event::Lost { session, .. } if *session == id => Some(Answer::Lost),
        _ => None,
    }
}
