//! The eleven messages as values.

use super::{
    Digest, Member, Promise, Purpose, Stamp, Token, forget, generating_token, ping, ring_members,
    stamps, take_token, token_is_here, token_was_here_recently,
};
use crate::MacAddr;
use crate::messages::messages;

messages! {
    /// A message's kind: the first byte after the Ethernet header.
    kind Kind;
    /// One message, its variable parts borrowed from the frame.
    message Message;

    /// The holder offers the token to a member.
    1 "TAKE_TOKEN" TakeToken {
        /// The token offered.
        token: Token,
        /// The author's table.
        digest: Digest,
        /// The application's data, at most [`MAX_DATA_LEN`](super::MAX_DATA_LEN) bytes.
        data: &'a [u8],
    } in take_token;

    /// Heartbeat, and acknowledgement of TAKE_TOKEN.
    2 "TOKEN_IS_HERE" TokenIsHere {
        /// The token held.
        token: Token,
        /// The author's table.
        digest: Digest,
        /// The application's data, at most [`MAX_DATA_LEN`](super::MAX_DATA_LEN) bytes.
        data: &'a [u8],
        /// The heartbeat's number in the tenure; `None` in what is no heartbeat.
        beat: Option<u32>,
    } in token_is_here;

    /// Introduces the author and its table's digest.
    3 "PING" Ping {
        /// The author's table.
        digest: Digest,
        /// The author's own ip.
        ip: [u8; 16],
        /// The author's promise to the destination.
        promise: Option<Promise>,
        /// The author takes part, but owns nothing.
        paused: bool,
    } in ping;

    /// A waiter's answer: the token was heard of not long ago.
    4 "TOKEN_WAS_HERE_RECENTLY" TokenWasHereRecently {
        /// The strongest token that the author knows.
        token: Token,
        /// Who held it.
        holder: MacAddr,
    } in token_was_here_recently;

    /// A looser's question.
    5 "WHERE_IS_TOKEN" WhereIsToken;

    /// A candidate for the next token.
    6 "GENERATING_TOKEN" GeneratingToken {
        /// The author's candidate.
        token: Token,
    } in generating_token;

    /// A part of the author's member table.
    7 "RING_MEMBERS" RingMembers {
        /// The author's whole table.
        digest: Digest,
        /// The part of it in this frame, at most
        /// [`MAX_MEMBERS_PER_FRAME`](super::MAX_MEMBERS_PER_FRAME).
        members: &'a [Member],
    } in ring_members;

    /// The author has work for the token.
    8 "WANT_TOKEN" WantToken;

    /// The author is shutting down.
    9 "LEAVING" Leaving;

    /// What is known of the jobs that run once in a period.
    10 "STAMPS" Stamps {
        /// The token of the one who tells or asks; in an answer, that of the asker.
        token: Token,
        /// Which telling or question this is, or answers.
        serial: u32,
        /// What it is for.
        purpose: Purpose,
        /// The sum of the hashes of the author's whole table.
        digest: u64,
        /// The part of it in this frame, at most
        /// [`MAX_STAMPS_PER_FRAME`](super::MAX_STAMPS_PER_FRAME).
        stamps: &'a [Stamp],
    } in stamps;

    /// Members that the author has removed from its table.
    11 "FORGET" Forget {
        /// Their addresses, at most [`MAX_FORGOTTEN_PER_FRAME`](super::MAX_FORGOTTEN_PER_FRAME).
        members: &'a [MacAddr],
    } in forget;
}
