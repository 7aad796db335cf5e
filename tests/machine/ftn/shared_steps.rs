//! The steps that servers and clients share.

use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::time::Instant;

use super::message::ScriptedMessage;
use super::script::{Peer, SharedStep};
use crate::script::Clock;

/// A state machine with its clock, its peers and its stored state.
pub(super) trait TestedMachine {
    fn clock(&mut self) -> &mut Clock;

    fn deadline(&self) -> Option<Instant>;

    /// Wakes the state machine.
    fn wake(&mut self);

    /// Returns the sender's address and the bytes of a message, or `None` if the message cannot be encoded.
    fn encode(
        &mut self,
        from: Peer,
        to: Option<i8>,
        what: ScriptedMessage,
    ) -> Option<(SocketAddr, Vec<u8>)>;

    fn address(&self, from: Peer) -> SocketAddr;

    /// Receives a datagram.
    fn receive(&mut self, from: SocketAddr, bytes: &[u8], age: Duration);

    /// Sets whether the socket refuses all datagrams.
    fn refuse(&mut self, refuses: bool);

    /// Carries out a step of the script.
    fn apply(&mut self, step: SharedStep) {
        match step {
            SharedStep::Hear {
                from,
                to,
                what,
                age,
            } => {
                if let Some((address, bytes)) = self.encode(from, to, what) {
                    let age = Duration::from_millis(age.into());
                    let content = self.clock().0.monotonic.as_nanos();
                    for datagram in super::split_into_datagrams(bytes, content) {
                        self.receive(address, &datagram, age);
                    }
                }
            }
            SharedStep::Garbage(from, bytes) => {
                self.receive(self.address(from), &bytes, Duration::ZERO);
            }
            SharedStep::TimeOut(late) => {
                if let Some(due) = self.deadline() {
                    let late = Duration::from_millis(late.into());
                    self.clock().advance_to(due + late);
                    self.wake();
                }
            }
            SharedStep::Pass(ms) => self.advance(Duration::from_millis(ms.into())),
            SharedStep::Stall(ms) => {
                let clock = self.clock();
                clock.advance_to(clock.0.monotonic + Duration::from_millis(ms.into()));
            }
            SharedStep::ClockBack(ms) => {
                let now = &mut self.clock().0;
                now.monotonic = now.monotonic.before(Duration::from_millis(ms.into()));
            }
            SharedStep::WallClock(hours) => {
                let by = i64::from(hours) * 3_600_000_000_000;
                let now = &mut self.clock().0;
                now.wall = now.wall.saturating_add_signed(by);
            }
            SharedStep::Refuse(refuses) => self.refuse(refuses),
        }
    }

    /// Advances the clocks, and fires every timeout at its time.
    fn advance(&mut self, time: Duration) {
        let end = self.clock().0.monotonic + time;
        for calls in 0.. {
            let Some(due) = self.deadline().filter(|due| *due <= end) else {
                break;
            };
            assert!(calls < 100_000, "the state machine sets timeouts endlessly");
            self.clock().advance_to(due);
            self.wake();
        }
        self.clock().advance_to(end);
    }
}
