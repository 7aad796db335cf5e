//! Helpers for tests of jobs that run once in a period.

use super::rig::{Rig, WAITER_TIMEOUT, decode, here, mac, ms, token};
use crate::lab2::{Command, Grade, JobName, OnceProgress, OnceRequest, Stamp, State};
use crate::time::nanos;
use ring_codec::lab2::{self, Frame, Message, NO_AGE, Purpose, RunOutcome, Token};
use std::time::Duration;

pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const ID: u64 = 8;

pub(super) fn nightly() -> OnceRequest {
    OnceRequest {
        id: ID,
        name: name("nightly"),
        every: 20 * HOUR,
        retry: false,
        require: Grade::Alone,
    }
}

pub(super) fn name(text: &str) -> JobName {
    JobName::new(text).expect("a name")
}

/// Returns the stamp of a run by n3 under 10-n3-1.
pub(super) fn stamp(of: &str, outcome: RunOutcome) -> Stamp {
    Stamp {
        name: name(of),
        progress: 10,
        run: 0,
        runner: mac(3),
        outcome,
        period: 20 * HOUR,
    }
}

pub(super) fn wire_stamp(stamp: &Stamp, age: Option<Duration>) -> lab2::Stamp {
    lab2::Stamp {
        name: *stamp.name.bytes(),
        progress: stamp.progress.into(),
        run: stamp.run.into(),
        runner: stamp.runner,
        outcome: stamp.outcome as u8,
        period: nanos(stamp.period).into(),
        age: age.map_or(NO_AGE, nanos).into(),
        before: NO_AGE.into(),
    }
}

/// The token, serial number and digest of a question or an announcement.
pub(super) type Question = (Token, u32, u64);

/// Returns the last question or announcement.
pub(super) fn question(rig: &Rig) -> Question {
    let last = rig.frames.last().expect("a frame was sent");
    match decode(last).message {
        Message::Stamps {
            token,
            serial,
            digest,
            ..
        } => (token, serial, digest),
        other => panic!("no question: {other:?}"),
    }
}

pub(super) fn stamps(frame: &[u8]) -> Vec<lab2::Stamp> {
    match Frame::decode(frame).expect("a frame").message {
        Message::Stamps { stamps, .. } => stamps.to_vec(),
        other => panic!("no stamps: {other:?}"),
    }
}

pub(super) fn stamps_frame(
    (token, serial, digest): Question,
    purpose: Purpose,
    stamps: &[lab2::Stamp],
) -> Message<'_> {
    Message::Stamps {
        token,
        serial,
        purpose,
        digest,
        stamps,
    }
}

/// Receives answers from members that agree with a question.
pub(super) fn agree(rig: &mut Rig, asked: Question, members: &[u8]) -> Vec<String> {
    let mut sent = Vec::new();
    for &member in members {
        sent.extend(rig.hear(member, stamps_frame(asked, Purpose::Agree, &[])));
    }
    sent
}

/// Returns an OWNER of 11-n3-1 with work, and its question about a job that was just requested. The OWNER knows n3 and
/// n7.
pub(super) fn owner_asking(request: OnceRequest) -> (Rig, Question) {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    assert_eq!(rig.command(Command::Once(request)), ["STAMPS Ask 0 to all"]);
    let asked = question(&rig);
    (rig, asked)
}

/// Answers the question of [`owner_asking`] for all members: they know no run. Returns the OWNER and its next question,
/// which contains the new stamp.
pub(super) fn owner_writing(request: OnceRequest) -> (Rig, Question) {
    let (mut rig, asked) = owner_asking(request);
    assert_eq!(agree(&mut rig, asked, &[3, 7]), ["STAMPS Ask 1 to all"]);
    let asked = question(&rig);
    (rig, asked)
}

/// Starts the run of [`owner_asking`], and returns its OWNER.
pub(super) fn owner_running(request: OnceRequest) -> Rig {
    let (mut rig, asked) = owner_writing(request);
    agree(&mut rig, asked, &[3, 7]);
    assert_eq!(progress(&rig), Some(OnceProgress::Begun));
    rig
}

pub(super) fn progress(rig: &Rig) -> Option<OnceProgress> {
    let once = rig.machine.once_progress();
    once.map(|(id, progress)| {
        assert_eq!(id, ID);
        progress
    })
}

pub(super) fn outcome(rig: &Rig) -> RunOutcome {
    let mut runs = rig.machine.runs();
    let run = runs.find(|run| run.stamp.name == name("nightly"));
    run.expect("the run is known").stamp.outcome
}

/// Returns a WAITER that has run long enough to agree.
pub(super) fn waiter() -> Rig {
    let mut rig = Rig::waiter();
    rig.pass_time(WAITER_TIMEOUT - ms(1));
    rig.hear_all(3, here(token(10)));
    rig.pass_time(ms(50));
    assert_eq!(rig.state(), State::Waiter);
    rig
}
