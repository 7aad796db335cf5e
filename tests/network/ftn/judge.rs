//! Checks recorded frames against the rules of `docs/token-service/protocol/`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::wire::{Body, Datagram, signature};
use crate::record::{Record, Sent};

mod self_tests;

pub(super) use self_tests::tests;

const MIN_SESSION: i64 = 1 << 20;
const DATAGRAM_LEN_MAX: usize = 1_232;
const DEASSIGN: i64 = 2;
/// State READY in a message.
const READY: i64 = 2;

/// The servers, and values that follow from their options.
pub(super) struct Service {
    pub lines: Vec<String>,
    pub servers: Vec<SocketAddr>,
    /// Length of a lease: three quarters of CT.
    pub lease: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Grant {
    at: Duration,
    session: i64,
    msgnum: i64,
    fence: u64,
}

#[derive(Default)]
struct Judge {
    /// For each client without a session and each server: the number of datagrams from the client, and the number of
    /// CONFIGs from the server.
    strangers: BTreeMap<(SocketAddr, SocketAddr), (u32, u32)>,
    /// REQUESTs by session and number: the token, and whether the request is exclusive.
    requests: BTreeMap<(i64, i64), (Vec<u8>, i64)>,
    /// RETURNs by session and number: the time of the RETURN, and whether it is a renewal.
    returns: BTreeMap<(i64, i64), (Duration, bool)>,
    /// Time of the last release of each token by each session.
    given_back: BTreeMap<(i64, Vec<u8>), Duration>,
    logged_out: BTreeMap<i64, Duration>,
    leases: BTreeMap<i64, Duration>,
    rounds: BTreeMap<i64, i128>,
    /// Last state that each server reported.
    states: BTreeMap<i64, i64>,
    /// Last exclusive grant of each token.
    grants: BTreeMap<Vec<u8>, Grant>,
    kinds: BTreeSet<&'static str>,
    /// Parts of incomplete messages, by sender, receiver and number.
    parts: BTreeMap<(SocketAddr, SocketAddr, i64), BTreeMap<i64, Vec<u8>>>,
    granted: usize,
}

/// Checks the recorded frames. Returns the number of exclusive grants.
pub(super) fn judge(record: &Record, service: &Service) -> Result<usize> {
    let port = service.servers.first().context("no servers")?.port();
    let mut judge = Judge::default();
    let ssig = signature(&service.lines);
    for sent in record.datagrams_both_ways(port) {
        let says = || format!("{sent:?}");
        let datagram = Datagram::read(&sent.bytes).with_context(says)?;
        ensure!(
            datagram.ssig == ssig,
            "signature {}, not {ssig}: {sent:?}",
            datagram.ssig
        );
        ensure!(
            sent.bytes.len() <= DATAGRAM_LEN_MAX,
            "{} bytes in a datagram",
            sent.bytes.len()
        );
        if let Some(whole) = judge.reassemble(&sent, &datagram)? {
            let datagram = Datagram::read(&whole).with_context(says)?;
            judge
                .judge_datagram(service, &sent, &datagram)
                .with_context(says)?;
        }
        judge
            .judge_datagram(service, &sent, &datagram)
            .with_context(says)?;
    }
    // Every complete run has messages of these kinds.
    for kind in [
        "CONFIG",
        "REQUEST",
        "GRANT",
        "RETURN",
        "CONFIRM",
        "STATE",
        "HEARTBEAT",
    ] {
        ensure!(judge.kinds.contains(kind), "there is no {kind}");
    }
    Ok(judge.granted)
}

impl Judge {
    /// Adds a part of a message. Returns the message when all its parts have arrived.
    fn reassemble(&mut self, sent: &Sent, datagram: &Datagram) -> Result<Option<Vec<u8>>> {
        let Body::Part {
            content,
            part,
            parts,
            bytes,
        } = &datagram.body
        else {
            return Ok(None);
        };
        ensure!((0..*parts).contains(part), "no such part");
        let from = SocketAddr::new(sent.from, sent.from_port);
        let to = SocketAddr::new(sent.to, sent.to_port);
        let known = self.parts.entry((from, to, *content)).or_default();
        let is_new = known.insert(*part, bytes.clone()).is_none();
        let is_whole = is_new && i64::try_from(known.len())? == *parts;
        Ok(is_whole.then(|| known.values().flatten().copied().collect()))
    }

    fn judge_datagram(
        &mut self,
        service: &Service,
        sent: &Sent,
        datagram: &Datagram,
    ) -> Result<()> {
        let from = SocketAddr::new(sent.from, sent.from_port);
        let to = SocketAddr::new(sent.to, sent.to_port);
        let index = |address: SocketAddr| -> Option<i64> {
            let at = service
                .servers
                .iter()
                .position(|server| *server == address)?;
            i64::try_from(at).ok()
        };
        match (index(from), index(to)) {
            (Some(server), receiver) => {
                ensure!(datagram.from == server, "the sender is s{server}");
                self.on_server_message(service, sent, (from, to), receiver, datagram)
            }
            (None, Some(server)) => {
                ensure!(datagram.to == server, "the receiver is s{server}");
                self.strangers.entry((from, to)).or_default().0 += 1;
                self.on_client_message(sent, datagram)
            }
            (None, None) => anyhow::bail!("neither sender nor receiver is a server"),
        }
    }

    fn on_client_message(&mut self, sent: &Sent, datagram: &Datagram) -> Result<()> {
        let session = datagram.from;
        let has_session = session >= MIN_SESSION;
        match &datagram.body {
            Body::Login { p } => {
                let own = format!(":{}", sent.from_port);
                ensure!(
                    *p == own.as_bytes() && session == 0,
                    "LOGIN of another session"
                );
                return Ok(());
            }
            Body::Request {
                msgnum,
                token,
                access,
            } => {
                self.kinds.insert("REQUEST");
                let request = (token.0.clone(), *access);
                let known = self.requests.entry((session, *msgnum)).or_insert(request);
                ensure!(
                    known.0 == token.0,
                    "a session uses one number for requests of two tokens"
                );
            }
            Body::Return {
                msgnum,
                token: (name, data),
                flags,
            } => {
                self.kinds.insert("RETURN");
                let returned = (sent.at, name.is_empty());
                self.returns.entry((session, *msgnum)).or_insert(returned);
                if name.is_empty() {
                    let is_renewal = *flags == DEASSIGN && data.iter().all(u8::is_ascii_digit);
                    ensure!(is_renewal && !data.is_empty(), "a RETURN without a token");
                } else if flags & DEASSIGN != 0 {
                    self.given_back.insert((session, name.clone()), sent.at);
                }
            }
            Body::Logout => {
                self.logged_out.entry(session).or_insert(sent.at);
            }
            Body::Catalog { holdings } => {
                let first = holdings.first().context("the begin marker is missing")?;
                ensure!(first.0.is_empty(), "the message begins with a token");
            }
            Body::Alive | Body::Part { .. } | Body::Parted { .. } => {}
            _ => anyhow::bail!("a client sent a server's message"),
        }
        ensure!(has_session, "{session} is not a session");
        Ok(())
    }

    fn on_server_message(
        &mut self,
        service: &Service,
        sent: &Sent,
        (from, to): (SocketAddr, SocketAddr),
        receiver: Option<i64>,
        datagram: &Datagram,
    ) -> Result<()> {
        let (server, session) = (datagram.from, datagram.to);
        let count = service.servers.len();
        check_receiver(receiver, datagram)?;
        match &datagram.body {
            Body::Config { leader, states } => {
                self.kinds.insert("CONFIG");
                ensure!(*leader > 0 && states.len() == count, "no configuration");
                if session == 0 {
                    ensure!(sent.bytes.len() <= 16 + count, "the message is too long");
                    let (questions, answers) = self.strangers.entry((to, from)).or_default();
                    *answers += 1;
                    ensure!(
                        answers <= questions,
                        "{answers} answers to {questions} datagrams"
                    );
                }
            }
            Body::Grant {
                msgnum,
                token: (name, data),
            } if !name.is_empty() => {
                self.kinds.insert("GRANT");
                let state = self.states.get(&server);
                let is_ready = state.is_none_or(|state| *state == READY);
                ensure!(is_ready, "s{server} is not READY");
                let request = self.requests.get(&(session, *msgnum));
                let (requested, access) = request.context("no client has requested the token")?;
                ensure!(requested == name, "the client has requested another token");
                if *access == -1 {
                    let fence = data.split(|byte| *byte == b' ').next().unwrap_or_default();
                    let fence = std::str::from_utf8(fence)?.parse().context("no FENCE")?;
                    let (at, msgnum) = (sent.at, *msgnum);
                    self.on_granted(
                        name,
                        Grant {
                            at,
                            session,
                            msgnum,
                            fence,
                        },
                    )?;
                }
            }
            Body::Confirm { msgnum } => {
                self.kinds.insert("CONFIRM");
                let returned = self.returns.get(&(session, *msgnum));
                let (at, is_renewal) = returned.context("the client has returned no token")?;
                if *is_renewal {
                    let until = self.leases.entry(session).or_default();
                    *until = (*until).max(*at + service.lease);
                }
            }
            Body::State {
                seq,
                leader,
                states,
                ..
            } => {
                self.kinds.insert("STATE");
                ensure!(
                    seq >> 32 == i128::from(*leader),
                    "the seq is of another leader"
                );
                let is_leader = leader % i64::try_from(count)? == server;
                ensure!(
                    is_leader && states.len() == count,
                    "s{server} does not lead under {leader}"
                );
                let last = self.rounds.insert(server, *seq).unwrap_or_default();
                ensure!(*seq >= last, "seq goes back from {last}");
                self.states.insert(server, states[usize::try_from(server)?]);
            }
            Body::Heartbeat { state, .. } => {
                self.kinds.insert("HEARTBEAT");
                self.states.insert(server, *state);
            }
            Body::Transfer { part, parts, .. } => {
                ensure!(0 <= *part && part < parts, "no such part");
            }
            Body::Grant { .. }
            | Body::Revoke { .. }
            | Body::Elect { .. }
            | Body::Transferred { .. }
            | Body::Part { .. }
            | Body::Parted { .. } => {}
            _ => anyhow::bail!("a server sent a client's message"),
        }
        Ok(())
    }

    /// Checks an exclusive grant. The number of the grant must exceed the number of the previous grant. The session of
    /// the previous grant must have released the token, logged out or expired.
    fn on_granted(&mut self, name: &[u8], grant: Grant) -> Result<()> {
        let Some(before) = self.grants.insert(name.to_vec(), grant) else {
            self.granted += 1;
            return Ok(());
        };
        if (before.session, before.msgnum, before.fence)
            == (grant.session, grant.msgnum, grant.fence)
        {
            return Ok(());
        }
        self.granted += 1;
        ensure!(grant.fence > before.fence, "FENCE after {}", before.fence);
        if before.session == grant.session {
            return Ok(());
        }
        let since = |at: Option<&Duration>| at.is_some_and(|at| *at >= before.at);
        let given_back = self.given_back.get(&(before.session, name.to_vec()));
        let is_free = since(given_back) || self.logged_out.contains_key(&before.session);
        let lease = self
            .leases
            .get(&before.session)
            .copied()
            .unwrap_or_default();
        ensure!(
            is_free || lease <= grant.at,
            "{} has had the token since {:?} and has a lease until {lease:?}",
            before.session,
            before.at
        );
        Ok(())
    }
}

/// Checks that the receiver may get a server's message. `receiver` is the number of the receiving server; `None` for
/// other receivers.
fn check_receiver(receiver: Option<i64>, datagram: &Datagram) -> Result<()> {
    let between_servers = matches!(
        datagram.body,
        Body::State { .. }
            | Body::Heartbeat { .. }
            | Body::Elect { .. }
            | Body::Transfer { .. }
            | Body::Transferred { .. }
    );
    let by_both = matches!(datagram.body, Body::Part { .. } | Body::Parted { .. });
    if between_servers || by_both && receiver.is_some() {
        ensure!(receiver == Some(datagram.to), "the receiver is wrong");
    } else {
        ensure!(
            receiver.is_none(),
            "a server received a message for clients"
        );
    }
    Ok(())
}
