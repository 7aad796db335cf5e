use std::time::Duration;

use ring_segment::{Digest, ETHERTYPE, MacAddr, Message, Seen, Timing, Token, frame};

use super::{Member, Outgoing};

const HOLD: Duration = Duration::from_millis(20);

fn mac(number: u8) -> MacAddr {
    MacAddr::new(2, 0, 0, 0, 0, number)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn token(progress: u64) -> Token {
    chain(progress, 1, 1)
}

fn chain(progress: u64, author: u8, number: u32) -> Token {
    let author = mac(author);
    Token {
        progress,
        author,
        number,
    }
}

fn from(at: u64, author: u8, to: MacAddr, message: &Message) -> Seen {
    let bytes = frame(to, mac(author), ETHERTYPE, &message.payload(mac(author)));
    Seen::read(ms(at), 0, bytes).expect("the frame is long enough")
}

fn here(token: Token) -> Message {
    Message::TokenIsHere {
        token,
        digest: Digest { size: 1, hash: 1 },
        data: vec![7],
    }
}

fn take(token: Token) -> Message {
    Message::TakeToken {
        token,
        digest: Digest { size: 1, hash: 1 },
        data: vec![7],
    }
}

/// Returns member 2 of three members. It knows that node 1 holds token 5.
fn waiter() -> Member {
    let mut member = Member::new(mac(2), [0; 16], Timing::tolerant(ms(100)), ms(0));
    member.on_frame(
        ms(0),
        &from(0, 3, MacAddr::broadcast(), &Message::WhereIsToken),
    );
    member.on_frame(ms(1), &from(1, 1, MacAddr::broadcast(), &here(token(5))));
    assert_eq!(member.state(), "WAITER");
    member
}

fn owner() -> (Member, Vec<Outgoing>) {
    let mut member = waiter();
    member.want(ms(2), HOLD);
    let outgoing = member.on_frame(ms(2), &from(2, 1, mac(2), &take(token(6))));
    assert_eq!(member.state(), "OWNER");
    (member, outgoing)
}

fn names(outgoing: &[Outgoing], to: MacAddr, progress: u64) -> bool {
    let is = |(whom, message): &Outgoing| {
        *whom == to && message.token().is_some_and(|it| it.progress == progress)
    };
    outgoing.iter().any(is)
}

#[test]
fn a_member_takes_acknowledges_works_and_hands_over_with_the_data() {
    let (mut member, outgoing) = owner();
    assert!(names(&outgoing, mac(1), 6));
    assert!(member.on_timeout(ms(21)).is_empty());
    let outgoing = member.on_timeout(ms(22));
    let [
        (
            to,
            Message::TakeToken {
                token: offered,
                data,
                ..
            },
        ),
    ] = &outgoing[..]
    else {
        panic!("the member must send one offer, but sends {outgoing:?}");
    };
    assert_eq!((*to, offered.progress, &data[..]), (mac(3), 7, &[7][..]));
    member.on_frame(ms(23), &from(23, 3, mac(2), &here(token(7))));
    assert_eq!(member.state(), "WAITER");
}

#[test]
fn a_chain_that_was_not_taken_is_not_offered_again() {
    let (mut member, _) = owner();
    let mut offers = Vec::new();
    for at in 22..=97 {
        let outgoing = member.on_timeout(ms(at)).into_iter();
        offers.extend(outgoing.filter_map(|(to, message)| match message {
            Message::TakeToken { token, .. } => Some((to, token)),
            _ => None,
        }));
    }
    let minted = chain(9, 2, 1);
    let expected = [(mac(3), token(7)); 3]
        .into_iter()
        .chain([(mac(1), minted)]);
    assert_eq!(offers, expected.collect::<Vec<_>>());
}

#[test]
fn a_giver_refuses_a_token_that_beats_its_token_but_not_its_offer() {
    let (mut member, _) = owner();
    member.on_timeout(ms(22));
    let rival = take(chain(6, 0, 1));
    let outgoing = member.on_frame(ms(23), &from(23, 3, mac(2), &rival));
    let [(to, Message::TokenWasHereRecently { token: known, .. })] = &outgoing[..] else {
        panic!("the member must send one answer, but sends {outgoing:?}");
    };
    assert_eq!((*to, *known), (mac(3), token(7)));
    assert_eq!(member.state(), "OWNER");
}

#[test]
fn an_old_offer_is_not_taken() {
    let mut member = waiter();
    let outgoing = member.on_frame(ms(2), &from(2, 1, mac(2), &take(token(5))));
    assert!(matches!(
        &outgoing[..],
        [(_, Message::TokenWasHereRecently { .. })]
    ));
    let stale = member.on_frame(ms(90), &from(2, 1, mac(2), &take(token(6))));
    assert!(stale.is_empty() && member.state() == "WAITER");
}

#[test]
fn the_stronger_of_two_tokens_survives() {
    let (mut member, _) = owner();
    let claim = here(chain(4, 3, 9));
    let outgoing = member.on_frame(ms(3), &from(3, 3, MacAddr::broadcast(), &claim));
    assert!(names(&outgoing, mac(3), 6) && names(&outgoing, MacAddr::broadcast(), 6));
    member.on_frame(ms(4), &from(4, 1, MacAddr::broadcast(), &here(token(50))));
    assert_eq!(member.state(), "WAITER");
}

#[test]
fn a_wanting_member_comes_first_and_asks_every_period() {
    let mut member = waiter();
    member.want(ms(10), HOLD);
    let want = (MacAddr::broadcast(), Message::WantToken);
    assert_eq!(member.on_timeout(ms(10)), std::slice::from_ref(&want));
    assert_eq!(member.deadline(), ms(110));
    assert_eq!(member.on_timeout(ms(110)), [want]);
    let (mut member, _) = owner();
    member.on_frame(
        ms(3),
        &from(3, 1, MacAddr::broadcast(), &Message::WantToken),
    );
    assert!(names(&member.on_timeout(ms(22)), mac(1), 7));
}

#[test]
fn a_member_in_silence_asks_for_the_token_but_never_stands_for_election() {
    let mut member = waiter();
    assert!(member.on_timeout(ms(400)).is_empty());
    for at in [401, 601, 801] {
        assert_eq!(member.deadline(), ms(at));
        assert_eq!(
            member.on_timeout(ms(at)),
            [(MacAddr::broadcast(), Message::WhereIsToken)]
        );
    }
    assert_eq!(member.state(), "LOOSER");
}

#[test]
fn an_owner_that_was_stalled_for_too_long_gives_up_its_token() {
    let (mut member, _) = owner();
    member.on_timeout(ms(402));
    assert_eq!(member.state(), "LOOSER");
}

#[test]
fn an_owner_does_not_ask_for_its_token() {
    let (mut member, _) = owner();
    member.want(ms(20), HOLD);
    assert!(!member.wants() && member.on_timeout(ms(39)).is_empty());
    assert!(names(&member.on_timeout(ms(40)), mac(3), 7));
    member.want(ms(41), HOLD);
    let want = (MacAddr::broadcast(), Message::WantToken);
    assert_eq!(member.on_timeout(ms(41)), [want]);
}

#[test]
fn a_weaker_token_is_objected_to_once_the_stronger_one_is_silent() {
    let mut member = waiter();
    let claim = |at| from(at, 3, MacAddr::broadcast(), &here(chain(4, 3, 9)));
    assert!(!names(&member.on_frame(ms(100), &claim(100)), mac(3), 5));
    assert!(names(&member.on_frame(ms(160), &claim(160)), mac(3), 5));
    assert!(!names(&member.on_frame(ms(200), &claim(200)), mac(3), 5));
}

#[test]
fn an_owner_replaces_its_token_after_hearing_of_a_stronger_one() {
    let (mut member, _) = owner();
    let gone = Message::TokenWasHereRecently {
        token: chain(70, 3, 4),
        holder: mac(3),
    };
    let outgoing = member.on_frame(ms(3), &from(3, 3, mac(2), &gone));
    assert!(names(&outgoing, MacAddr::broadcast(), 72) && member.state() == "OWNER");
    // If the offer has the member's own chain, the member only answers that it has handed the token over.
    let older = Message::TokenWasHereRecently {
        token: token(60),
        holder: mac(1),
    };
    assert!(
        member
            .on_frame(ms(4), &from(4, 1, mac(2), &older))
            .is_empty()
    );
}

#[test]
fn a_deaf_owner_is_ignored_and_gets_no_offer() {
    let sent_by = |deaf: bool, at: u64, author: u8, message: &Message| {
        let flags = u8::from(deaf);
        let profile = [b"RGD2", &[flags][..], &[0; 38]].concat();
        let payload = [message.payload(mac(author)), profile].concat();
        let bytes = frame(MacAddr::broadcast(), mac(author), ETHERTYPE, &payload);
        Seen::read(ms(at), 0, bytes).expect("the frame is long enough")
    };
    let (mut member, _) = owner();
    member.on_frame(ms(3), &sent_by(true, 3, 1, &here(token(50))));
    assert_eq!(member.state(), "OWNER");
    assert!(
        names(&member.on_timeout(ms(22)), mac(3), 7),
        "the offer goes to the next member that is not deaf"
    );
    let (mut member, _) = owner();
    member.on_frame(ms(3), &sent_by(true, 3, 3, &Message::WantToken));
    assert!(
        names(&member.on_timeout(ms(22)), mac(1), 7),
        "the offer does not go to the deaf member that wants the token"
    );
    let outgoing = waiter().on_frame(ms(150), &sent_by(true, 150, 1, &here(token(50))));
    assert!(matches!(outgoing[..], [(to, Message::Ping { .. })] if to == mac(1)));
    let (mut member, _) = owner();
    member.on_frame(ms(3), &sent_by(true, 3, 1, &here(token(50))));
    member.on_frame(ms(4), &sent_by(false, 4, 1, &here(token(50))));
    assert_eq!(member.state(), "WAITER");
}
