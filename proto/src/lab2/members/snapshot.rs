//! What the machine's future depends on of its members.

use std::hash::Hash;
use std::time::Duration;

use super::Members;
use super::hearing::Hearing;
use super::peer::{Notes, Peer};
use super::removed::{self, Removed};
use super::sweep::Sweep;
use super::table::Table;
use crate::lab2::machine::{Context, Writer};

impl Members {
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context) {
        let Self {
            table,
            middle,
            hearing,
            silence,
            sweep,
            corrections,
        } = self;
        let constants = context.constants();
        let (heartbeat, patience) = (constants.heartbeat, context.waiter_timeout());
        let quiet = self.silence(context);
        middle.hash(writer);
        write_table(
            writer,
            table,
            heartbeat,
            patience,
            (quiet, constants.forget),
        );
        let forgets = constants.forget.is_some();
        write_hearing(writer, hearing, context.deaf_after(), quiet, forgets);
        silence.snapshot(writer, quiet);
        writer.within(corrections.last(), heartbeat);
        write_sweep(writer, sweep, heartbeat);
    }
}

/// A node is deaf after `earshot`.
fn write_hearing(
    writer: &mut Writer,
    hearing: &Hearing,
    earshot: Duration,
    silence: Duration,
    forgets: bool,
) {
    let Hearing { last, since, deaf } = hearing;
    writer.age_up_to(*last, earshot);
    // Asked for only where members are forgotten.
    writer.age_up_to(since.filter(|_| forgets), silence);
    deaf.hash(writer);
}

fn write_table(
    writer: &mut Writer,
    table: &Table,
    heartbeat: Duration,
    patience: Duration,
    remembered: (Duration, Option<Duration>),
) {
    let Table {
        members,
        peers,
        max,
        notes,
        profiles,
        // Which only people are told of.
        versions: _,
        // These follow from what is taken down; a table that small is in order.
        hash: _,
        in_order: _,
        latest: _,
        wanting: _,
        failed: _,
        heard: _,
        removed: Removed { entries, told },
    } = table;
    (max, members.len()).hash(writer);
    for (member, peer) in members.iter().zip(peers) {
        (member.mac, member.ip).hash(writer);
        write_peer(writer, peer, patience, remembered);
    }
    let now = writer.now;
    writer.age_up_to(told.last(), heartbeat);
    for removed::Entry { mac, until, tell } in entries.iter().filter(|entry| entry.until > now) {
        (mac, until.since(now), tell).hash(writer);
    }
    for (mac, notes) in notes {
        mac.hash(writer);
        write_notes(writer, notes, heartbeat, patience);
    }
    profiles.hash(writer);
}

/// Whether it is silent is asked of one that was heard, whether it is to be removed of all.
fn write_peer(
    writer: &mut Writer,
    peer: &Peer,
    patience: Duration,
    (silence, forget): (Duration, Option<Duration>),
) {
    let Peer {
        penalty,
        seen: _, // which the method tells in full
        wants,
        overdue,
        owed_ping,
        has_none,
        paused,
        failed,
        deaf,
        left,
        noted,
        heard,
        // Which only people are told of.
        told_silent: _,
        told_version: _,
    } = peer;
    (penalty, wants, owed_ping, has_none, paused, failed, left).hash(writer);
    (noted, heard, deaf, overdue).hash(writer);
    let asked_of = forget.map_or(silence, |forget| forget.max(silence));
    let since = Some(peer.silent_since()).filter(|_| *heard || forget.is_some());
    writer.age_up_to(since, asked_of.max(patience));
}

fn write_notes(writer: &mut Writer, notes: &Notes, heartbeat: Duration, patience: Duration) {
    let Notes {
        pinged,
        answered,
        returned,
        disputed_since,
        disputed,
        refused,
        cursor,
    } = notes;
    cursor.hash(writer);
    for once_a_period in [pinged, answered, returned, disputed, refused] {
        writer.within(once_a_period.last(), heartbeat);
    }
    writer.age_up_to(*disputed_since, patience);
}

fn write_sweep(writer: &mut Writer, sweep: &Sweep, heartbeat: Duration) {
    let Sweep {
        digest,
        end,
        by,
        parts,
        periods,
        asked,
    } = sweep;
    (digest.size, digest.hash, end, by, parts).hash(writer);
    writer.within(periods.last(), heartbeat);
    writer.within(asked.last(), heartbeat);
}
