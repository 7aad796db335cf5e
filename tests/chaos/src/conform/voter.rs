//! A member of level *voter*: the smallest program that a ring can use. With a voter, two of three machines form a
//! quorum, but the voter never owns the token.
//!
//! The member shares no code with `ringd`. It knows the state of the table and one vote.

use std::env;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use nix::ifaddrs::getifaddrs;
use ring_segment::{ETHERTYPE, MacAddr, Message, Peer, Seen, Timing, Token, frame, now};

use crate::member::Table;

/// Environment variable that makes this program a voter. The value is `MILLISECONDS FLAW`.
const VOTER: &str = "RING_CHAOS_VOTER";
/// Time for which the voter waits for a frame.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A rule that a voter breaks, to test the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Flaw {
    /// Confirms every heartbeat, even after it has confirmed a different tenure.
    SecondVote,
    /// Confirms tenures right after its start.
    EarlyVote,
    /// Confirms no tenure.
    NoVote,
    /// Accepts frames whose author differs from their source address.
    ForgedAuthor,
}

#[derive(Debug, Clone, Copy)]
struct Vote {
    token: Token,
    holder: MacAddr,
    until: Duration,
}

/// The state of a voter, without a socket and a clock.
#[derive(Debug)]
pub struct Voter {
    table: Table,
    timing: Timing,
    vote: Option<Vote>,
    silent_until: Duration,
    flaw: Option<Flaw>,
}

impl Voter {
    pub fn new(
        mac: MacAddr,
        ip: [u8; 16],
        timing: Timing,
        flaw: Option<Flaw>,
        now: Duration,
    ) -> Self {
        let silence = match flaw {
            Some(Flaw::EarlyVote) => Duration::ZERO,
            _ => timing.waiter_timeout(),
        };
        Self {
            table: Table::new(mac, ip),
            timing,
            vote: None,
            // An earlier process may have confirmed a tenure.
            silent_until: now + silence,
            flaw,
        }
    }

    /// Handles a frame. Returns the answers: destination and payload.
    pub fn on_frame(&mut self, now: Duration, seen: &Seen) -> Vec<(MacAddr, Vec<u8>)> {
        let own = self.table.own();
        if matches!(seen.message, Message::Invalid(_)) {
            if self.flaw == Some(Flaw::ForgedAuthor) {
                self.table.add_author(seen.author);
            }
            return Vec::new();
        }
        if seen.author == own {
            return Vec::new();
        }
        self.table.add_author(seen.author);
        if let Message::TokenWasHereRecently { token, .. } = seen.message
            && seen.is_broadcast()
            && (self.vote)
                .is_some_and(|it| it.token.chain() == token.chain() && token.beats(&it.token))
        {
            self.vote = None;
        }
        let period = self.timing.heartbeat;
        let answer = self.table.on_frame(now, seen, false, period);
        let (Some(beat), Some(token)) = (seen.beat(), seen.message.token()) else {
            return (answer.into_iter())
                .map(|(to, message)| (to, self.payload(&message, None)))
                .collect();
        };
        // The confirmation is a PING, so it is also an answer about the table.
        let confirmed = self
            .confirm(now, token, seen.author)
            .then_some((token, beat));
        vec![(seen.author, self.payload(&self.table.ping(), confirmed))]
    }

    /// Confirms the tenure of a holder, if the vote does not belong to another tenure.
    fn confirm(&mut self, now: Duration, token: Token, holder: MacAddr) -> bool {
        let lasts = self.timing.waiter_timeout();
        let is_free = self.vote.is_none_or(|vote| {
            let is_newer = token == vote.token || token.beats(&vote.token);
            let same_chain = token.chain() == vote.token.chain();
            now >= vote.until || is_newer && (same_chain || vote.holder == holder)
        });
        let ignores_vote = self.flaw == Some(Flaw::SecondVote);
        if self.flaw == Some(Flaw::NoVote) || now < self.silent_until || !(is_free || ignores_vote)
        {
            return false;
        }
        let until = now + lasts;
        self.vote = Some(Vote {
            token,
            holder,
            until,
        });
        true
    }

    /// Returns the payload of a message. A PING announces that the voter is paused.
    fn payload(&self, message: &Message, confirmed: Option<(Token, u32)>) -> Vec<u8> {
        let mut payload = message.payload(self.table.own());
        if let Message::Ping { .. } = message {
            payload.extend(*b"RGD1");
            payload.push(2 + u8::from(confirmed.is_some()));
            let mut rest = [0; 30];
            if let Some((token, beat)) = confirmed {
                let lasts = self.timing.waiter_timeout().as_nanos();
                rest[..8].copy_from_slice(&token.progress.to_be_bytes());
                rest[8..14].copy_from_slice(&token.author.octets());
                rest[14..18].copy_from_slice(&token.number.to_be_bytes());
                rest[18..22].copy_from_slice(&beat.to_be_bytes());
                let lasts = u64::try_from(lasts).unwrap_or(u64::MAX);
                rest[22..].copy_from_slice(&lasts.to_be_bytes());
            }
            payload.extend(rest);
        }
        payload
    }

    /// Returns the payload of a PING, which announces that the voter is paused.
    fn start(&self) -> Vec<u8> {
        self.payload(&self.table.ping(), None)
    }
}

fn mac_of(interface: &str) -> Result<MacAddr> {
    let mut addresses = getifaddrs().context("cannot list the interfaces")?;
    let address = addresses.find_map(|it| {
        let link = it.address.as_ref()?.as_link_addr()?.addr()?;
        (it.interface_name == interface).then_some(link)
    });
    let address = address.with_context(|| format!("{interface} has no MAC address"))?;
    Ok(MacAddr::from(address))
}

/// Returns the command line of a voter, for a program that calls [`run_if_asked`].
pub fn command(program: &str, heartbeat: Duration, flaw: Option<Flaw>) -> Vec<String> {
    let flaw = flaw.and_then(|flaw| flaw.to_possible_value());
    let flaw = flaw.map_or(String::new(), |flaw| flaw.get_name().to_owned());
    let role = format!("{VOTER}={} {flaw}", heartbeat.as_millis());
    ["env", &role, program, "{iface}", "{ip}"]
        .map(str::to_owned)
        .to_vec()
}

/// Runs this process as a voter if it was started for this purpose. Returns the exit code.
pub fn run_if_asked() -> Option<ExitCode> {
    let role = env::var(VOTER).ok()?;
    let (heartbeat, flaw) = role.split_once(' ')?;
    let heartbeat = Duration::from_millis(heartbeat.parse().ok()?);
    let flaw = Flaw::from_str(flaw, false).ok();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [interface, ip] = &arguments[..] else {
        return Some(ExitCode::FAILURE);
    };
    let timing = Timing::tolerant(heartbeat);
    if let Err(error) = run(interface, ip.parse().ok()?, timing, flaw) {
        eprintln!("the voter: {error:#}");
    }
    Some(ExitCode::FAILURE)
}

/// Runs a voter on an interface until the process is killed.
pub fn run(interface: &str, ip: Ipv4Addr, timing: Timing, flaw: Option<Flaw>) -> Result<()> {
    let mac = mac_of(interface)?;
    let peer = Peer::on(interface, mac)?;
    let ip = ip.to_ipv6_mapped().octets();
    let mut voter = Voter::new(mac, ip, timing, flaw, now());
    let send = |to: MacAddr, payload: &[u8]| {
        // If the link is down, the frame is lost.
        let _ = peer.send_frame(&frame(to, mac, ETHERTYPE, payload));
    };
    send(MacAddr::broadcast(), &voter.start());
    loop {
        let Some(seen) = peer.receive(POLL_INTERVAL)? else {
            continue;
        };
        let at = now();
        if let Message::TakeToken { .. } = seen.message {
            send(seen.author, &voter.start());
        }
        for (to, payload) in voter.on_frame(at, &seen) {
            send(to, &payload);
        }
    }
}
