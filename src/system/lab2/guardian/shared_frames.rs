//! The last frames in the memory that the daemon shares with its guardian. Both are one program, so the bytes have no
//! fixed format:
//!
//! ```text
//!  0  interface    u32   index
//!  4  offer length u32   0 without an offer
//!  8  until        u64   end of the lease, in nanoseconds
//! 16  interval     u64   time between two attempts, in nanoseconds
//! 24  attempts     u32
//! 28  signed       u32   0 or 1
//! 32  signer       52 bytes
//! 84  lines        u32   number of life lines
//! 88  the numbers of the life lines, u64 each; the offer; the LEAVING
//! ```

use std::time::Duration;

use ring_proto::time::{Instant, nanos};
use ring_trust::LastSigner;

const SIGNER_OFFSET: usize = 32;
const LINES_OFFSET: usize = SIGNER_OFFSET + LastSigner::LEN;
const NUMBERS_OFFSET: usize = LINES_OFFSET + size_of::<u32>();

const NUMBER_LEN: usize = size_of::<u64>();

/// The last frames of a node, without their signatures.
pub(super) struct SharedFrames<'a> {
    /// Index of the interface.
    pub(super) interface: u32,
    pub(super) offer: Option<Offer<'a>>,
    pub(super) leaving: &'a [u8],
    /// Signer of the frames; `None` without keys.
    pub(super) signer: Option<LastSigner>,
    /// Numbers of the life lines of the programs that must have ended before the guardian may send the frames.
    pub(super) work_lines: Vec<u64>,
}

/// The offer of an owner.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Offer<'a> {
    /// Time after which the offer must not be sent.
    pub(super) until: Instant,
    /// Number of times that the offer is sent.
    pub(super) attempts: u32,
    /// Time between two attempts.
    pub(super) interval: Duration,
    pub(super) frame: &'a [u8],
}

impl<'a> SharedFrames<'a> {
    /// Encodes the frames. Returns the length of the encoding.
    pub(super) fn encode(&self, bytes: &mut [u8]) -> usize {
        let offer = self.offer.unwrap_or_default();
        let offer_len = u32::try_from(offer.frame.len()).unwrap_or_default();
        bytes[0..4].copy_from_slice(&self.interface.to_ne_bytes());
        bytes[4..8].copy_from_slice(&offer_len.to_ne_bytes());
        bytes[8..16].copy_from_slice(&offer.until.as_nanos().to_ne_bytes());
        bytes[16..24].copy_from_slice(&nanos(offer.interval).to_ne_bytes());
        bytes[24..28].copy_from_slice(&offer.attempts.to_ne_bytes());
        let is_signed = u32::from(self.signer.is_some());
        bytes[28..SIGNER_OFFSET].copy_from_slice(&is_signed.to_ne_bytes());
        if let Some(signer) = &self.signer {
            bytes[SIGNER_OFFSET..LINES_OFFSET].copy_from_slice(&signer.to_bytes()[..]);
        }
        let lines = u32::try_from(self.work_lines.len()).unwrap_or_default();
        bytes[LINES_OFFSET..NUMBERS_OFFSET].copy_from_slice(&lines.to_ne_bytes());
        let mut len = NUMBERS_OFFSET;
        for number in &self.work_lines {
            bytes[len..][..NUMBER_LEN].copy_from_slice(&number.to_ne_bytes());
            len += NUMBER_LEN;
        }
        for frame in [offer.frame, self.leaving] {
            bytes[len..][..frame.len()].copy_from_slice(frame);
            len += frame.len();
        }
        len
    }

    /// Decodes the frames; `None` if the bytes are no encoding.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (interface, rest) = bytes.split_first_chunk()?;
        let (offer_len, rest) = rest.split_first_chunk()?;
        let (until, rest) = rest.split_first_chunk()?;
        let (interval, rest) = rest.split_first_chunk()?;
        let (attempts, rest) = rest.split_first_chunk()?;
        let (is_signed, rest) = rest.split_first_chunk()?;
        let (signer, rest) = rest.split_first_chunk()?;
        let (lines, rest) = rest.split_first_chunk()?;
        let lines = usize::try_from(u32::from_ne_bytes(*lines)).ok()?;
        let (numbers, frames) = rest.split_at_checked(lines.checked_mul(NUMBER_LEN)?)?;
        let offer_len = usize::try_from(u32::from_ne_bytes(*offer_len)).ok()?;
        let (frame, leaving) = frames.split_at_checked(offer_len)?;
        let offer = Offer {
            until: Instant::from_nanos(u64::from_ne_bytes(*until)),
            attempts: u32::from_ne_bytes(*attempts),
            interval: Duration::from_nanos(u64::from_ne_bytes(*interval)),
            frame,
        };
        let is_signed = u32::from_ne_bytes(*is_signed) != 0;
        Some(Self {
            interface: u32::from_ne_bytes(*interface),
            offer: (offer_len > 0).then_some(offer),
            leaving,
            signer: is_signed.then(|| LastSigner::from_bytes(signer)),
            work_lines: u64s(numbers).collect(),
        })
    }

    /// Returns the maximum time from `now` for which the guardian waits for programs. After the end of the lease, the
    /// members elect an owner.
    pub(super) fn programs_limit(&self, now: Instant) -> Duration {
        let until = self.offer.map(|offer| offer.until);
        until.map_or(Duration::ZERO, |until| until.since(now))
    }

    /// Returns the signed TAKE_TOKEN for the next attempt at the time `now`, and the time until the attempt after it.
    /// Returns `None` if no attempt is left.
    pub(super) fn next_offer(&mut self, now: Instant) -> Option<(Vec<u8>, Duration)> {
        let offer = self.offer.as_mut()?;
        offer.attempts = offer.attempts.checked_sub(1)?;
        // After the end of the lease, other members may have elected an owner.
        let Offer {
            interval, frame, ..
        } = *offer;
        (now < offer.until).then(|| (self.sign(now, frame), interval))
    }

    /// Returns the signed LEAVING.
    pub(super) fn leaving(&mut self, now: Instant) -> Vec<u8> {
        self.sign(now, self.leaving)
    }

    fn sign(&mut self, now: Instant, frame: &[u8]) -> Vec<u8> {
        let mut frame = frame.to_vec();
        if let Some(signer) = &mut self.signer {
            signer.seal(Duration::from_nanos(now.as_nanos()), &mut frame);
        }
        frame
    }
}

fn u64s(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (chunks, _) = bytes.as_chunks::<NUMBER_LEN>();
    chunks.iter().map(|&chunk| u64::from_ne_bytes(chunk))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;
    use ring_trust::{Authenticator, Keyring, LastSigner, TRAILER_LEN};

    use super::{LINES_OFFSET, NUMBERS_OFFSET, Offer, SharedFrames};

    const INTERVAL: Duration = Duration::from_nanos(5);

    fn frames(attempts: u32, signer: Option<LastSigner>) -> SharedFrames<'static> {
        let offer = Offer {
            until: Instant::from_nanos(12),
            attempts,
            interval: INTERVAL,
            frame: b"offer",
        };
        SharedFrames {
            interface: 3,
            offer: (attempts > 0).then_some(offer),
            leaving: b"leaving",
            signer,
            work_lines: vec![u64::MAX, 7],
        }
    }

    /// Encodes and decodes the frames. Returns all frames that are sent from the time `now`.
    fn sent_frames(frames: &SharedFrames<'_>, now: u64) -> Vec<Vec<u8>> {
        let mut bytes = [0; 4096];
        let len = frames.encode(&mut bytes);
        let mut decoded = SharedFrames::decode(&bytes[..len]).expect("it was encoded");
        assert_eq!(decoded.interface, frames.interface);
        assert_eq!(decoded.work_lines, frames.work_lines);
        let mut now = Instant::from_nanos(now);
        let mut frames = Vec::new();
        while let Some((frame, pause)) = decoded.next_offer(now) {
            frames.push(frame);
            now = now + pause;
        }
        frames.push(decoded.leaving(now));
        frames
    }

    #[test]
    fn an_offer_is_repeated_only_within_the_lease() {
        for (attempts, now, offers) in [(3, 0, 3), (2, 0, 2), (3, 2, 2), (3, 12, 0), (0, 0, 0)] {
            let mut expected = vec![b"offer".to_vec(); offers];
            expected.push(b"leaving".to_vec());
            assert_eq!(sent_frames(&frames(attempts, None), now), expected);
        }
    }

    #[test]
    fn the_guardian_waits_for_programs_only_within_the_lease() {
        for (attempts, now, limit) in [(3, 2, 10), (3, 12, 0), (3, 13, 0), (0, 2, 0)] {
            let limit = Duration::from_nanos(limit);
            let frames = frames(attempts, None);
            assert_eq!(frames.programs_limit(Instant::from_nanos(now)), limit);
        }
    }

    #[test]
    fn frames_of_a_node_with_keys_are_signed() {
        let keyring = Keyring::parse(&format!("7 {}", "5a".repeat(32))).expect("a keyring");
        let authenticator = Authenticator::<u8>::new(&keyring, false, [1; 32]);
        let frames = sent_frames(&frames(2, authenticator.last_signer()), 0);
        assert!(frames[0].starts_with(b"offer") && frames[2].starts_with(b"leaving"));
        assert_ne!(frames[0], frames[1], "each message has its counter");
        let lengths: Vec<_> = frames.iter().map(Vec::len).collect();
        let offer_len = 5 + TRAILER_LEN;
        assert_eq!(lengths, [offer_len, offer_len, 7 + TRAILER_LEN]);
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(SharedFrames::decode(&[0; NUMBERS_OFFSET - 1]).is_none());
        for field in [4, LINES_OFFSET] {
            let mut bytes = [0; NUMBERS_OFFSET];
            bytes[field] = 1;
            assert!(SharedFrames::decode(&bytes).is_none());
        }
    }
}
