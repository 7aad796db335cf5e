//! An attacker on the segment who hears and sends everything, but has no key.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_codec::List;
use ring_codec::ftn::{
    Access, Assignment, Datagram, Flags, Header, Holders, Message, ServerState, Token,
    server_signature,
};
use ring_segment::limit::wait_until;
use ring_segment::{MacAddr, Peer, Test, WAIT_LIMIT, forged_signature, tests};
use serde_json::{Value, json};

use super::super::stand::{PORT, SERVER_TIMEOUT};
use super::{CLIENT_KEY, CLIENTS, KeyStand, SERVERS};
use crate::locks::program::Running;
use crate::record::{Record, Sent};

/// The attacker's node.
const ATTACKER: usize = CLIENTS + 1;
/// The number of recorded frames that the attacker repeats in each round.
const REPLAYED_MAX: usize = 500;
const ROUNDS: usize = 3;

pub(super) fn tests() -> Vec<Test> {
    tests![
        an_attacker_without_a_key_changes_nothing,
        an_attacker_ends_a_session_of_servers_without_keys,
    ]
}

/// Servers, a client that holds a token, and an attacker who has recorded the datagrams of ended processes.
struct Attacked {
    stand: KeyStand,
    leader: usize,
    holder: Running,
    attacker: Peer,
    recorded: Vec<Sent>,
    ssig: i32,
}

impl Attacked {
    fn new(has_keys: bool) -> Result<Self> {
        let mut stand = KeyStand::new(ATTACKER + 1, if has_keys { &[1] } else { &[] })?;
        let segment = stand.servers.segment();
        let record = Record::start(segment)?;
        // A switch may learn a forged address, and then frames get lost. A key does not prevent this.
        let attackers_port = format!("link set p{ATTACKER} type bridge_slave learning off\n");
        segment.hub().ip(&attackers_port)?;
        segment.node(ATTACKER).wait_for_link()?;
        let attacker = segment.node(ATTACKER).peer()?;
        let leader = stand.servers.wait_until_served_by(&[0, 1, 2])?;
        let key_file = has_keys.then_some("client.keys");
        // The datagrams of this session, and of the first process of this server, are recorded.
        stand.expect(key_file, &["set", "held", "recorded"], 0, &[])?;
        let restarted = stand.servers.server((leader + 1) % SERVERS);
        restarted.signal(Signal::SIGTERM)?;
        restarted.wait_exit(WAIT_LIMIT)?;
        restarted.start()?;
        let leader = stand.servers.wait_until_served_by(&[0, 1, 2])?;
        let holder = stand.hold(key_file, "held")?;
        let recorded = record.datagrams_both_ways(PORT);
        ensure!(!recorded.is_empty(), "there are no datagrams");
        let lines = stand.servers.lines()?;
        Ok(Self {
            ssig: server_signature(lines.iter().map(String::as_bytes)),
            stand,
            leader,
            holder,
            attacker,
            recorded,
        })
    }

    /// Sends a message with the source address of a server or client, first unsigned and then with forged signatures.
    fn send(&self, from: SocketAddrV4, to: usize, sender: i32, message: Message<'_>) -> Result<()> {
        let node = self.stand.servers.segment().node(to);
        let ip = node.ip().context("the node has an address")?;
        let to_address = SocketAddrV4::new(ip, PORT);
        self.send_to(
            from,
            (node.mac(), to_address),
            (sender, i32::try_from(to)?),
            message,
        )
    }

    fn send_to(
        &self,
        from: SocketAddrV4,
        (mac, to): (MacAddr, SocketAddrV4),
        (sender, receiver): (i32, i32),
        message: Message<'_>,
    ) -> Result<()> {
        let header = Header {
            from: sender,
            to: receiver,
            ssig: self.ssig,
        };
        let datagram = Datagram::new(header, message);
        let mut bytes = vec![0; datagram.encoded_len()];
        datagram.encode(&mut bytes)?;
        let forged = [1, CLIENT_KEY, 9].map(|key| forged_signature(key.into()).to_vec());
        for signature in [&[][..]]
            .into_iter()
            .chain(forged.iter().map(Vec::as_slice))
        {
            self.send_packet(from, (mac, to), &[&bytes, signature].concat())?;
        }
        Ok(())
    }

    /// Sends forged messages of servers and clients, and repeats recorded frames.
    fn attack(&self, status: &Value) -> Result<()> {
        let sessions = status["sessions"].as_array().context("a list")?;
        for session in sessions {
            let id = i32::try_from(session["id"].as_i64().context("a number")?)?;
            let address = session["address"].as_str().context("an address")?.parse()?;
            for server in 0..SERVERS {
                self.attack_session(server, id, address)?;
            }
            self.attack_client(id, address)?;
        }
        let servers = self.stand.servers.addresses()?;
        for (index, address) in (0..).zip(servers) {
            let SocketAddr::V4(address) = address else {
                continue;
            };
            for to in (0..SERVERS).filter(|to| i32::try_from(*to) != Ok(index)) {
                self.attack_server(address, to, index)?;
            }
        }
        let step = (self.recorded.len() / REPLAYED_MAX).max(1);
        for sent in self.recorded.iter().step_by(step) {
            self.replay(sent)?;
        }
        Ok(())
    }

    /// Sends a recorded datagram again to its receiver.
    fn replay(&self, sent: &Sent) -> Result<()> {
        let (IpAddr::V4(from), IpAddr::V4(to)) = (sent.from, sent.to) else {
            return Ok(());
        };
        let mut nodes = self.stand.servers.segment().nodes().iter();
        let receiver = nodes.find(|node| node.ip() == Some(to));
        let mac = receiver.context("the receiver is a node")?.mac();
        let from = SocketAddrV4::new(from, sent.from_port);
        let to = SocketAddrV4::new(to, sent.to_port);
        self.send_packet(from, (mac, to), &sent.bytes)
    }

    fn send_packet(
        &self,
        from: SocketAddrV4,
        (mac, to): (MacAddr, SocketAddrV4),
        bytes: &[u8],
    ) -> Result<()> {
        let payload = udp_over_ip(from, to, bytes)?;
        let frame = ring_segment::frame(mac, self.attacker.mac(), 0x0800, &payload);
        self.attacker.send_frame(&frame).map(drop)
    }

    fn attack_session(&self, server: usize, id: i32, from: SocketAddrV4) -> Result<()> {
        let token = Token {
            name: b"held",
            data: b"forged",
        };
        let msgnum = i64::MAX - 1;
        let none: &[Token<'_>] = &[];
        for message in [
            Message::Logout,
            Message::Catalog {
                holdings: none.into(),
            },
            Message::Return {
                msgnum,
                token,
                flags: Flags::Both,
            },
            Message::Request {
                msgnum,
                token,
                access: Access::Exclusive,
            },
        ] {
            self.send(from, server, id, message)?;
        }
        // The attacker guesses the ids of other sessions.
        for guess in (id - 20)..(id + 20) {
            self.send(from, server, guess, Message::Logout)?;
        }
        Ok(())
    }

    /// Sends forged messages of the leader to a client.
    fn attack_client(&self, id: i32, to: SocketAddrV4) -> Result<()> {
        let leader = self.stand.servers.addresses()?[self.leader];
        let SocketAddr::V4(leader) = leader else {
            return Ok(());
        };
        let node = self.stand.servers.segment().node(CLIENTS);
        let states = [ServerState::Down; SERVERS];
        let from = i32::try_from(self.leader)?;
        for message in [
            Message::Config {
                leader: 1 << 50,
                sstates: List::from(&states),
            },
            Message::Revoke { name: b"held" },
        ] {
            self.send_to(leader, (node.mac(), to), (from, id), message)?;
        }
        Ok(())
    }

    /// Sends forged messages of the server `index`.
    fn attack_server(&self, from: SocketAddrV4, to: usize, index: i32) -> Result<()> {
        let states = [ServerState::Ready; SERVERS];
        let token = Token {
            name: b"held",
            data: b"forged",
        };
        let assignment = Assignment {
            token,
            holders: Holders::Nobody,
        };
        let assignments = [assignment];
        let seq = (1 << 50) << 32;
        for message in [
            Message::State {
                seq,
                leader: (1 << 50) + i64::from(index),
                sstates: List::from(&states),
                clients: List::default(),
            },
            Message::Heartbeat {
                seq,
                sstate: ServerState::Down,
            },
            Message::Elect { seq, leader: index },
            Message::Elect { seq: 0, leader: -1 },
            Message::Transfer {
                msgnum: 1 << 50,
                part: 0,
                parts: 1,
                assignments: List::from(&assignments),
            },
            Message::Transferred {
                msgnum: 1 << 50,
                part: 0,
            },
        ] {
            self.send(from, to, index, message)?;
        }
        Ok(())
    }

    fn statuses(&mut self) -> Result<Vec<Value>> {
        (0..SERVERS)
            .map(|index| self.stand.servers.server(index).status())
            .collect()
    }

    fn leader_status(&mut self) -> Result<Value> {
        self.stand.servers.server(self.leader).status()
    }
}

/// Returns the parts of a status that an attacker could change.
fn essence(status: &Value) -> Value {
    let keys = [
        "role",
        "state",
        "leader",
        "configuration",
        "authority",
        "survey",
        "tokens",
        "held",
        "waiting",
    ];
    let ids = |session: &Value| json!([session["id"], session["address"]]);
    let sessions = status["sessions"].as_array().into_iter().flatten();
    let sessions: Vec<Value> = sessions.map(ids).collect();
    let states = status["servers"].as_array().into_iter().flatten();
    let states: Vec<&Value> = states.map(|server| &server["state"]).collect();
    let values: Vec<&Value> = keys.iter().map(|key| &status[*key]).collect();
    json!([values, sessions, states])
}

/// Returns an IPv4 packet with a UDP datagram.
fn udp_over_ip(from: SocketAddrV4, to: SocketAddrV4, bytes: &[u8]) -> Result<Vec<u8>> {
    let udp_len = u16::try_from(8 + bytes.len())?;
    let mut ip = vec![0x45, 0];
    ip.extend((20 + udp_len).to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    for address in [from.ip(), to.ip()] {
        ip.extend(Ipv4Addr::octets(address));
    }
    let words = ip
        .chunks_exact(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16))?;
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    for port in [from.port(), to.port(), udp_len, 0] {
        ip.extend(port.to_be_bytes());
    }
    ip.extend(bytes);
    Ok(ip)
}

fn an_attacker_without_a_key_changes_nothing() -> Result<()> {
    let mut attacked = Attacked::new(true)?;
    attacked.stand.wait_for_key(1)?;
    let before = attacked.statuses()?;
    for _ in 0..ROUNDS {
        attacked.attack(&before[attacked.leader])?;
        // If the attack had silenced a server, this server would count as DOWN.
        std::thread::sleep(SERVER_TIMEOUT + Duration::from_millis(200));
    }
    let after = attacked.statuses()?;
    for (before, after) in before.iter().zip(&after) {
        let (old, new) = (essence(before), essence(after));
        ensure!(old == new, "before {old:#}, after {new:#}, {after:#}");
    }
    let counters = &after[attacked.leader]["counters"];
    for reason in [
        "unsigned",
        "unknown_key",
        "wrong_mac",
        "unproven",
        "replayed",
    ] {
        let count = counters[format!("unproven.{reason}")].as_u64();
        ensure!(count > Some(0), "{reason}: {counters:#}");
    }
    let line = |line: &str| line.contains("drops messages without a valid signature");
    let leader = attacked.leader;
    attacked
        .stand
        .servers
        .server(leader)
        .wait_for_line(WAIT_LIMIT, line)?;
    let data = attacked
        .stand
        .output(Some("client.keys"), &["get", "backup/none"])?;
    ensure!(data.status.code() == Some(4), "{data:?}");
    // If the token were lost, the program would end with an error.
    attacked.holder.signal(Signal::SIGTERM)?;
    attacked.holder.expect_line("returned")?;
    attacked.holder.expect_code(0)?;
    let data = attacked
        .stand
        .output(Some("client.keys"), &["get", "held"])?;
    ensure!(data.stdout == b"recorded", "{data:?}");
    Ok(())
}

/// The attack is the same as in the test above. This test shows that the test above can fail.
fn an_attacker_ends_a_session_of_servers_without_keys() -> Result<()> {
    let mut attacked = Attacked::new(false)?;
    let before = attacked.leader_status()?;
    let sessions = essence(&before);
    attacked.attack(&before)?;
    wait_until("the attack changes the servers", || {
        attacked
            .leader_status()
            .is_ok_and(|status| essence(&status) != sessions)
    });
    Ok(())
}
