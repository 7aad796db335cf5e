//! The part of a [snapshot](crate::lab2::Lab2::snapshot) that describes the members.

use std::hash::Hash;
use std::time::Duration;

use super::Members;
use super::deafness::Hearing;
use super::peer::{Notes, Peer};
use super::table::Table;
use super::table_broadcast::TableBroadcast;
use super::tombstones::{Tombstone, Tombstones};
use crate::lab2::machine::{Context, Writer};

impl Members {
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context) {
        let Self {
            table,
            ring_times,
            hearing,
            silence,
            table_broadcast,
            corrections,
        } = self;
        let constants = context.constants();
        let (heartbeat, waiter_timeout) = (constants.heartbeat, context.waiter_timeout());
        let quiet = self.silent_after(context);
        ring_times.hash(writer);
        write_table(
            writer,
            table,
            heartbeat,
            waiter_timeout,
            (quiet, constants.forget),
        );
        let forgets = constants.forget.is_some();
        write_hearing(writer, hearing, context.deaf_after(), quiet, forgets);
        silence.snapshot(writer, quiet);
        writer.within(corrections.last(), heartbeat);
        write_table_broadcast(writer, table_broadcast, heartbeat);
    }
}

fn write_hearing(
    writer: &mut Writer,
    hearing: &Hearing,
    deaf_after: Duration,
    silence: Duration,
    forgets: bool,
) {
    let Hearing { last, since, deaf } = hearing;
    writer.age_up_to(*last, deaf_after);
    // Only the rules about forgetting read this time.
    writer.age_up_to(since.filter(|_| forgets), silence);
    deaf.hash(writer);
}

fn write_table(
    writer: &mut Writer,
    table: &Table,
    heartbeat: Duration,
    waiter_timeout: Duration,
    remembered: (Duration, Option<Duration>),
) {
    let (quiet, _) = remembered;
    let Table {
        members,
        peers,
        max,
        notes,
        profiles,
        // Versions, host names and announced pauses are only for people, so no rule depends on them.
        versions: _,
        host_names: _,
        pauses: _,
        preferences,
        // The next values follow from the other fields. The tables of a model checker are small, so they are always
        // sorted.
        hash: _,
        sorted_len: _,
        latest: _,
        wanting: _,
        failed: _,
        heard: _,
        removed: Tombstones {
            entries,
            announcements,
        },
    } = table;
    (max, members.len()).hash(writer);
    for (member, peer) in members.iter().zip(peers) {
        (member.mac, member.ip).hash(writer);
        write_peer(writer, peer, waiter_timeout, remembered);
    }
    let now = writer.now;
    writer.age_up_to(announcements.last(), heartbeat);
    // An expired tombstone has no effect, even if the list still has it.
    for Tombstone {
        mac,
        until,
        is_unannounced,
    } in entries.iter().filter(|entry| entry.until > now)
    {
        (mac, until.since(now), is_unannounced).hash(writer);
    }
    for (mac, notes) in notes {
        mac.hash(writer);
        write_notes(writer, notes, heartbeat, waiter_timeout);
    }
    profiles.hash(writer);
    for (mac, preference) in preferences {
        (mac, preference.value).hash(writer);
        writer.within(preference.failures.last(), quiet);
    }
}

/// Writes a member's data. If a member was never heard, its age is written only if the ring forgets silent members.
fn write_peer(
    writer: &mut Writer,
    peer: &Peer,
    waiter_timeout: Duration,
    (silence, forget): (Duration, Option<Duration>),
) {
    let Peer {
        penalty,
        seen: _, // `silent_since` below writes this time
        wants,
        overdue,
        owed_ping,
        has_no_ip,
        paused,
        failed,
        deaf,
        left,
        has_notes,
        heard,
        // Both flags are only for people, so no rule depends on them.
        told_silent: _,
        told_version: _,
    } = peer;
    (penalty, wants, owed_ping, has_no_ip, paused, failed, left).hash(writer);
    (has_notes, heard, deaf, overdue).hash(writer);
    // Beyond the longest time that any rule compares, all ages have the same effect.
    let asked_of = forget.map_or(silence, |forget| forget.max(silence));
    let since = Some(peer.silent_since()).filter(|_| *heard || forget.is_some());
    writer.age_up_to(since, asked_of.max(waiter_timeout));
}

fn write_notes(writer: &mut Writer, notes: &Notes, heartbeat: Duration, waiter_timeout: Duration) {
    let Notes {
        pings,
        answers,
        returns,
        disputed_since,
        disputes,
        refusals,
        cursor,
    } = notes;
    cursor.hash(writer);
    // An action that is allowed again has no history, so only times within the period count.
    for allow_once_a_period in [pings, answers, returns, disputes, refusals] {
        writer.within(allow_once_a_period.last(), heartbeat);
    }
    writer.age_up_to(*disputed_since, waiter_timeout);
}

fn write_table_broadcast(
    writer: &mut Writer,
    table_broadcast: &TableBroadcast,
    heartbeat: Duration,
) {
    let TableBroadcast {
        digest,
        last_member,
        sender,
        parts,
        periods,
        questions,
    } = table_broadcast;
    (digest.size, digest.hash, last_member, sender, parts).hash(writer);
    writer.within(periods.last(), heartbeat);
    writer.within(questions.last(), heartbeat);
}
