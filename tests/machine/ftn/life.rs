//! What happens to servers and clients alike.

use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::time::Instant;

use super::said::What;
use super::script::{Common, Peer};
use crate::script::Clock;

/// A machine with what it needs to live.
pub(super) trait Subject {
    fn clock(&mut self) -> &mut Clock;

    /// When it is to be woken.
    fn due(&self) -> Option<Instant>;

    /// Wakes it.
    fn wake(&mut self);

    /// What a peer says, as its address and bytes; `None`: it cannot be said.
    fn encode(&mut self, from: Peer, to: Option<i8>, what: What) -> Option<(SocketAddr, Vec<u8>)>;

    /// The address of a peer.
    fn address(&self, from: Peer) -> SocketAddr;

    /// Has it hear a datagram.
    fn hear(&mut self, from: SocketAddr, bytes: &[u8], age: Duration);

    /// Its socket takes nothing, or takes everything again.
    fn refuse(&mut self, refuses: bool);

    /// Has it live through a step.
    fn live(&mut self, step: Common) {
        match step {
            Common::Hear {
                from,
                to,
                what,
                age,
            } => {
                if let Some((address, bytes)) = self.encode(from, to, what) {
                    let age = Duration::from_millis(age.into());
                    let content = self.clock().0.monotonic.as_nanos();
                    for datagram in super::in_datagrams(bytes, content) {
                        self.hear(address, &datagram, age);
                    }
                }
            }
            Common::Garbage(from, bytes) => self.hear(self.address(from), &bytes, Duration::ZERO),
            Common::TimeOut(late) => {
                if let Some(due) = self.due() {
                    let late = Duration::from_millis(late.into());
                    self.clock().advance_to(due + late);
                    self.wake();
                }
            }
            Common::Pass(ms) => self.pass(Duration::from_millis(ms.into())),
            Common::StandStill(ms) => {
                let clock = self.clock();
                clock.advance_to(clock.0.monotonic + Duration::from_millis(ms.into()));
            }
            Common::ClockBack(ms) => {
                let now = &mut self.clock().0;
                now.monotonic = now.monotonic.before(Duration::from_millis(ms.into()));
            }
            Common::WallClock(hours) => {
                let by = i64::from(hours) * 3_600_000_000_000;
                let now = &mut self.clock().0;
                now.wall = now.wall.saturating_add_signed(by);
            }
            Common::Refuse(refuses) => self.refuse(refuses),
        }
    }

    /// Lets time pass, with every time-out at its time.
    fn pass(&mut self, time: Duration) {
        let end = self.clock().0.monotonic + time;
        for calls in 0.. {
            let Some(due) = self.due().filter(|due| *due <= end) else {
                break;
            };
            assert!(calls < 100_000, "it wants to be called without end");
            self.clock().advance_to(due);
            self.wake();
        }
        self.clock().advance_to(end);
    }
}
