//! The page about a node of a ring.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use comfy_table::Table;
use ring_control::lab2::{
    ConstantsStatus, Counters, Grade, HolderStatus, LockTotals, MemberStatus, PauseStatus,
    QuorumStatus, Status,
};
use ring_control::{Percentiles, escape_control_characters};

use super::super::text::{
    self, ROWS_MAX, new_table, short_duration, write_counters, write_more, write_options,
    write_troubles,
};

pub(crate) fn write_status(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    write_head(status, out)?;
    writeln!(out, "\nMembers ({})", status.members.len())?;
    writeln!(out, "{}", member_table(status).trim_fmt())?;
    write_more(status.members.len(), out)?;
    write_troubles(&status.troubles, out)?;
    write_clients(status, out)?;
    write_runs(status, out)?;
    write_locks(&status.locks, out)?;
    write_constants(&status.constants, out)?;
    write_options(&status.config, out)?;
    write_all_counters(&status.counters, out)
}

fn write_head(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    let link = match status.link.as_str() {
        "up" => String::new(),
        why => format!(" ({} {why})", status.interface),
    };
    let token = status
        .token
        .as_ref()
        .map_or_else(|| "none known".to_owned(), |token| token.fencing.clone());
    let owner = match &status.owner {
        Some(owner) => {
            let is_own = *owner == status.mac;
            mac_with_remarks(status, owner, is_own.then_some("this node"))
        }
        None => "unknown".to_owned(),
    };
    let heard = status.heard_about_token_ns.map_or_else(
        || "never".to_owned(),
        |ns| format!("{} ago", short_duration(ns)),
    );
    let mut lines = vec![
        ("Daemon", daemon_text(status)),
        (
            "Interface",
            format!(
                "{}, MAC {}{link}",
                status.interface,
                mac_with_name(status, &status.mac)
            ),
        ),
        ("Health", status.health.name().to_owned()),
        ("State", status.state_text()),
    ];
    let pause = status.pause.as_ref().and_then(pause_text);
    lines.extend(pause.map(|text| ("Pause", text)));
    lines.extend([
        (
            "Quorum",
            quorum_text(status.quorum, status.constants.expect),
        ),
        ("Token", token),
        ("Owner", owner),
    ]);
    lines.extend(
        status
            .holder
            .as_ref()
            .map(|it| ("Held by", holder_text(it))),
    );
    lines.extend(text::keys_text(&status.trust, "frames").map(|text| ("Keys", text)));
    let sandbox = text::sandbox_text(&status.missing_limits);
    lines.extend(sandbox.map(|text| ("Sandbox", text)));
    lines.extend([
        ("Token heard", heard),
        ("Ring hash", status.ring_hash.clone()),
    ]);
    text::write_head(lines, out)
}

pub(crate) fn mac_with_name(status: &Status, mac: &str) -> String {
    mac_with_remarks(status, mac, None)
}

fn mac_with_remarks(status: &Status, mac: &str, remark: Option<&str>) -> String {
    let member = status.members.iter().find(|member| member.mac == mac);
    let name = member.and_then(|member| member.name.as_deref());
    let remarks: Vec<String> = (name.map(escape_control_characters).into_iter())
        .chain(remark.map(str::to_owned))
        .collect();
    if remarks.is_empty() {
        mac.to_owned()
    } else {
        format!("{mac} ({})", remarks.join(", "))
    }
}

pub(crate) fn quorum_text(quorum: QuorumStatus, expect: Option<usize>) -> String {
    let QuorumStatus {
        present,
        needed,
        ring,
    } = quorum;
    let source = expect.map_or_else(
        || "no --ring-size: counted".to_owned(),
        |expected| format!("--ring-size {expected}"),
    );
    format!("{needed} of {ring} members needed, {present} present ({source})")
}

/// Returns the end and the reason of a pause; `None` if the pause has neither.
fn pause_text(pause: &PauseStatus) -> Option<String> {
    let end = pause
        .left_ns
        .map(|left| format!("ends in {}", short_duration(left)));
    let reason = pause.reason.as_deref().map(escape_control_characters);
    let parts: Vec<String> = end.into_iter().chain(reason).collect();
    (!parts.is_empty()).then(|| parts.join(": "))
}

/// Returns a text about the key of a member. Returns `None` if this node has no keys, or if the member is this node.
fn key_text(status: &Status, member: &MemberStatus) -> Option<String> {
    if status.trust.keys.is_empty() || member.mac == status.mac {
        return None;
    }
    Some(match member.key {
        Some(key) => format!("key {key}"),
        None => "unsigned".to_owned(),
    })
}

fn holder_text(holder: &HolderStatus) -> String {
    let HolderStatus { program, since_ns } = holder;
    format!(
        "{} for {}",
        escape_control_characters(program),
        short_duration(*since_ns)
    )
}

fn daemon_text(status: &Status) -> String {
    let started = SystemTime::UNIX_EPOCH + Duration::from_millis(status.started_ms);
    let started = humantime::format_rfc3339_seconds(started);
    let up = short_duration(status.up_ns);
    format!("ringd {}, started {started}, {up} ago", status.ringd)
}

fn write_clients(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    if status.clients.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nClients ({})", status.clients.len())?;
    for client in status.clients.iter().take(ROWS_MAX) {
        let pid = client
            .pid
            .map_or_else(|| "?".to_owned(), |pid| pid.to_string());
        let does = if client.holds { "holds" } else { "waits" };
        let since = short_duration(client.since_ns);
        let require = match client.require {
            Some(Grade::Quorum) => ", requires quorum",
            Some(Grade::AllHeard) => ", requires all-heard",
            Some(Grade::Alone) | None => "",
        };
        writeln!(
            out,
            "  {does} for {since}, process {pid} {}{require}",
            escape_control_characters(&client.label)
        )?;
    }
    Ok(())
}

fn write_runs(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    if status.runs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nJobs, run once per period ({})", status.runs.len())?;
    for run in &status.runs {
        let (began, every) = (short_duration(run.began_ns), short_duration(run.every_ns));
        let (name, runner) = (
            escape_control_characters(&run.name),
            mac_with_name(status, &run.runner),
        );
        let what = match run.outcome.as_str() {
            "begun" if run.lost => format!("lost, began {began} ago on {runner}"),
            "begun" => format!("running on {runner} for {began}"),
            outcome => format!("{outcome}, began {began} ago on {runner}"),
        };
        writeln!(out, "  {name}: {what}, every {every}")?;
    }
    Ok(())
}

fn write_locks(locks: &LockTotals, out: &mut dyn Write) -> io::Result<()> {
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

fn member_table(status: &Status) -> Table {
    let mut table = new_table([" MAC", "IP", "NAME", "STATE", "PENALTY", "LAST SEEN", ""]);
    for member in status.members.iter().take(ROWS_MAX) {
        table.add_row(row(status, member));
    }
    table
}

fn row(status: &Status, member: &MemberStatus) -> [String; 7] {
    let is_self = member.mac == status.mac;
    let seen = match member.last_seen_ns {
        _ if is_self => "now".to_owned(),
        Some(ns) => format!("{} ago", short_duration(ns)),
        None => "never".to_owned(),
    };
    let is_owner = status.owner.as_ref() == Some(&member.mac);
    let other = member.version.as_ref().filter(|it| **it != status.ringd);
    let remarks = [
        is_self.then(|| "this node".to_owned()),
        is_owner.then(|| "owner".to_owned()),
        other.map(|version| format!("ringd {}", escape_control_characters(version))),
        (member.preference > 0).then(|| format!("prefer {}", member.preference)),
        key_text(status, member),
        member.pause.as_ref().and_then(pause_text),
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
            .map_or_else(|| "-".to_owned(), escape_control_characters),
        member.state.clone(),
        penalty,
        seen,
        remarks.join(", "),
    ]
}

fn write_constants(constants: &ConstantsStatus, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nConstants")?;
    writeln!(
        out,
        "  heartbeat {}, waiter timeout {}, looser timeout {}, answer timeout {}",
        short_duration(constants.heartbeat_ns),
        short_duration(constants.waiter_timeout_ns),
        short_duration(constants.looser_timeout_ns),
        short_duration(constants.looser_answer_timeout_ns),
    )?;
    writeln!(
        out,
        "  take timeout {}, take attempts {}, idle hold {}, EtherType {}, max members {}, expect {}",
        short_duration(constants.take_timeout_ns),
        constants.take_attempts,
        constants
            .idle_hold_ns
            .map_or_else(|| "forever".to_owned(), short_duration),
        constants.ethertype,
        constants.max_members,
        constants
            .expect
            .map_or_else(|| "-".to_owned(), |expect| expect.to_string()),
    )
}

fn write_all_counters(counters: &Counters, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nCounters (those that are not 0)")?;
    writeln!(
        out,
        "  handovers {}, failed {}",
        counters.hand_overs, counters.hand_overs_failed
    )?;
    if counters.hand_overs > 0 {
        write_latency(&counters.hand_over_latency, out)?;
    }
    let single = |name: &str, value| BTreeMap::from([(name.to_owned(), value)]);
    let groups = [
        ("received", &counters.received),
        ("sent", &counters.sent),
        ("not sent", &counters.send_failed),
        ("dropped", &counters.dropped),
        ("unproven", &counters.unproven),
        ("state changes", &counters.state_changes),
        ("reasons", &counters.state_change_reasons),
        (
            "table full",
            &single("authors not remembered", counters.table_full),
        ),
        ("late", &single("wake-ups", counters.late_wake_ups)),
    ];
    for (name, counts) in groups {
        write_counters(name, counts, out)?;
    }
    if let Some(polling) = &counters.busy_poll {
        writeln!(
            out,
            "  polling: {} in all, {} times with a frame, {} times without",
            short_duration(polling.time_ns),
            polling.found,
            polling.given_up
        )?;
    }
    Ok(())
}

fn write_latency(latency: &Percentiles, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "  handover latency: min {}, p50 {}, p90 {}, p99 {}, max {}",
        short_duration(latency.min_ns),
        short_duration(latency.p50_ns),
        short_duration(latency.p90_ns),
        short_duration(latency.p99_ns),
        short_duration(latency.max_ns),
    )
}
