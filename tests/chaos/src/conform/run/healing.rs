//! Whether the ring is whole again after a fault.

use std::thread;
use std::time::{Duration, Instant};

use ring_segment::{is_claim, now};
use serde_json::{Value, json};

use super::{CANDIDATE, Judgment, POLL_INTERVAL, RING, STRANGER};

impl Judgment<'_> {
    /// Waits until the ring is whole again after a fault.
    pub(super) fn heal(&mut self, fault: &str) {
        let began = Instant::now();
        if let Some(why) = self.wait_until_whole(now(), self.bound()) {
            self.unhealed.push(format!("after \"{fault}\": {why}"));
        }
        self.slowest = self.slowest.max(began.elapsed());
        self.heals += 1;
    }

    /// Waits until there is one owner and all tables are equal. Returns the reason if the ring does not become whole in
    /// time.
    pub(super) fn wait_until_whole(&self, from: Duration, timeout: Duration) -> Option<String> {
        let deadline = Instant::now() + timeout;
        loop {
            let why = self.why_not_whole(from);
            if why.is_none() || Instant::now() > deadline {
                return why;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    pub(super) fn why_not_whole(&self, from: Duration) -> Option<String> {
        let mut hashes = Vec::new();
        for daemon in &self.daemons {
            let status = daemon.ask(&json!({"request": "status"}), "status");
            let Ok(status) = status else {
                return Some("a ringd does not answer".to_owned());
            };
            let state = status["state"].as_str().unwrap_or_default().to_owned();
            if !["OWNER", "WAITER"].contains(&state.as_str()) {
                return Some(format!("a ringd is {state}"));
            }
            if members(&status) != RING {
                return Some(format!("a ringd knows {} members", members(&status)));
            }
            hashes.push(status["ring_hash"].as_str().unwrap_or_default().to_owned());
        }
        if hashes[0] != hashes[1] {
            return Some("the tables of the ringds differ".to_owned());
        }
        match self.last_digest(from) {
            Some(hash) if format!("{hash:016x}") == hashes[0] => {}
            Some(hash) => {
                let why = format!(
                    "the program's table has the hash {hash:016x}, not {}",
                    hashes[0]
                );
                return Some(why);
            }
            None => return Some("the program has sent no digest".to_owned()),
        }
        let recent = now().saturating_sub(2 * self.timing().heartbeat);
        let chains = self.segment.capture().look(|frames| {
            let recent = frames.iter().rev().take_while(|seen| seen.at >= recent);
            let claims = recent.filter(|seen| is_claim(seen) && seen.port != STRANGER);
            let chains = claims.filter_map(|seen| Some(seen.message.token()?.chain()));
            chains.collect::<std::collections::HashSet<_>>().len()
        });
        (chains != 1).then(|| format!("{chains} tokens are claimed"))
    }

    /// Returns the hash in the last digest that the program has sent since a time.
    pub(super) fn last_digest(&self, from: Duration) -> Option<u64> {
        self.segment.capture().look(|frames| {
            let recent = frames.iter().rev().take_while(|seen| seen.at >= from);
            let mut own = recent.filter(|seen| seen.port == CANDIDATE);
            own.find_map(|seen| seen.message.digest().map(|digest| digest.hash))
        })
    }
}

pub(super) fn members(status: &Value) -> usize {
    status["members"].as_array().map_or(0, Vec::len)
}
