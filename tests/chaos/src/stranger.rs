//! A station that sends wrong frames: malformed frames, valid frames at the wrong time, and replays. The stranger never
//! sends a token that is stronger than the ring's token.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::{Digest, ETHERTYPE, MacAddr, Message, Node, Peer, Rng, Seen, Token, frame, now};

/// Longest time until the stranger's thread notices a new command.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of frames that are kept for replays.
const POOL_SIZE: usize = 4000;

/// Uniform random sample of the ring's frames.
#[derive(Debug, Default)]
pub struct Pool {
    frames: Mutex<(u64, Vec<Vec<u8>>)>,
}

impl Pool {
    pub fn add(&self, frames: &[Seen], rng: &mut Rng) {
        let mut pool = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        for seen in frames {
            pool.0 += 1;
            if pool.1.len() < POOL_SIZE {
                pool.1.push(seen.bytes.clone());
                continue;
            }
            let place = usize::try_from(rng.u64(..pool.0)).unwrap_or(POOL_SIZE);
            if let Some(old) = pool.1.get_mut(place) {
                old.clone_from(&seen.bytes);
            }
        }
    }

    fn pick(&self, rng: &mut Rng) -> Option<Vec<u8>> {
        let pool = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        (!pool.1.is_empty()).then(|| pool.1[rng.usize(..pool.1.len())].clone())
    }
}

#[derive(Debug, Default)]
struct Commands {
    over: AtomicBool,
    rate: AtomicU32,
}

#[derive(Debug)]
pub struct Stranger {
    commands: Arc<Commands>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Stranger {
    /// Starts a silent stranger on a node. `macs` are the addresses to which the stranger may send frames.
    pub fn start(node: &Node, macs: Vec<MacAddr>, pool: Arc<Pool>, rng: Rng) -> Result<Self> {
        let commands = Arc::new(Commands::default());
        let mut life = StrangerThread {
            peer: node.peer()?,
            macs,
            pool,
            rng,
        };
        let received = Arc::clone(&commands);
        let thread = thread::Builder::new()
            .name("stranger".to_owned())
            .spawn(move || life.run(&received))
            .context("cannot start the stranger's thread")?;
        Ok(Self {
            commands,
            thread: Some(thread),
        })
    }

    /// Sets the number of frames per second. With a number of 0, the stranger is silent.
    pub fn send(&self, rate: u32) {
        self.commands.rate.store(rate, Ordering::Relaxed);
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.commands.over.store(true, Ordering::Relaxed);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the stranger ended early: {error:#}");
        }
    }
}

struct StrangerThread {
    peer: Peer,
    macs: Vec<MacAddr>,
    pool: Arc<Pool>,
    rng: Rng,
}

impl StrangerThread {
    fn run(&mut self, commands: &Commands) -> Result<()> {
        let mut next = now();
        while !commands.over.load(Ordering::Relaxed) {
            let rate = commands.rate.load(Ordering::Relaxed);
            if rate == 0 {
                self.peer.forget()?;
                thread::sleep(POLL_INTERVAL);
                next = now();
                continue;
            }
            thread::sleep(next.saturating_sub(now()));
            next = now() + Duration::from_secs(1) / rate;
            if let Some(frame) = self.next_frame() {
                // Ignores frames that the interface refuses.
                let _ = self.peer.send_frame(&frame);
            }
        }
        Ok(())
    }

    fn next_frame(&mut self) -> Option<Vec<u8>> {
        match self.rng.u32(..3) {
            0 => malformed_frame(&mut self.rng, &self.pool, self.peer.mac()),
            1 => self.pool.pick(&mut self.rng),
            _ => Some(self.untimely_frame()),
        }
    }

    /// Returns a valid frame from the stranger's address that makes no sense at this time.
    fn untimely_frame(&mut self) -> Vec<u8> {
        let own = self.peer.mac();
        let one = self.macs[self.rng.usize(..self.macs.len())];
        // This token is weaker than any real token, because the progress of real tokens starts at the clock's value.
        let token = Token {
            progress: self.rng.u64(1..1000),
            author: own,
            number: self.rng.u32(1..9),
        };
        let digest = Digest {
            size: self.rng.u32(..20),
            hash: self.rng.u64(..),
        };
        let message = match self.rng.u32(..7) {
            0 => Message::WhereIsToken,
            1 => Message::GeneratingToken { token },
            2 => Message::TokenWasHereRecently { token, holder: one },
            3 => Message::WantToken,
            4 => Message::Leaving,
            5 => Message::Ping {
                digest,
                ip: [0; 16],
            },
            _ => Message::RingMembers {
                digest,
                members: Vec::new(),
            },
        };
        let to = if self.rng.bool() {
            one
        } else {
            MacAddr::broadcast()
        };
        frame(to, own, ETHERTYPE, &message.payload(own))
    }
}

/// Returns a frame of the ring with changed bytes, or random bytes. The independent decoder must reject the frame,
/// because a valid frame could contain a forged token.
fn malformed_frame(rng: &mut Rng, pool: &Pool, own: MacAddr) -> Option<Vec<u8>> {
    let mut bytes = pool.pick(rng)?;
    match rng.u32(..4) {
        0 => bytes.truncate(rng.usize(14..=bytes.len().max(14))),
        1 => {
            for _ in 0..rng.u32(1..6) {
                let place = rng.usize(14..bytes.len());
                bytes[place] ^= 1 << rng.u32(..8);
            }
        }
        2 => {
            let noise: Vec<u8> = (0..rng.usize(1..200)).map(|_| rng.u8(..)).collect();
            bytes = frame(MacAddr::broadcast(), own, ETHERTYPE, &noise);
        }
        // The frame names another author, but has the stranger's address as its Ethernet source.
        _ => bytes[6..12].copy_from_slice(&own.octets()),
    }
    let read = Seen::read(Duration::ZERO, 0, bytes)?;
    matches!(read.message, Message::Invalid(_)).then_some(read.bytes)
}

#[cfg(test)]
mod tests {
    use super::{Pool, malformed_frame};
    use ring_segment::{ETHERTYPE, MacAddr, Message, Rng, Seen, frame};
    use std::time::Duration;

    #[test]
    fn malformed_frames_are_invalid_for_the_independent_decoder() {
        let (one, own) = (
            MacAddr::new(2, 0, 0, 0, 0, 1),
            MacAddr::new(2, 0, 0, 0, 0, 9),
        );
        let (pool, mut rng) = (Pool::default(), Rng::with_seed(4));
        let payload = Message::WhereIsToken.payload(one);
        let bytes = frame(MacAddr::broadcast(), one, ETHERTYPE, &payload);
        let sent = Seen::read(Duration::ZERO, 0, bytes).expect("the frame is long enough");
        pool.add(&[sent], &mut rng);
        let thought_up: Vec<_> = (0..400)
            .filter_map(|_| malformed_frame(&mut rng, &pool, own))
            .collect();
        assert!(thought_up.len() > 100);
        for bytes in thought_up {
            let read = Seen::read(Duration::ZERO, 0, bytes).expect("the frame is long enough");
            assert!(matches!(read.message, Message::Invalid(_)), "{read:?}");
        }
    }
}
