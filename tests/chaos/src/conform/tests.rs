//! Tests that the checks of frames find each violation, and accept the exceptions of the rules.

use std::time::Duration;

use ring_segment::{Digest, ETHERTYPE, MacAddr, Message, Seen, Timing, Token, frame};

use super::checks::{self, Calm};
use super::votes::{self, VoteFindings};

const CANDIDATE: usize = 2;
const LASTS: Duration = Duration::from_millis(400);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn mac(node: usize) -> MacAddr {
    MacAddr::new(2, 0, 0, 0, 0, u8::try_from(node + 1).expect("few nodes"))
}

fn token(progress: u64, author: usize) -> Token {
    Token {
        progress,
        author: mac(author),
        number: 1,
    }
}

fn digest() -> Digest {
    Digest { size: 3, hash: 7 }
}

fn seen(at: u64, from: usize, to: MacAddr, message: &Message, trailer: &[u8]) -> Seen {
    let payload = [&message.payload(mac(from))[..], trailer].concat();
    let bytes = frame(to, mac(from), ETHERTYPE, &payload);
    Seen::read(ms(at), from, bytes).expect("a frame")
}

fn here(token: Token) -> Message {
    Message::TokenIsHere {
        token,
        digest: digest(),
        data: Vec::new(),
    }
}

fn heartbeat(at: u64, from: usize, token: Token, beat: u32) -> Seen {
    let trailer = [&b"RGD1"[..], &beat.to_be_bytes()].concat();
    seen(at, from, MacAddr::broadcast(), &here(token), &trailer)
}

/// Returns a frame in which the judged member confirms a heartbeat.
fn confirm(at: u64, to: usize, token: Token, beat: u32) -> Seen {
    let lasts = u64::try_from(LASTS.as_nanos()).expect("64 bits");
    let trailer = [
        &b"RGD1\x01"[..],
        &token.progress.to_be_bytes(),
        &token.author.octets(),
        &token.number.to_be_bytes(),
        &beat.to_be_bytes(),
        &lasts.to_be_bytes(),
    ];
    let ping = Message::Ping {
        digest: digest(),
        ip: [0; 16],
    };
    seen(at, CANDIDATE, mac(to), &ping, &trailer.concat())
}

fn judge(frames: &[Seen]) -> VoteFindings {
    // The program was started long ago.
    votes::check(frames, CANDIDATE, &[], LASTS)
}

#[test]
fn a_moving_token_and_a_new_owner_after_the_time_are_confirmed() {
    let (first, second) = (token(10, 0), token(99, 1));
    let findings = judge(&[
        heartbeat(0, 0, first, 0),
        confirm(1, 0, first, 0),
        // The token has moved to the next owner.
        heartbeat(100, 1, token(11, 0), 0),
        confirm(101, 1, token(11, 0), 0),
        heartbeat(600, 1, second, 0),
        confirm(601, 1, second, 0),
    ]);
    assert_eq!(findings.count, 3);
    assert!(findings.second.is_empty(), "{:?}", findings.second);
    assert!(findings.wrong.is_empty(), "{:?}", findings.wrong);
}

#[test]
fn a_second_tenure_is_found() {
    let findings = judge(&[
        heartbeat(0, 0, token(10, 0), 0),
        confirm(1, 0, token(10, 0), 0),
        heartbeat(100, 1, token(99, 1), 0),
        confirm(101, 1, token(99, 1), 0),
    ]);
    assert_eq!(findings.second.len(), 1, "{:?}", findings.second);
}

/// A member cleared its vote at each of its first TAKE_TOKENs, even if the vote was for a different tenure.
#[test]
fn a_vote_that_a_handover_of_another_token_cleared_is_found() {
    let findings = judge(&[
        heartbeat(0, 0, token(10, 0), 0),
        confirm(1, 0, token(10, 0), 0),
        heartbeat(100, 1, token(99, 1), 0),
        // The member takes the token of the other side, and gives it back at once.
        heartbeat(150, CANDIDATE, token(100, 1), 0),
        heartbeat(151, 1, token(101, 1), 0),
        confirm(152, 1, token(101, 1), 0),
    ]);
    // Both the member's own heartbeat and its confirmation are wrong.
    assert_eq!(findings.second.len(), 2, "{:?}", findings.second);
}

#[test]
fn an_offer_without_success_frees_the_member() {
    let failed = Message::TokenWasHereRecently {
        token: token(11, 0),
        holder: mac(0),
    };
    let findings = judge(&[
        heartbeat(0, 0, token(10, 0), 0),
        confirm(1, 0, token(10, 0), 0),
        seen(50, 0, MacAddr::broadcast(), &failed, &[]),
        heartbeat(100, 1, token(99, 1), 0),
        confirm(101, 1, token(99, 1), 0),
    ]);
    assert!(findings.second.is_empty(), "{:?}", findings.second);
}

#[test]
fn wrong_and_early_confirmations_are_found() {
    let frames = [
        heartbeat(0, 0, token(10, 0), 0),
        // A different beat, and a different holder.
        confirm(1, 0, token(10, 0), 1),
        confirm(2, 1, token(10, 0), 0),
        confirm(3, 0, token(10, 0), 0),
    ];
    assert_eq!(judge(&frames).wrong.len(), 2);
    let findings = votes::check(&frames, CANDIDATE, &[Duration::ZERO], LASTS);
    assert_eq!(findings.early.len(), 1, "{:?}", findings.early);
}

#[test]
fn a_claim_after_the_lease_is_found() {
    let timing = Timing::tolerant(ms(100));
    let own = token(10, CANDIDATE);
    let stop = [(ms(10), ms(900))];
    let again = [
        heartbeat(0, CANDIDATE, own, 0),
        heartbeat(901, CANDIDATE, own, 1),
    ];
    let (occasions, found) = checks::stale_claims(&again, CANDIDATE, &stop, &timing);
    assert_eq!((occasions, found.len()), (1, 1));
    // The token had moved to another owner before the stop.
    let moved = [
        heartbeat(0, CANDIDATE, own, 0),
        heartbeat(5, 1, token(11, CANDIDATE), 0),
        heartbeat(901, CANDIDATE, own, 1),
    ];
    assert_eq!(checks::stale_claims(&moved, CANDIDATE, &stop, &timing).0, 0);
}

#[test]
fn unanswered_heartbeats_are_counted() {
    let timing = Timing::tolerant(ms(100));
    let calm = [Calm {
        from: Duration::ZERO,
        to: ms(900),
    }];
    let frames = [
        heartbeat(0, 0, token(10, 0), 0),
        confirm(1, 0, token(10, 0), 0),
        heartbeat(100, 0, token(10, 0), 1),
        // Outside of the calm.
        heartbeat(1_000, 0, token(10, 0), 2),
    ];
    let share = checks::confirmed(&frames, CANDIDATE, &calm, &timing, &judge(&frames).barred);
    assert_eq!((share.used, share.all), (1, 2));
    assert!(!share.is_good());
}

#[test]
fn heartbeats_that_the_member_must_not_confirm_do_not_count() {
    let timing = Timing::tolerant(ms(100));
    let calm = [Calm {
        from: Duration::ZERO,
        to: ms(5_000),
    }];
    let share = |frames: &[Seen], starts: &[Duration]| {
        let barred = votes::check(frames, CANDIDATE, starts, LASTS).barred;
        let share = checks::confirmed(frames, CANDIDATE, &calm, &timing, &barred);
        (share.used, share.all)
    };
    let (first, second) = (token(10, 0), token(99, 1));
    // The vote of the member ends 400 ms after it has read the heartbeat.
    let bound = [
        heartbeat(0, 0, first, 0),
        confirm(20, 0, first, 0),
        heartbeat(100, 1, second, 0),
        heartbeat(410, 1, second, 1),
        heartbeat(500, 1, second, 2),
    ];
    assert_eq!(share(&bound, &[]), (1, 2));
    // The member gives way to another owner, and still confirms its own tenure.
    let gives_way = [
        heartbeat(0, CANDIDATE, token(10, CANDIDATE), 0),
        heartbeat(100, 1, second, 0),
        heartbeat(399, 1, second, 1),
        heartbeat(500, 1, second, 2),
    ];
    assert_eq!(share(&gives_way, &[]), (0, 1));
    // The token has only moved to the next owner.
    let moves_on = [
        heartbeat(0, CANDIDATE, token(10, CANDIDATE), 0),
        heartbeat(100, 1, token(11, CANDIDATE), 0),
    ];
    assert_eq!(share(&moves_on, &[]), (0, 1));
    // The program needs 300 ms to start.
    let starts = [
        heartbeat(100, 0, first, 0),
        seen(300, CANDIDATE, mac(0), &Message::WhereIsToken, &[]),
        heartbeat(699, 0, first, 1),
        heartbeat(701, 0, first, 2),
    ];
    assert_eq!(share(&starts, &[ms(50)]), (0, 1));
}
