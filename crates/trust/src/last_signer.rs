//! Signs the last messages of a process after its death. Another process does this work.

use std::time::Duration;

use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use crate::keyring::KeyId;
use crate::mac::{KEY_LEN, MAC_LEN, MacKeys, truncate};
use crate::trailer::{Kind, Trailer};

/// Signs messages for an [`Authenticator`](crate::Authenticator) after the death of its process. While the
/// authenticator still signs, this signer must not sign, because both would use the same counters.
pub struct LastSigner {
    boot: u64,
    counter: u64,
    key_id: u32,
    key: Zeroizing<[u8; KEY_LEN]>,
}

impl LastSigner {
    /// Length of the encoding in bytes.
    pub const LEN: usize = 2 * size_of::<u64>() + size_of::<u32>() + KEY_LEN;

    pub(crate) fn new(boot: u64, counter: u64, keys: &MacKeys) -> Self {
        let id: KeyId = keys.id();
        Self {
            boot,
            counter,
            key_id: id.get(),
            key: keys.key(Kind::Message).clone(),
        }
    }

    /// Encodes the signer, so that it can be stored in the memory of the other process. The encoding contains a key.
    pub fn to_bytes(&self) -> Zeroizing<[u8; Self::LEN]> {
        let mut bytes = Zeroizing::new([0; Self::LEN]);
        let (boot, rest) = bytes.split_at_mut(8);
        let (counter, rest) = rest.split_at_mut(8);
        let (id, key) = rest.split_at_mut(4);
        boot.copy_from_slice(&self.boot.to_le_bytes());
        counter.copy_from_slice(&self.counter.to_le_bytes());
        id.copy_from_slice(&self.key_id.to_le_bytes());
        key.copy_from_slice(&self.key[..]);
        bytes
    }

    /// Decodes a signer.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        let mut id = [0; 4];
        id.copy_from_slice(&bytes[16..20]);
        let mut key = Zeroizing::new([0; KEY_LEN]);
        key.copy_from_slice(&bytes[20..]);
        Self {
            boot: number(0),
            counter: number(8),
            key_id: u32::from_le_bytes(id),
            key,
        }
    }

    /// Signs a frame, and appends the trailer.
    pub fn seal(&mut self, now: Duration, frame: &mut Vec<u8>) {
        self.counter += 1;
        let trailer = Trailer::new(Kind::Message, self.key_id, self.boot, self.counter, now);
        frame.extend_from_slice(trailer.as_bytes());
        let mac = truncate(blake3::keyed_hash(&self.key, Trailer::covered(frame)));
        if let Some(end) = frame.last_chunk_mut::<MAC_LEN>() {
            *end = mac;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::LastSigner;
    use crate::{Authenticator, Destination, KeyId, Keyring};

    #[test]
    fn it_continues_the_signatures_of_the_process() {
        let key = format!("7 {}", "5a".repeat(32));
        let keyring = Keyring::parse(&key).expect("a keyring");
        let mut process = Authenticator::<u8>::new(&keyring, false, [1; 32]);
        assert_eq!(keyring.signing_id(), KeyId::new(7).expect("it is not 0"));
        let mut buffer = [0; 256];
        buffer[..60].fill(3);
        let seal = |process: &mut Authenticator<u8>, buffer: &mut [u8; 256], ms| {
            let now = Duration::from_millis(ms);
            process
                .seal(now, &Destination::FRAME, buffer, 60)
                .expect("it fits")
        };
        seal(&mut process, &mut buffer, 10);
        let signer = process.last_signer().expect("it has a key");
        let mut last = LastSigner::from_bytes(&signer.to_bytes());
        for ms in [20, 21] {
            let mut frame = buffer[..60].to_vec();
            last.seal(Duration::from_millis(ms), &mut frame);
            let len = seal(&mut process, &mut buffer, ms);
            assert_eq!(frame, buffer[..len]);
        }
    }
}
