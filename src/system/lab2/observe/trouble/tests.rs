use std::time::Duration;

use ring_codec::MacAddr;
use ring_proto::lab2::{DataLimit, Trouble};

use super::describe;

#[test]
fn what_is_wrong_is_said_with_its_numbers_and_what_to_do() {
    let mac = MacAddr([2, 0, 0, 0, 0, 3]);
    let limit = |member| DataLimit {
        len: 487,
        mtu: 576,
        member,
    };
    let after = Duration::from_millis(9);
    let len = 1_000;
    for (trouble, expected) in [
        (
            Trouble::AnswerLate { mac, after },
            "02:00:00:00:00:03 accepted the token after 9 ms, when the offer had expired. If this \
             recurs, raise --take-timeout on all members: two tokens can exist until then",
        ),
        (
            Trouble::TakenLate {
                late: Some(after),
                offered_to: None,
            },
            "this node took the token 9 ms too late, and another may hold it: no lock is granted until \
             that one has had time to object. If this recurs, this machine is overloaded: raise \
             --take-timeout on all members",
        ),
        (
            Trouble::TakenLate {
                late: None,
                offered_to: Some(mac),
            },
            "this node took the token and could not say so, and another may hold it: it went on to \
             02:00:00:00:00:03, which does not know. If this recurs, this machine is overloaded: raise \
             --take-timeout on all members",
        ),
        (
            Trouble::TablesDiffer { owner: mac },
            "the member tables of this node and the owner 02:00:00:00:00:03 have differed for long. \
             Causes: more members than --max-members, lost (long) frames, or a member that only some \
             hear",
        ),
        (
            Trouble::DataDropped {
                len,
                limit: limit(Some(mac)),
            },
            "dropped the token's data (1,000 bytes): too long for member 02:00:00:00:00:03, MTU 576",
        ),
        (
            Trouble::DataDropped {
                len,
                limit: limit(None),
            },
            "dropped the token's data (1,000 bytes): too long for the interface, MTU 576",
        ),
    ] {
        assert_eq!(describe(trouble, false).text, expected);
    }
}
