//! The handshake: two messages of `Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s`.

use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState, TransportState};
use zeroize::Zeroizing;

const PROTOCOL: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Length of each handshake message: a public key and a tag.
pub(super) const MESSAGE_LEN: usize = 32 + 16;

/// A random number from the caller. Each handshake uses one.
#[derive(Clone)]
pub(super) struct Seed(Zeroizing<[u8; 32]>);

impl Seed {
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self(Zeroizing::new(seed))
    }
}

impl Random for Seed {
    fn try_fill_bytes(&mut self, room: &mut [u8]) -> Result<(), Error> {
        let mut bytes = blake3::Hasher::new_keyed(&self.0).finalize_xof();
        bytes.fill(room);
        // A second number must differ from the first, so change the seed.
        bytes.fill(&mut self.0[..]);
        Ok(())
    }
}

/// The algorithms of `snow`. Their random numbers come from the caller's seed.
struct Algorithms(Seed);

impl CryptoResolver for Algorithms {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(self.0.clone()))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

fn builder<'a>(key: &'a [u8; 32], prologue: &'a [u8], seed: &Seed) -> Result<Builder<'a>, Error> {
    let algorithms = Box::new(Algorithms(seed.clone()));
    let builder = Builder::with_resolver(PROTOCOL.parse()?, algorithms);
    builder.psk(0, key)?.prologue(prologue)
}

/// Starts a handshake. Returns the first message, and the state that handles the second message.
pub(super) fn start(
    key: &[u8; 32],
    prologue: &[u8],
    seed: &Seed,
) -> Result<([u8; MESSAGE_LEN], HandshakeState), Error> {
    let mut state = builder(key, prologue, seed)?.build_initiator()?;
    let mut message = [0; MESSAGE_LEN];
    state.write_message(&[], &mut message)?;
    Ok((message, state))
}

/// Ends a handshake with the second message.
pub(super) fn finish(mut state: HandshakeState, message: &[u8]) -> Result<TransportState, Error> {
    state.read_message(message, &mut [])?;
    state.into_transport_mode()
}

/// Answers the first message. Returns the second message.
pub(super) fn answer(
    key: &[u8; 32],
    prologue: &[u8],
    seed: &Seed,
    message: &[u8],
) -> Result<([u8; MESSAGE_LEN], TransportState), Error> {
    let mut state = builder(key, prologue, seed)?.build_responder()?;
    state.read_message(message, &mut [])?;
    let mut answer = [0; MESSAGE_LEN];
    state.write_message(&[], &mut answer)?;
    Ok((answer, state.into_transport_mode()?))
}
