//! Creates the status from the state machine and its environment.

use std::net::SocketAddr;

use ring_control::ftn::{ServerStatus, SessionStatus, Status};
use ring_control::{ConfigStatus, Health};
use ring_host::DatagramDrops;
use ring_host::trust::{key_ids, trust_status, unproven_counts};
use ring_process::sandbox::missing_limits;
use ring_proto::ftn::server::Server;
use ring_proto::time::{Now, nanos};

use super::addresses::Addresses;
use super::trust::Link;
use crate::system::ftn::observe::{Names, state_name};

/// The values of a status that do not come from the state machine.
#[derive(Debug)]
pub(super) struct StatusInputs<'a> {
    pub started: Now,
    pub names: &'a Names,
    pub addresses: &'a Addresses,
    pub link: &'a mut Link,
    pub late_wake_ups: u64,
}

/// Returns the server's view of itself and the other servers at `now`.
pub(super) fn status(now: Now, machine: &Server, around: StatusInputs<'_>) -> Status {
    let StatusInputs {
        started,
        names,
        addresses,
        link,
        late_wake_ups,
    } = around;
    let snapshot = machine.snapshot(now.monotonic);
    let options = machine.options();
    let signer = link.signer();
    let keys = key_ids(signer);
    let key_of = |address: SocketAddr| keys.get(&address).copied();
    let servers = names.iter().zip(&snapshot.states).enumerate();
    let servers = servers.map(|(index, (name, &state))| ServerStatus {
        name: name.to_owned(),
        state: state_name(state).to_owned(),
        key: addresses.address(index).and_then(key_of),
    });
    let sessions = snapshot.sessions.iter().map(|(id, address)| SessionStatus {
        id: *id,
        address: address.to_string(),
        key: key_of(*address),
    });
    let trust = trust_status(signer);
    let unproven = unproven_counts(signer).into_iter();
    let unproven = unproven.map(|(reason, count)| (format!("unproven.{reason}"), count));
    let denials = signer.map_or(0, |signer| signer.addressing().denials());
    let DatagramDrops { kernel, cut } = link.link_mut().drops();
    let others = [
        ("dropped.kernel", kernel),
        ("dropped.cut", cut),
        ("dropped.name", denials),
        ("late_wake_ups", late_wake_ups),
    ];
    let others = others.map(|(name, count)| (name.to_owned(), count));
    let others = others.into_iter().chain(unproven);
    let others: Vec<_> = others.filter(|(_, count)| *count > 0).collect();
    Status {
        ringd: env!("CARGO_PKG_VERSION").to_owned(),
        up_ns: nanos(now.monotonic.since(started.monotonic)),
        index: snapshot.index,
        servers: servers.collect(),
        ssig: snapshot.ssig,
        quorum: machine.quorum(),
        role: snapshot.role.name().to_owned(),
        state: state_name(snapshot.state).to_owned(),
        leader: snapshot.leader,
        configuration: snapshot.configuration,
        round: snapshot.round(),
        authority: snapshot.authority,
        grace_ns: nanos(snapshot.grace),
        survey: snapshot.survey,
        sessions: sessions.collect(),
        tokens: snapshot.tokens,
        held: snapshot.held,
        waiting: snapshot.waiting,
        memory_bytes: snapshot.memory_bytes,
        parts_bytes: snapshot.parts_bytes,
        max_memory_bytes: options.max_memory,
        trust,
        missing_limits: missing_limits(),
        config: ConfigStatus::default(),
        health: Health::default(),
        troubles: Vec::new(),
        counters: machine
            .counters()
            .entries()
            .into_iter()
            .chain(others)
            .collect(),
    }
}
