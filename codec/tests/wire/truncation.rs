//! Tests the error for an incomplete message, at each length of each example. The error has the incomplete field, its
//! offset, its length, and the number of its bytes that are present.

use ring_codec::{DecodeError, Problem, StreamState, andrews, ftn, jitterbug, lab2};

use crate::checks::FORMATS;
use crate::{corpus, page};

/// The length of a card without a program.
const CARD_LEN: usize = 25;

/// The fields of an example in order, as `name:bytes`. `name~bytes` is an integer whose first byte contains its length.
/// If that first byte is missing, the decoder asks for 1 byte.
#[derive(Clone)]
struct Fields {
    format: &'static str,
    seed: &'static str,
    layout: String,
}

fn fields(format: &'static str, head: &str, rows: &[(&'static str, &str)]) -> Vec<Fields> {
    let example = |(seed, body): &(&'static str, &str)| Fields {
        format,
        seed,
        layout: format!("{head} {body}"),
    };
    rows.iter().map(example).collect()
}

fn lab2() -> Vec<Fields> {
    let head = "destination:6 source:6 ethertype:2 kind:1 reserved:1 messageAuthorMAC:6";
    let token = "progress:8 authorMAC:6 authorTokenNum:4";
    let digest = "ringSize:4 ringMembersHash:8";
    let with_data = format!("{token} {digest} dataLen:2 data:2");
    let ping = format!("{digest} ip:16");
    let recently = format!("{token} holder:6");
    let members = format!("{digest} count:2 members:44");
    let stamps = format!("{token} serial:4 purpose:1 stampsHash:8 stampCount:2 stamps:75");
    let locks = format!(
        "{token} serial:8 locksPurpose:1 grade:1 locksHash:8 from:8 to:8 lockCount:2 locks:147"
    );
    let report = "serial:8 up:8 wall:8 lateness:8 held:8 nodeState:1 nodeGrade:1 health:1 busy:1 \
                  requiredGrade:1 troubleCount:1 holderLen:1 troublesLen:2 holderName:6 troubles:7";
    let rows = [
        ("take_token", with_data.as_str()),
        ("take_token_with_standing", &with_data),
        ("token_is_here", &with_data),
        ("token_is_here_with_beat", &with_data),
        ("ping", &ping),
        ("ping_with_promise", &ping),
        ("token_was_here_recently", &recently),
        ("where_is_token", ""),
        ("where_is_token_with_profile", ""),
        ("where_is_token_with_card", ""),
        ("where_is_token_with_host_name", ""),
        ("where_is_token_with_pause_notice", ""),
        ("where_is_token_with_preference", ""),
        ("generating_token", token),
        ("ring_members", &members),
        ("want_token", ""),
        ("leaving", ""),
        ("stamps", &stamps),
        ("forget", "count:2 members:12"),
        ("locks", &locks),
        ("locks_question", "grade:1 from:8 sums:512"),
        (
            "survey",
            "serial:8 surveyPurpose:1 probes:1 span:2 count:2 members:12",
        ),
        ("report", report),
        (
            "probe",
            "surveyorMAC:6 serial:8 number:1 isAnswer:1 sentAt:8 paddingLen:2 padding:2",
        ),
        (
            "measures",
            "serial:8 lateness:8 largeLen:2 broadcastsSent:1 rows:1 rowCount:2 measures:29",
        ),
    ];
    fields("lab2", head, &rows)
}

fn jitterbug() -> Vec<Fields> {
    let rows = [
        ("tr1", "token_id:4 node_tcp_port:2"),
        ("tr2", "token_id:4"),
        ("tp1", "token_id:4 node_list_hash:4"),
        ("tp2", ""),
        ("tp3", ""),
        (
            "tp4",
            "count:4 meta:1 address:4 port:2 meta:1 address:16 port:2",
        ),
        // The data have no minimum length, so the decoder cannot notice that they are cut.
        ("tp5", "token_id:4"),
        (
            "tp6",
            "lease:4 shortest:4 longest:4 renew:4 pass:4 follows:4 policy:8 flags:1",
        ),
    ];
    fields("jitterbug", "type:1", &rows)
}

fn andrews() -> Vec<Fields> {
    let head = "version:1 type:1 reserved:2 srcId:4 payloadLen:4";
    let election = "method:1 electionType:1 reserved:2";
    let ring = format!("{election} count:4 ids:8");
    let candidate = format!("{election} candidate:4");
    let coordinator = format!("{election} coordinatorId:4");
    let rows = [
        ("join", ""),
        ("successor", "successorId:4"),
        ("successor_request", ""),
        ("token", "sequence:8"),
        ("token_ack", "sequence:8"),
        ("election_ring_based", &ring),
        ("election_ring_based_coordinator", &coordinator),
        ("election_chang_roberts", &candidate),
        ("election_chang_roberts_coordinator", &coordinator),
        ("election_bully", election),
        ("election_bully_coordinator", &coordinator),
        ("election_bully_ok", election),
    ];
    fields("andrews", head, &rows)
}

fn ftn() -> Vec<Fields> {
    let by_client = "type~1 from~2 to~1 ssig~2";
    let to_client = "type~1 from~1 to~2 ssig~2";
    let by_server = "type~1 from~1 to~1 ssig~2";
    let token = "name~1 name:5 data~1 data:1";
    let grant = format!("msgnum~3 {token}");
    let returned = format!("msgnum~3 {token} flags~1");
    let catalog = format!("holdings~1 {token}");
    let state = "configuration~1 round~1 leader~1 sstates~1 sstate~1 sstate~1 sstate~1 \
                 clients~1 id~2 address~1 address:14";
    let transfer = format!(
        "msgnum~1 part~1 parts~1 assignments~1 {token} access~1 holders~1 id~2 \
         name~1 name:4 data~1 access~1 holders~1"
    );
    let heartbeat = "configuration~1 round~1 sstate~1";
    let with_terms =
        format!("{heartbeat} client_timeout~4 quorum~1 heartbeat~4 server_timeout~4 grace~1");
    let mut all = fields(
        "ftn",
        by_client,
        &[
            ("catalog", catalog.as_str()),
            ("alive", ""),
            ("logout", ""),
            ("part", "content~1 part~1 parts~1 bytes~1 bytes:3"),
            ("request", "msgnum~3 name~1 name:5 data~1 access~1"),
            ("return", &returned),
        ],
    );
    let config = "leader~1 sstates~1 sstate~1 sstate~1 sstate~1";
    all.extend(fields(
        "ftn",
        to_client,
        &[
            ("config", config),
            ("grant", &grant),
            ("revoke", "name~1 name:5"),
            ("confirm", "msgnum~3"),
            ("parted", "content~1 came~1 came:1"),
        ],
    ));
    all.extend(fields(
        "ftn",
        by_server,
        &[
            ("login", "p~1 p:5"),
            ("state", state),
            ("heartbeat", heartbeat),
            ("heartbeat_with_terms", &with_terms),
            ("elect", "configuration~1 round~1 leader~1"),
            ("transfer", &transfer),
            ("transferred", "msgnum~1 part~1"),
        ],
    ));
    let long = [("confirm_long_forms", "msgnum~4")];
    all.extend(fields("ftn", "type~2 from~3 to~2 ssig~2", &long));
    all
}

fn error(format: &str, bytes: &[u8]) -> Option<DecodeError> {
    let jitterbug_error = || {
        if matches!(bytes.first(), Some(0x01 | 0x11)) {
            return jitterbug::Message::decode_datagram(bytes).err();
        }
        jitterbug::Message::decode_stream(bytes, StreamState::Ended, jitterbug::MAX_NODES).err()
    };
    match format {
        "lab2" => lab2::Frame::decode(bytes).err(),
        "jitterbug" => jitterbug_error(),
        "andrews" => {
            let datagram = andrews::Frame::decode_datagram(bytes).err();
            let stream = andrews::Frame::decode_stream(bytes, StreamState::Ended).err();
            assert_eq!(datagram, stream);
            datagram
        }
        _ => ftn::Datagram::decode(bytes).err(),
    }
}

#[test]
fn the_error_for_a_cut_message_names_the_incomplete_field() {
    let tables = [lab2(), jitterbug(), andrews(), ftn()].concat();
    for table in &tables {
        let bytes = corpus::seed(table.format, table.seed);
        let mut offset = 0;
        for field in table.layout.split_whitespace() {
            let (name, len) = field.split_once([':', '~']).unwrap();
            let len: usize = len.parse().unwrap();
            // A server of the token service may omit its terms.
            let first = usize::from(name == "client_timeout");
            let without = error(table.format, &bytes[..offset]);
            assert_eq!(
                without.is_none(),
                first == 1,
                "{} without {name}",
                table.seed
            );
            for have in first..len {
                let at = format!("{} cut at {}", table.seed, offset + have);
                let error = error(table.format, &bytes[..offset + have]).expect(&at);
                let need = if field.contains('~') && have == 0 {
                    1
                } else {
                    len
                };
                assert_eq!((error.field.name(), error.offset), (name, offset), "{at}");
                assert_eq!(error.problem, Problem::Truncated { need, have }, "{at}");
            }
            offset += len;
        }
        // The decoder reads an incomplete trailer as padding.
        let trailer = if table.seed.contains("_with_") {
            bytes.len() - offset
        } else {
            0
        };
        for have in 0..trailer {
            let cut = lab2::Frame::decode(&bytes[..offset + have]).unwrap();
            // A card is a separate trailer after a whole profile, and a host name, pause notice or preference after it.
            let parts: &[usize] = match table.seed.split_once("_with_") {
                Some((_, "card")) => &[lab2::Profile::LEN],
                Some((_, "host_name" | "pause_notice" | "preference")) => {
                    &[lab2::Profile::LEN, CARD_LEN]
                }
                _ => &[],
            };
            let ends = parts.iter().scan(0, |end, len| {
                *end += len;
                Some(*end)
            });
            let expected = offset + ends.filter(|&end| end <= have).last().unwrap_or(0);
            assert_eq!(
                cut.encoded_len(),
                expected,
                "{} bytes of the trailer of {}",
                have,
                table.seed
            );
        }
        let whole = offset + trailer == bytes.len();
        assert!(whole || table.seed == "tp5", "{}", table.seed);
        assert_eq!(error(table.format, &bytes), None, "{}", table.seed);
    }
    let examples: usize = FORMATS.iter().map(|f| page::examples(f).len()).sum();
    assert_eq!(tables.len(), examples, "an example has no row");
}
