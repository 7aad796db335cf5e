//! Checks recorded frames against the rules of `docs/jitterbug/protocol/promises.md` Q1 to Q7.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use ring_segment::{Test, tests};

use super::stand::UDP_PORT;
use super::wire::{Datagram, GiverMessages};
use crate::record::{Record, Sent, Stream};

/// A completed pass: one node passed the token, and the next node took it.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    pub at: Duration,
    pub from: IpAddr,
    pub to: IpAddr,
    pub id: i32,
    pub data: Vec<u8>,
}

/// All recorded messages.
#[derive(Debug)]
pub(super) struct Seen {
    pub datagrams: Vec<(Sent, Datagram)>,
    /// Completed passes, in the order of their ends.
    pub passes: Vec<Pass>,
}

pub(super) fn judge(record: &Record) -> Result<Seen> {
    let mut datagrams = Vec::new();
    for sent in record.datagrams(UDP_PORT) {
        let read = Datagram::read(&sent.bytes).with_context(|| format!("{sent:?}"))?;
        datagrams.push((sent, read));
    }
    check_answers(&datagrams)?;
    let (mut passes, streams) = (Vec::new(), record.streams());
    for stream in &streams {
        passes.extend(
            completed_pass(stream).with_context(|| format!("{} to {}", stream.from, stream.to))?,
        );
    }
    passes.sort_by_key(|pass| pass.at);
    check_chains(&passes).map_err(|broken| anyhow!("{broken:#}{}", describe_ends(&streams)))?;
    Ok(Seen { datagrams, passes })
}

/// Checks that each node answers a TR1 with at most one datagram.
fn check_answers(datagrams: &[(Sent, Datagram)]) -> Result<()> {
    let mut requests: HashMap<IpAddr, usize> = HashMap::new();
    for (sent, read) in datagrams {
        match read {
            Datagram::Tr1 { .. } => *requests.entry(sent.from).or_default() += 1,
            Datagram::Ask { .. } | Datagram::Tr2 { .. } => {
                ensure!(sent.from != sent.to, "{} answers itself", sent.from);
            }
        }
    }
    let mut answers: HashMap<(IpAddr, IpAddr), usize> = HashMap::new();
    for (sent, read) in datagrams {
        if let Datagram::Tr2 { .. } = read {
            let count = answers.entry((sent.from, sent.to)).or_default();
            *count += 1;
            let most = requests.get(&sent.to).copied().unwrap_or(0);
            ensure!(
                *count <= most,
                "{} answers {} {count} times, but got only {most} questions",
                sent.from,
                sent.to
            );
        }
    }
    Ok(())
}

/// Returns the pass over a connection, if the pass completed.
fn completed_pass(stream: &Stream) -> Result<Option<Pass>> {
    let with_list = match stream.candidate.bytes[..] {
        [] => return Ok(None),
        [0x31] => true,
        [0x41] => false,
        ref other => anyhow::bail!("{other:02x?} instead of TP2 or TP3"),
    };
    let given = GiverMessages::read(&stream.giver.bytes, with_list)?;
    let (Some(id), Some(data)) = (given.id, given.data) else {
        return Ok(None);
    };
    // The end of the candidate's side means that it took the token, even if bytes follow.
    let is_whole = stream.giver.ended.is_some();
    let Some(at) = stream.candidate.ended.filter(|_| is_whole) else {
        return Ok(None);
    };
    if let Some(list) = given.list {
        ensure!(
            list.iter().any(|(address, _)| *address == stream.from.ip()),
            "a giver is not in its own list"
        );
    }
    let (from, to) = (stream.from.ip(), stream.to.ip());
    Ok(Some(Pass {
        at,
        from,
        to,
        id,
        data,
    }))
}

/// Describes the ends of the connections, with one connection per line.
fn describe_ends(streams: &[Stream]) -> String {
    let line = |it: &Stream| {
        let ends = (it.giver.ended, it.candidate.ended);
        let lengths = (it.giver.bytes.len(), it.candidate.bytes.len());
        format!(
            "\n{} to {}: {lengths:?} bytes, ends {ends:?}",
            it.from, it.to
        )
    };
    streams.iter().map(line).collect()
}

/// Checks that the passes of one token id form a single chain. So each token has at most one holder at any time.
fn check_chains(passes: &[Pass]) -> Result<()> {
    let mut holders: BTreeMap<i32, IpAddr> = BTreeMap::new();
    for pass in passes {
        if let Some(&holder) = holders.get(&pass.id) {
            ensure!(
                holder == pass.from,
                "token {} was at {holder}, but {} passed it to {}",
                pass.id,
                pass.from,
                pass.to
            );
        }
        holders.insert(pass.id, pass.to);
    }
    Ok(())
}

impl Seen {
    /// Checks that the data of each id never become older. `rank` returns the progress that some data contain.
    pub(super) fn check_data(&self, rank: impl Fn(&[u8]) -> Result<u64>) -> Result<()> {
        let mut ranks: BTreeMap<i32, u64> = BTreeMap::new();
        for pass in &self.passes {
            let now = rank(&pass.data).with_context(|| format!("{pass:?}"))?;
            let before = ranks.insert(pass.id, now).unwrap_or(0);
            ensure!(
                before <= now,
                "the data of token {} goes back from {before} to {now}",
                pass.id
            );
        }
        Ok(())
    }

    /// Counts the passes from one node to another.
    pub(super) fn count_passes(&self, from: IpAddr, to: IpAddr) -> usize {
        let all = self.passes.iter();
        all.filter(|pass| (pass.from, pass.to) == (from, to))
            .count()
    }
}

/// Returns the data of a ring that counts.
pub(super) fn number(data: &[u8]) -> Result<u64> {
    match data {
        [] => Ok(0),
        digits => Ok(std::str::from_utf8(digits)?.parse()?),
    }
}

pub(super) fn tests() -> Vec<Test> {
    let all = tests![
        a_token_that_two_nodes_pass_is_found,
        data_that_go_back_are_found,
        a_node_that_answers_more_than_once_is_found,
    ];
    all.into_iter().map(Test::without_stalls).collect()
}

/// Returns a pass of token 7 between two nodes. `from` and `to` are the last bytes of the nodes' addresses.
fn test_pass(at: u64, from: u8, to: u8, data: &[u8]) -> Pass {
    let address = |last| IpAddr::from([10, 77, 0, last]);
    Pass {
        at: Duration::from_secs(at),
        from: address(from),
        to: address(to),
        id: 7,
        data: data.to_vec(),
    }
}

fn a_token_that_two_nodes_pass_is_found() -> Result<()> {
    let chain = [test_pass(1, 1, 2, b"1"), test_pass(2, 2, 3, b"2")];
    check_chains(&chain)?;
    let twice = [test_pass(1, 1, 2, b"1"), test_pass(2, 1, 3, b"2")];
    ensure!(check_chains(&twice).is_err());
    Ok(())
}

fn data_that_go_back_are_found() -> Result<()> {
    let seen = |last: &[u8]| Seen {
        datagrams: Vec::new(),
        passes: vec![test_pass(1, 1, 2, b"9"), test_pass(2, 2, 1, last)],
    };
    seen(b"10").check_data(number)?;
    ensure!(seen(b"8").check_data(number).is_err());
    Ok(())
}

fn a_node_that_answers_more_than_once_is_found() -> Result<()> {
    let sent = |from: u8, to: u8, datagram: Datagram| {
        let address = |last| IpAddr::from([10, 77, 0, last]);
        let sent = Sent {
            at: Duration::ZERO,
            node: usize::from(from),
            from: address(from),
            from_port: 1,
            to: address(to),
            to_port: 1,
            bytes: Vec::new(),
        };
        (sent, datagram)
    };
    let asks = sent(1, 255, Datagram::Tr1 { id: -7, port: 1 });
    let answers = sent(2, 1, Datagram::Tr2 { id: 8 });
    check_answers(&[asks.clone(), answers.clone()])?;
    ensure!(check_answers(&[asks, answers.clone(), answers]).is_err());
    Ok(())
}
