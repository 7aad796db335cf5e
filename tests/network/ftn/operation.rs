//! Operations on servers, and misbehaving clients: unresolved names, planned stops, differing options, floods.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_codec::ftn::{Access, Datagram, Flags, Header, Kind, Message, Token};
use ring_proto::ftn::{DATA_BYTES_MAX, PART, Servers};
use ring_segment::{Test, WAIT_LIMIT, proc, tests};

use super::stand::{PORT, ServerStand};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_server_whose_name_cannot_be_resolved_counts_as_down,
        a_server_with_other_options_is_named_and_clients_follow_it,
        data_that_no_client_holds_survive_the_stop_of_their_server,
        a_flood_of_waiting_clients_takes_at_most_a_quarter_more_than_the_allowed_memory,
    ]
}

/// Runs `ringctl token` on a node, and waits for its end.
fn run_token(stand: &ServerStand, node: usize, arguments: &[&str]) -> Result<std::process::Output> {
    let mut command = Command::new(ring_segment::program("ringctl"));
    command
        .arg("token")
        .arg("--servers")
        .arg(stand.list())
        .args(arguments);
    Ok(stand.segment().node(node).ns().run(|| command.output())??)
}

fn a_server_whose_name_cannot_be_resolved_counts_as_down() -> Result<()> {
    let mut stand = ServerStand::without_servers(2, 2)?;
    let lines = fs::read_to_string(stand.list())?;
    fs::write(stand.list(), format!("{lines}nowhere.invalid:{PORT}\n"))?;
    for index in 0..2 {
        stand.start(index, &[])?;
    }
    stand.wait_until_served_by(&[0, 1])?;
    let status = stand.server(0).status()?;
    let is_reported =
        |trouble: &str| trouble.contains("server 2 (nowhere.invalid:7301) has no address");
    let troubles = status["troubles"].as_array().context("a list")?;
    ensure!(
        troubles
            .iter()
            .any(|it| it.as_str().is_some_and(is_reported)),
        "{status:#}"
    );
    ensure!(status["quorum"] == 2, "{status:#}");
    let set = run_token(&stand, 0, &["set", "t", "v"])?;
    ensure!(set.status.success(), "{set:?}");
    Ok(())
}

fn a_server_with_other_options_is_named_and_clients_follow_it() -> Result<()> {
    let mut stand = ServerStand::without_servers(2, 2)?;
    stand.start(0, &[])?;
    stand.start(1, &[("--client-timeout", "2s"), ("--quorum", "2")])?;
    stand.wait_until_served_by(&[0, 1])?;
    for (index, other) in [(0, "server 1 ("), (1, "server 0 (")] {
        let names = |line: &str| {
            line.contains(other) && line.contains("--client-timeout") && line.contains("--quorum")
        };
        stand.server(index).wait_for_line(WAIT_LIMIT, names)?;
        let status = stand.server(index).status()?;
        let troubles = status["troubles"].to_string();
        ensure!(names(&troubles), "{status:#}");
    }
    ensure!(stand.server(0).status()?["quorum"] == 2);
    Ok(())
}

/// Each server has a token with data. So wherever a server stops, the data of a token must survive.
fn data_that_no_client_holds_survive_the_stop_of_their_server() -> Result<()> {
    let mut stand = ServerStand::new(3, 3, &[])?;
    let leader = stand.wait_until_served_by(&[0, 1, 2])?;
    let names: Vec<String> = (0..8).map(|number| format!("t{number}")).collect();
    for name in &names {
        let set = run_token(&stand, leader, &["set", name, name])?;
        ensure!(set.status.success(), "{set:?}");
    }
    let stopped = (leader + 1) % 3;
    for index in [stopped, leader] {
        let server = stand.server(index);
        server.signal(Signal::SIGTERM)?;
        ensure!(server.wait_exit(WAIT_LIMIT)?.code() == Some(0));
        let others: Vec<usize> = (0..3).filter(|other| *other != index).collect();
        stand.wait_until_served_by(&others)?;
        for name in &names {
            let get = run_token(&stand, others[0], &["get", name])?;
            ensure!(
                get.status.success() && get.stdout == name.as_bytes(),
                "{get:?}"
            );
        }
        stand.server(index).start()?;
        stand.wait_until_served_by(&[0, 1, 2])?;
    }
    Ok(())
}

/// A client whose messages the test composes itself.
struct ManualClient {
    socket: UdpSocket,
    ssig: i32,
    session: i32,
    sent: i64,
}

impl ManualClient {
    fn log_in(server: SocketAddr, ssig: i32) -> Result<Self> {
        let socket = UdpSocket::bind(("10.77.0.1", 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(WAIT_LIMIT))?;
        let mut flood = Self {
            socket,
            ssig,
            session: 0,
            sent: 0,
        };
        let p = format!(":{}", flood.socket.local_addr()?.port());
        flood.send(Message::Login { p: p.as_bytes() })?;
        let mut buffer = [0; 2_048];
        let len = flood.socket.recv(&mut buffer)?;
        flood.session = Datagram::decode(&buffer[..len])?.header().to;
        ensure!(flood.session > 0, "no session");
        flood.send(Message::Alive)?;
        Ok(flood)
    }

    fn send(&mut self, message: Message<'_>) -> Result<()> {
        self.socket.send(&self.datagram(message)?)?;
        Ok(())
    }

    fn datagram(&self, message: Message<'_>) -> Result<Vec<u8>> {
        let header = Header {
            from: self.session,
            to: 0,
            ssig: self.ssig,
        };
        let datagram = Datagram::new(header, message);
        let mut bytes = vec![0; datagram.encoded_len()];
        datagram.encode(&mut bytes)?;
        Ok(bytes)
    }

    /// Sets the data of a token that no client holds. Waits for the grant and the confirmation.
    fn fill(&mut self, name: &str, data: &[u8]) -> Result<()> {
        self.request(name, Access::Exclusive)?;
        self.wait_for(Kind::Grant)?;
        self.sent += 1;
        let (msgnum, name) = (self.sent, name.as_bytes());
        let message = Message::Return {
            msgnum,
            token: Token { name, data },
            flags: Flags::Both,
        };
        let bytes = self.datagram(message)?;
        self.send_parts(msgnum, &bytes, usize::MAX)?;
        self.wait_for(Kind::Confirm)
    }

    fn wait_for(&self, kind: Kind) -> Result<()> {
        let mut buffer = [0; 2_048];
        loop {
            let len = self.socket.recv(&mut buffer)?;
            if Datagram::decode(&buffer[..len])?.message().kind() == kind {
                return Ok(());
            }
        }
    }

    fn send_parts(&mut self, content: i64, bytes: &[u8], count: usize) -> Result<()> {
        let parts = i32::try_from(bytes.len().div_ceil(PART))?;
        for (part, bytes) in (0..).zip(bytes.chunks(PART)).take(count) {
            self.send(Message::Part {
                content,
                part,
                parts,
                bytes,
            })?;
        }
        Ok(())
    }

    fn request(&mut self, name: &str, access: Access) -> Result<()> {
        self.sent += 1;
        let (msgnum, data) = (self.sent, &b""[..]);
        let token = Token {
            name: name.as_bytes(),
            data,
        };
        self.send(Message::Request {
            msgnum,
            token,
            access,
        })
    }
}

fn a_flood_of_waiting_clients_takes_at_most_a_quarter_more_than_the_allowed_memory() -> Result<()> {
    const ALLOWED_KIB: u64 = 6 << 10;
    /// Memory for the buffers of the daemon's loop and for outgoing datagrams.
    const BUFFERS_KIB: u64 = 4 << 10;
    let mut stand = ServerStand::new(1, 1, &[("--max-memory", "6MiB")])?;
    stand.wait_until_served_by(&[0])?;
    let pid = stand.server(0).pid();
    let before = proc::resident_kib(pid)?;
    let lines = fs::read_to_string(stand.list())?;
    let address: SocketAddr = format!("10.77.0.1:{PORT}").parse()?;
    let servers = Servers::new(lines.lines().map(|line| (line, address))).context("a list")?;
    let ns = stand.segment().node(0).ns().clone();
    ns.run(|| -> Result<()> {
        let floods = (0..80).map(|_| ManualClient::log_in(address, servers.signature()));
        let mut floods: Vec<ManualClient> = floods.collect::<Result<_>>()?;
        // Messages in parts that the client never acknowledges, and incomplete messages.
        let data = vec![7; DATA_BYTES_MAX];
        for number in 0..8 {
            floods[0].fill(&format!("long {number}"), &data)?;
        }
        for flood in &mut floods[1..] {
            for number in 0..8 {
                flood.request(&format!("long {number}"), Access::Shared)?;
                flood.send_parts(-number, &data, 26)?;
            }
        }
        for number in 0..1_250 {
            let name = format!("a name of some length, as that of a job, {number}");
            for flood in &mut floods {
                flood.request(&name, Access::Exclusive)?;
            }
        }
        Ok(())
    })??;
    let is_full =
        |status: &serde_json::Value| status["counters"]["refused_memory"].as_u64() > Some(0);
    let status = stand.server(0).wait_for_status(WAIT_LIMIT, is_full)?;
    let taken = proc::resident_kib(pid)?.saturating_sub(before);
    ensure!(
        taken <= ALLOWED_KIB * 5 / 4 + BUFFERS_KIB,
        "{taken} KiB of {ALLOWED_KIB}: {status:#}"
    );
    ensure!(status["memory_bytes"].as_u64() <= status["max_memory_bytes"].as_u64());
    Ok(())
}
