//! The seventeen messages.

use super::{
    Digest, LockRecord, LocksPurpose, Measure, Member, NodeReport, Promise, Purpose, Stamp,
    SurveyPurpose, Token, forget, generating_token, locks, locks_question, measures, ping, probe,
    report, ring_members, stamps, survey, take_token, token_is_here, token_was_here_recently,
};
use crate::messages::messages;
use crate::{MacAddr, U64};

messages! {
    /// The kind of a message: the first byte after the Ethernet header.
    kind Kind;
    /// A message. Parts of variable length are borrowed from the frame.
    message Message;

    /// Offers the token to a member.
    1 "TAKE_TOKEN" TakeToken {
        /// The offered token.
        token: Token,
        /// Digest of the author's table.
        digest: Digest,
        /// The application's data, at most [`DATA_LEN_MAX`](super::DATA_LEN_MAX) bytes.
        data: &'a [u8],
    } in take_token;

    /// A heartbeat, or an acknowledgement of TAKE_TOKEN.
    2 "TOKEN_IS_HERE" TokenIsHere {
        /// The held token.
        token: Token,
        /// Digest of the author's table.
        digest: Digest,
        /// The application's data, at most [`DATA_LEN_MAX`](super::DATA_LEN_MAX) bytes.
        data: &'a [u8],
        /// The heartbeat's number in the tenure; `None` in other frames.
        beat: Option<u32>,
    } in token_is_here;

    /// Introduces the author and its table's digest.
    3 "PING" Ping {
        /// Digest of the author's table.
        digest: Digest,
        /// The author's IP address.
        ip: [u8; 16],
        /// The author's promise to the destination.
        promise: Option<Promise>,
        /// Whether the author takes part in the ring, but does not own the token.
        paused: bool,
    } in ping;

    /// Answer of a WAITER that has heard of the token recently.
    4 "TOKEN_WAS_HERE_RECENTLY" TokenWasHereRecently {
        /// The strongest token that the author knows.
        token: Token,
        /// The node that held this token.
        holder: MacAddr,
    } in token_was_here_recently;

    /// Question of a LOOSER that looks for the token.
    5 "WHERE_IS_TOKEN" WhereIsToken;

    /// A candidate for the next token.
    6 "GENERATING_TOKEN" GeneratingToken {
        /// The author's candidate.
        token: Token,
    } in generating_token;

    /// A part of the author's member table.
    7 "RING_MEMBERS" RingMembers {
        /// Digest of the author's whole table.
        digest: Digest,
        /// The members in this frame, at most [`MEMBERS_PER_FRAME_MAX`](super::MEMBERS_PER_FRAME_MAX).
        members: &'a [Member],
    } in ring_members;

    /// The author has work for the token.
    8 "WANT_TOKEN" WantToken;

    /// The author is shutting down.
    9 "LEAVING" Leaving;

    /// The author's stamps of jobs that run once per period.
    10 "STAMPS" Stamps {
        /// The token of the node that makes the announcement or asks the question. An answer contains the token of the
        /// node that asked.
        token: Token,
        /// The number of the announcement or question. An answer repeats this number.
        serial: u32,
        /// The purpose of the frame.
        purpose: Purpose,
        /// The sum of the hashes of the author's whole table.
        digest: u64,
        /// The stamps in this frame, at most [`STAMPS_PER_FRAME_MAX`](super::STAMPS_PER_FRAME_MAX).
        stamps: &'a [Stamp],
    } in stamps;

    /// Members that the author removed from its table.
    11 "FORGET" Forget {
        /// The addresses of the removed members, at most [`FORGOTTEN_PER_FRAME_MAX`](super::FORGOTTEN_PER_FRAME_MAX).
        members: &'a [MacAddr],
    } in forget;

    /// Records of named locks.
    12 "LOCKS" Locks {
        /// The token of the version that the frame describes, or the strongest token that the author knows.
        token: Token,
        /// The number of the change under this token, or the number of a renewal. The answer to a renewal repeats the
        /// number of the renewal.
        serial: u64,
        /// The purpose of the frame.
        purpose: LocksPurpose,
        /// The table: 0 for the grades `alone` and `all-heard`, 2 for the grade `quorum`.
        grade: u8,
        /// The sum of the hashes of all records that the author knows. In a renewal, only the records of one member
        /// count.
        digest: u64,
        /// In a part: the first key of the range. In a change: 1 if one agreement completes a majority, or 0.
        from: u64,
        /// In a part: the last key of the range. In a change: the number of records in later frames.
        to: u64,
        /// The records in this frame, at most [`LOCKS_PER_FRAME_MAX`](super::LOCKS_PER_FRAME_MAX).
        locks: &'a [LockRecord],
    } in locks;

    /// Question for the records of locks that the author does not have.
    13 "LOCKS_QUESTION" LocksQuestion {
        /// The table: 0 for the grades `alone` and `all-heard`, 2 for the grade `quorum`.
        grade: u8,
        /// The first key that the author wants.
        from: u64,
        /// The sums of the hashes of the author's records in equal ranges of keys, exactly
        /// [`LOCK_SUMS`](super::LOCK_SUMS).
        sums: &'a [U64],
    } in locks_question;

    /// Question to the listed members for a report, or for a measurement.
    14 "SURVEY" Survey {
        /// The number of the survey.
        serial: u64,
        /// The purpose of the survey.
        purpose: SurveyPurpose,
        /// In a measurement: the number of probes for each ordered pair, at most [`PROBES_MAX`](super::PROBES_MAX).
        probes: u8,
        /// In a measurement: milliseconds over which a member spreads its probes, at most
        /// [`SPAN_MAX`](super::SPAN_MAX).
        span: u16,
        /// The members that are asked, at most [`SURVEYED_PER_FRAME_MAX`](super::SURVEYED_PER_FRAME_MAX).
        members: &'a [MacAddr],
    } in survey;

    /// The condition of the author's node, in answer to SURVEY.
    15 "REPORT" Report {
        /// The number of the survey.
        serial: u64,
        /// The condition of the node.
        report: NodeReport<'a>,
    } in report;

    /// A frame of a measurement.
    16 "PROBE" Probe {
        /// The author of the SURVEY.
        surveyor: MacAddr,
        /// The number of the survey.
        serial: u64,
        /// The number of the probe to this receiver, less than [`PROBES_MAX`](super::PROBES_MAX).
        number: u8,
        /// Whether the frame is an answer.
        is_answer: bool,
        /// The time at which the question was sent, in nanoseconds by its author's clock.
        sent_at: u64,
        /// Any bytes, at most [`PADDING_LEN_MAX`](super::PADDING_LEN_MAX).
        padding: &'a [u8],
    } in probe;

    /// Results of a measurement.
    17 "MEASURES" Measures {
        /// The number of the survey.
        serial: u64,
        /// The longest delay of the author's probes, in nanoseconds.
        lateness: u64,
        /// The length of the author's large probes, in bytes.
        large_len: u16,
        /// The number of the author's broadcasts.
        broadcasts_sent: u8,
        /// The number of rows in all frames of the author.
        rows: u8,
        /// The rows in this frame, at most [`MEASURES_PER_FRAME_MAX`](super::MEASURES_PER_FRAME_MAX).
        measures: &'a [Measure],
    } in measures;
}
