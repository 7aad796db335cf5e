//! Shows with invented datagrams that the judge can fail.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::{Test, tests};

use super::super::wire::{Body, Datagram};
use super::{DEASSIGN, Judge, MIN_SESSION, READY, Service};
use crate::record::Sent;

/// A datagram. The fields are the time in seconds, the last bytes of the addresses of sender and receiver, two fields
/// of the head, and the body.
type TestDatagram = (u64, [u8; 2], [i64; 2], Body);

pub(crate) fn tests() -> Vec<Test> {
    let all = tests![
        a_token_that_is_granted_to_two_clients_is_found,
        a_grant_that_no_client_requested_is_found,
        a_server_that_leads_out_of_turn_is_found,
        a_server_that_answers_strangers_too_often_is_found,
        a_client_that_uses_another_session_is_found,
    ];
    all.into_iter().map(Test::without_stalls).collect()
}

const ONE: i64 = MIN_SESSION;
const OTHER: i64 = MIN_SESSION + 1;

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 77, 0, last], 7300))
}

/// Returns servers 0 and 1. The addresses of the servers end with 1 and 2.
fn service() -> Service {
    Service {
        lines: Vec::new(),
        servers: vec![address(1), address(2)],
        lease: Duration::from_secs(3),
    }
}

fn judge_all(all: &[TestDatagram]) -> Result<()> {
    let (mut judge, service) = (Judge::default(), service());
    for (at, [from, to], [sender, receiver], body) in all {
        let (source, destination) = (address(*from), address(*to));
        let sent = Sent {
            at: Duration::from_secs(*at),
            node: 0,
            from: source.ip(),
            from_port: source.port(),
            to: destination.ip(),
            to_port: destination.port(),
            bytes: Vec::new(),
        };
        let datagram = Datagram {
            from: *sender,
            to: *receiver,
            ssig: 0,
            body: body.clone(),
            terms: Vec::new(),
        };
        judge.judge_datagram(&service, &sent, &datagram)?;
    }
    Ok(())
}

/// Returns a request for exclusive access to token `t`. The client whose address ends with 9 sends this request to
/// server 0.
fn asks(at: u64, session: i64) -> TestDatagram {
    let token = (b"t".to_vec(), Vec::new());
    let request = Body::Request {
        msgnum: 1,
        token,
        access: -1,
    };
    (at, [9, 1], [session, 0], request)
}

fn grants(at: u64, session: i64, fence: &str) -> TestDatagram {
    let token = (b"t".to_vec(), format!("{fence} ").into_bytes());
    (at, [1, 9], [0, session], Body::Grant { msgnum: 1, token })
}

/// Returns a renewal of the client's session, and the confirmation that server 0 sends.
fn renews(at: u64, session: i64) -> [TestDatagram; 2] {
    let returns = Body::Return {
        msgnum: 7,
        token: (Vec::new(), b"1".to_vec()),
        flags: DEASSIGN,
    };
    let confirms = Body::Confirm { msgnum: 7 };
    [
        (at, [9, 1], [session, 0], returns),
        (at, [1, 9], [0, session], confirms),
    ]
}

fn gives_back(at: u64, session: i64) -> TestDatagram {
    let returns = Body::Return {
        msgnum: 2,
        token: (b"t".to_vec(), Vec::new()),
        flags: DEASSIGN,
    };
    (at, [9, 1], [session, 0], returns)
}

fn a_token_that_is_granted_to_two_clients_is_found() -> Result<()> {
    let mut held = vec![asks(1, ONE), asks(1, OTHER)];
    held.extend(renews(2, ONE));
    held.push(grants(2, ONE, "1"));
    let and = |more: &[_]| judge_all(&[&held, more].concat());
    ensure!(
        and(&[grants(4, OTHER, "2")]).is_err(),
        "the lease has not expired"
    );
    and(&[grants(5, OTHER, "2")])?;
    and(&[gives_back(3, ONE), grants(4, OTHER, "2")])?;
    and(&[(3, [9, 1], [ONE, 0], Body::Logout), grants(4, OTHER, "2")])?;
    ensure!(
        and(&[gives_back(3, ONE), grants(4, OTHER, "1")]).is_err(),
        "the fencing number does not grow"
    );
    Ok(())
}

fn a_grant_that_no_client_requested_is_found() -> Result<()> {
    judge_all(&[asks(1, ONE), grants(2, ONE, "1")])?;
    ensure!(judge_all(&[asks(1, OTHER), grants(2, ONE, "1")]).is_err());
    let seq = 2 << 32;
    let starting = Body::Heartbeat {
        seq,
        state: READY - 1,
    };
    let beats = (1, [1, 2], [0, 1], starting);
    ensure!(judge_all(&[beats, asks(1, ONE), grants(2, ONE, "1")]).is_err());
    let confirms = (2, [1, 9], [0, ONE], Body::Confirm { msgnum: 7 });
    ensure!(judge_all(&[confirms]).is_err(), "no token was returned");
    Ok(())
}

fn a_server_that_leads_out_of_turn_is_found() -> Result<()> {
    let state = |seq, leader| Body::State {
        seq,
        leader,
        states: vec![READY; 2],
        clients: Vec::new(),
    };
    let says = |body| (1, [1, 2], [0, 1], body);
    let (first, second) = (2 << 32, (2 << 32) + 1);
    judge_all(&[says(state(first, 2)), says(state(second, 2))])?;
    ensure!(judge_all(&[says(state(second, 2)), says(state(first, 2))]).is_err());
    ensure!(
        judge_all(&[says(state(3 << 32, 3))]).is_err(),
        "server 1 leads"
    );
    ensure!(judge_all(&[says(state(3 << 32, 2))]).is_err());
    Ok(())
}

fn a_server_that_answers_strangers_too_often_is_found() -> Result<()> {
    let asks = (
        1,
        [9, 1],
        [0, 0],
        Body::Login {
            p: b":7300".to_vec(),
        },
    );
    let config = Body::Config {
        leader: 2,
        states: vec![READY; 2],
    };
    let tells = (1, [1, 9], [0, 0], config);
    judge_all(&[asks.clone(), tells.clone()])?;
    ensure!(judge_all(&[asks, tells.clone(), tells]).is_err());
    Ok(())
}

fn a_client_that_uses_another_session_is_found() -> Result<()> {
    let alive = |session| (1, [9, 1], [session, 0], Body::Alive);
    judge_all(&[alive(ONE)])?;
    ensure!(judge_all(&[alive(5)]).is_err(), "that is no session");
    let (seq, state) = (2 << 32, READY);
    let beat = |from| (1, [1, 2], [from, 1], Body::Heartbeat { seq, state });
    judge_all(&[beat(0)])?;
    ensure!(
        judge_all(&[beat(1)]).is_err(),
        "a heartbeat from another server passes"
    );
    let grant = grants(1, ONE, "1");
    let forged = (1, [9, 1], [ONE, 0], grant.3);
    ensure!(
        judge_all(&[forged]).is_err(),
        "a grant from a client passes"
    );
    Ok(())
}
