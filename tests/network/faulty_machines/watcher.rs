//! Reports of a daemon to people: its log, `watch` and `status`.

use std::time::Instant;

use anyhow::{Result, ensure};
use ring_segment::Daemon;
use serde_json::{Value, json};

use super::WAIT_LIMIT;
use crate::locks::Client;

pub(super) struct Watcher<'a> {
    pub daemon: &'a Daemon,
    pub client: Client,
}

/// Connects a client that gets a daemon's events, except handovers.
pub(super) fn watch(daemon: &Daemon) -> Result<Client> {
    let mut client = Client::connect(&daemon.control())?;
    client.send(&json!({"request": "watch", "turns": false}))?;
    client.expect("snapshot")?;
    Ok(client)
}

impl<'a> Watcher<'a> {
    pub(super) fn of(daemon: &'a Daemon) -> Result<Self> {
        let client = watch(daemon)?;
        Ok(Self { daemon, client })
    }

    pub(super) fn of_all(daemons: &'a [Daemon]) -> Result<Vec<Self>> {
        daemons.iter().map(Self::of).collect()
    }

    pub(super) fn of_started(daemons: &'a [Daemon]) -> Result<Vec<Self>> {
        for daemon in daemons {
            daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("is up:"))?;
        }
        Self::of_all(daemons)
    }

    /// Checks that the daemon reports the fault with this event, and with a log line that contains these words.
    pub(super) fn expect_report(&mut self, event: &str, words: &str) -> Result<()> {
        self.expect_event(event)?;
        self.daemon
            .wait_for_line(WAIT_LIMIT, |line| line.contains(words))?;
        Ok(())
    }

    /// Checks that the daemon reports the fault with this event, and with a log line that contains these words. Its
    /// status must also contain a trouble with these words.
    pub(super) fn expect_trouble(&mut self, event: &str, words: &str) -> Result<()> {
        self.expect_report(event, words)?;
        let shown = |status: &Value| has_trouble(status, words);
        self.daemon.wait_for_status(WAIT_LIMIT, shown).map(drop)
    }

    pub(super) fn expect_event(&mut self, event: &str) -> Result<Value> {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            let message = self.client.expect("event")?;
            if message["event"] == event {
                return Ok(message);
            }
            ensure!(Instant::now() < deadline, "no event {event}");
        }
    }
}

/// Whether a status contains a trouble with these words.
pub(super) fn has_trouble(status: &Value, words: &str) -> bool {
    let mut troubles = status["troubles"].as_array().into_iter().flatten();
    troubles.any(|trouble| trouble.as_str().is_some_and(|it| it.contains(words)))
}
