//! The status of a node of a ring as people want to read it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use comfy_table::Table;
use ring_control::lab2::{
    ConstantsStatus, Counters, Grade, HolderStatus, LockTotals, MemberStatus, QuorumStatus, Status,
};
use ring_control::{Percentiles, harmless};

use super::super::text::{self, LISTED, group, more, short, table, troubles};

/// Writes the status.
///
/// # Errors
/// `out` takes nothing.
pub(crate) fn status(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    head(status, out)?;
    writeln!(out, "\nMembers ({})", status.members.len())?;
    writeln!(out, "{}", members(status).trim_fmt())?;
    more(status.members.len(), out)?;
    troubles(&status.troubles, out)?;
    clients(status, out)?;
    runs(status, out)?;
    locks(&status.locks, out)?;
    constants(&status.constants, out)?;
    counters(&status.counters, out)
}

fn head(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    let link = match status.link.as_str() {
        "up" => String::new(),
        why => format!(" ({} {why})", status.interface),
    };
    let token = status
        .token
        .as_ref()
        .map_or_else(|| "none known".to_owned(), |token| token.fencing.clone());
    let owner = match &status.owner {
        Some(owner) if *owner == status.mac => format!("{owner} (this node)"),
        Some(owner) => called(status, owner),
        None => "unknown".to_owned(),
    };
    let heard = status
        .heard_about_token_ns
        .map_or_else(|| "never".to_owned(), |ns| format!("{} ago", short(ns)));
    let mut lines = vec![
        ("Daemon", daemon(status)),
        (
            "Interface",
            format!("{}, MAC {}{link}", status.interface, status.mac),
        ),
        ("Health", status.health.name().to_owned()),
        ("State", status.standing()),
        ("Quorum", quorum(status.quorum)),
        ("Token", token),
        ("Owner", owner),
    ];
    lines.extend(status.holder.as_ref().map(|it| ("Held by", holder(it))));
    lines.extend([
        ("Token heard", heard),
        ("Ring hash", status.ring_hash.clone()),
    ]);
    text::head(lines, out)
}

/// A member's address with its name.
fn called(status: &Status, mac: &str) -> String {
    let member = status.members.iter().find(|member| member.mac == mac);
    match member.and_then(|member| member.name.as_deref()) {
        Some(name) => format!("{mac} ({})", harmless(name)),
        None => mac.to_owned(),
    }
}

fn quorum(quorum: QuorumStatus) -> String {
    let QuorumStatus {
        present,
        needed,
        ring,
    } = quorum;
    format!("{needed} of {ring} members needed, {present} there")
}

/// The program that holds the token, and for how long.
fn holder(holder: &HolderStatus) -> String {
    let HolderStatus { program, since_ns } = holder;
    format!("{} for {}", harmless(program), short(*since_ns))
}

/// Which daemon answers, and since when it runs.
fn daemon(status: &Status) -> String {
    let started = SystemTime::UNIX_EPOCH + Duration::from_millis(status.started_ms);
    let started = humantime::format_rfc3339_seconds(started);
    let up = short(status.up_ns);
    format!("ringd {}, started {started}, {up} ago", status.ringd)
}

/// Who on this machine holds the token, or waits for it.
fn clients(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    if status.clients.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nClients ({})", status.clients.len())?;
    for client in status.clients.iter().take(LISTED) {
        let pid = client
            .pid
            .map_or_else(|| "?".to_owned(), |pid| pid.to_string());
        let does = if client.holds { "holds" } else { "waits" };
        let since = short(client.since_ns);
        let require = match client.require {
            Some(Grade::Quorum) => ", requires quorum",
            Some(Grade::View) => ", requires view",
            Some(Grade::Alone) | None => "",
        };
        writeln!(
            out,
            "  {does} for {since}, process {pid} {}{require}",
            harmless(&client.label)
        )?;
    }
    Ok(())
}

/// The last run of each job that runs once in a period.
fn runs(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    if status.runs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nJobs, run once in a period ({})", status.runs.len())?;
    for run in &status.runs {
        let (began, every) = (short(run.began_ns), short(run.every_ns));
        let (name, runner) = (harmless(&run.name), called(status, &run.runner));
        let what = match run.outcome.as_str() {
            "begun" if run.lost => format!("lost, began {began} ago on {runner}"),
            "begun" => format!("running on {runner} for {began}"),
            outcome => format!("{outcome}, began {began} ago on {runner}"),
        };
        writeln!(out, "  {name}: {what}, every {every}")?;
    }
    Ok(())
}

/// What has become of all locks of this machine.
fn locks(locks: &LockTotals, out: &mut dyn Write) -> io::Result<()> {
    let sum = |counts: &BTreeMap<String, u64>| {
        let sum: u64 = counts.values().sum();
        let some = counts.iter().filter(|(_, count)| **count > 0);
        let some: Vec<_> = some.map(|(why, count)| format!("{why} {count}")).collect();
        if some.is_empty() {
            sum.to_string()
        } else {
            format!("{sum} ({})", some.join(", "))
        }
    };
    let (granted, lost, refused) = (locks.granted, sum(&locks.lost), sum(&locks.refused));
    writeln!(
        out,
        "\nLocks\n  granted {granted}, lost {lost}, refused {refused}"
    )
}

fn members(status: &Status) -> Table {
    let mut table = table([" MAC", "IP", "NAME", "STATE", "PENALTY", "LAST SEEN", ""]);
    for member in status.members.iter().take(LISTED) {
        table.add_row(row(status, member));
    }
    table
}

fn row(status: &Status, member: &MemberStatus) -> [String; 7] {
    let is_self = member.mac == status.mac;
    let seen = match member.last_seen_ns {
        _ if is_self => "now".to_owned(),
        Some(ns) => format!("{} ago", short(ns)),
        None => "never".to_owned(),
    };
    let is_owner = status.owner.as_ref() == Some(&member.mac);
    let other = member.version.as_ref().filter(|it| **it != status.ringd);
    let remarks = [
        is_self.then(|| "this node".to_owned()),
        is_owner.then(|| "owner".to_owned()),
        other.map(|version| format!("ringd {}", harmless(version))),
    ];
    let remarks: Vec<String> = remarks.into_iter().flatten().collect();
    let penalty = match member.penalty {
        0 => "-".to_owned(),
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    let ip = member.ip.as_deref().unwrap_or("-");
    [
        format!(" {}", member.mac),
        ip.to_owned(),
        member
            .name
            .as_deref()
            .map_or_else(|| "-".to_owned(), harmless),
        member.state.clone(),
        penalty,
        seen,
        remarks.join(", "),
    ]
}

fn constants(constants: &ConstantsStatus, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nConstants")?;
    writeln!(
        out,
        "  heartbeat {}, waiter timeout {}, looser timeout {}, answer timeout {}",
        short(constants.heartbeat_ns),
        short(constants.waiter_timeout_ns),
        short(constants.looser_timeout_ns),
        short(constants.looser_answer_timeout_ns),
    )?;
    writeln!(
        out,
        "  take timeout {}, take attempts {}, idle hold {}, EtherType {}, max members {}, expect {}",
        short(constants.take_timeout_ns),
        constants.take_attempts,
        constants
            .idle_hold_ns
            .map_or_else(|| "forever".to_owned(), short),
        constants.ethertype,
        constants.max_members,
        constants
            .expect
            .map_or_else(|| "-".to_owned(), |expect| expect.to_string()),
    )
}

fn counters(counters: &Counters, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nCounters (those that are not 0)")?;
    writeln!(
        out,
        "  hand-overs {}, failed {}",
        counters.hand_overs, counters.hand_overs_failed
    )?;
    if counters.hand_overs > 0 {
        latency(&counters.hand_over_latency, out)?;
    }
    let single = |name: &str, value| BTreeMap::from([(name.to_owned(), value)]);
    let groups = [
        ("received", &counters.received),
        ("sent", &counters.sent),
        ("not sent", &counters.send_failed),
        ("dropped", &counters.dropped),
        ("state changes", &counters.state_changes),
        ("reasons", &counters.state_change_reasons),
        (
            "table full",
            &single("authors not remembered", counters.table_full),
        ),
        ("late", &single("wake-ups", counters.late_wake_ups)),
    ];
    for (name, counts) in groups {
        group(name, counts, out)?;
    }
    Ok(())
}

fn latency(latency: &Percentiles, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "  hand-over latency: min {}, p50 {}, p90 {}, p99 {}, max {}",
        short(latency.min_ns),
        short(latency.p50_ns),
        short(latency.p90_ns),
        short(latency.p99_ns),
        short(latency.max_ns),
    )
}
