//! The page of a node of a ring.

use std::collections::BTreeMap;

use ring_control::escape_control_characters;
use ring_control::lab2::{ClientStatus, Grade, MemberStatus, NamedLockStatus, Status};

use super::super::render::{mac_with_name, quorum_text, short_duration};
use super::page::{Bars, Counter, Emphasis, Page, Table, counter};

/// The name of the ring's only lock without a name.
const TOKEN: &str = "(token)";

pub(super) fn page(status: &Status, locks: &[NamedLockStatus]) -> Page {
    let owner = status.owner.as_deref();
    Page {
        title: format!(
            "ringd {} on {}, {}",
            escape_control_characters(&status.ringd),
            escape_control_characters(&status.interface),
            mac_with_name(status, &status.mac)
        ),
        facts: facts(status),
        tables: vec![member_table(status), lock_table(status, locks)],
        counters: counters(status),
        bars: Bars::Time("Time per hop"),
        owner: owner.map(|mac| escape_control_characters(&short_name(status, mac))),
        ..Page::default()
    }
}

fn facts(status: &Status) -> Vec<(&'static str, String)> {
    let owner = status.owner.as_deref();
    let owner = owner.map_or_else(
        || "unknown".to_owned(),
        |mac| {
            let remark = if mac == status.mac {
                " (this node)"
            } else {
                ""
            };
            format!(
                "{}{remark}",
                escape_control_characters(&short_name(status, mac))
            )
        },
    );
    let token = status.token.as_ref();
    let token = token.map_or_else(|| "none known".to_owned(), |token| token.fencing.clone());
    let quorum = quorum_text(status.quorum, status.constants.expect);
    let mut facts = vec![("State", status.state_text()), ("Owner", owner)];
    if status.link != "up" {
        let link = format!("{} {}", status.interface, status.link);
        facts.insert(0, ("Link", escape_control_characters(&link)));
    }
    facts.extend([
        ("Quorum", quorum),
        ("Token", escape_control_characters(&token)),
    ]);
    let latency = &status.counters.hand_over_latency;
    if status.counters.hand_overs > 0 {
        facts.push((
            "Handover",
            format!(
                "p50 {}, p99 {}, max {}",
                short_duration(latency.p50_ns),
                short_duration(latency.p99_ns),
                short_duration(latency.max_ns)
            ),
        ));
    }
    facts
}

/// Returns the name of a member, or its MAC address if it has no name.
fn short_name(status: &Status, mac: &str) -> String {
    let member = status.members.iter().find(|member| member.mac == mac);
    let name = member.and_then(|member| member.name.as_deref());
    name.unwrap_or(mac).to_owned()
}

fn member_table(status: &Status) -> Table {
    let columns = [
        ("", 0),
        ("NAME", 0),
        ("MAC", 2),
        ("IP", 4),
        ("STATE", 0),
        ("HEARD", 1),
        ("PENALTY", 6),
        ("VERSION", 5),
        ("NOTE", 3),
    ];
    let mut table = Table::new("Members", columns);
    let is_problem = |member: &&MemberStatus| matches!(member.state.as_str(), "silent" | "deaf");
    // Members with a problem come first, so that they are visible without scrolling.
    let (problems, others): (Vec<_>, Vec<_>) = status.members.iter().partition(is_problem);
    for member in problems.into_iter().chain(others) {
        let is_owner = status.owner.as_ref() == Some(&member.mac);
        let emphasis = match member.state.as_str() {
            _ if is_owner => Emphasis::Owner,
            _ if is_problem(&member) => Emphasis::Problem,
            _ => Emphasis::None,
        };
        table.add(emphasis, member_cells(status, member, is_owner));
    }
    table
}

fn member_cells(status: &Status, member: &MemberStatus, is_owner: bool) -> [String; 9] {
    let is_self = member.mac == status.mac;
    let heard = match member.last_seen_ns {
        _ if is_self => "this node".to_owned(),
        Some(ns) => format!("{} ago", short_duration(ns)),
        None => "never".to_owned(),
    };
    let penalty = match member.penalty {
        0 => "-".to_owned(),
        turns => turns.to_string(),
    };
    let pause = member.pause.as_ref();
    let left = pause.and_then(|pause| pause.left_ns).map(short_duration);
    let notes = [
        (member.preference > 0).then(|| format!("prefer {}", member.preference)),
        left.map(|left| format!("ends in {left}")),
        pause.and_then(|pause| pause.reason.clone()),
        member.differs.clone(),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    [
        if is_owner { "*" } else { "" }.to_owned(),
        text(&member.name),
        member.mac.clone(),
        text(&member.ip),
        member.state.clone(),
        heard,
        penalty,
        text(&member.version),
        notes.join("; "),
    ]
}

fn lock_table(status: &Status, locks: &[NamedLockStatus]) -> Table {
    let columns = [
        ("LOCK", 0),
        ("STATE", 0),
        ("SINCE", 1),
        ("MEMBER", 2),
        ("PROGRAM", 0),
        ("GRADE", 3),
        ("MODE", 4),
        ("FENCING", 5),
    ];
    let mut table = Table::new("Locks", columns);
    let is_held_here = status.clients.iter().any(|client| client.holds);
    if let Some(holder) = status.holder.as_ref().filter(|_| !is_held_here) {
        let owner = status.owner.as_deref();
        let fencing = status.token.as_ref().map(|it| it.fencing.clone());
        table.add(
            Emphasis::Owner,
            [
                TOKEN.to_owned(),
                "held".to_owned(),
                short_duration(holder.since_ns),
                owner.map_or_else(|| "-".to_owned(), |mac| short_name(status, mac)),
                holder.program.clone(),
                "-".to_owned(),
                "exclusive".to_owned(),
                fencing.unwrap_or_default(),
            ],
        );
    }
    let mut place = 0;
    for client in &status.clients {
        place += usize::from(!client.holds);
        table.add(emphasis(client.holds), client_cells(status, client, place));
    }
    for lock in locks {
        table.add(emphasis(lock.held), lock_cells(status, lock));
    }
    table
}

const fn emphasis(is_held: bool) -> Emphasis {
    if is_held {
        Emphasis::Owner
    } else {
        Emphasis::None
    }
}

fn state(place: Option<usize>) -> String {
    place.map_or_else(
        || "held".to_owned(),
        |place| format!("waits, place {place}"),
    )
}

fn client_cells(status: &Status, client: &ClientStatus, place: usize) -> [String; 8] {
    let token = status.token.as_ref().filter(|_| client.holds);
    let pid = client
        .pid
        .map_or_else(String::new, |pid| format!(" (process {pid})"));
    [
        TOKEN.to_owned(),
        state((!client.holds).then_some(place)),
        short_duration(client.since_ns),
        "this node".to_owned(),
        format!("{}{pid}", client.label),
        client.require.map_or("-", Grade::name).to_owned(),
        "exclusive".to_owned(),
        token.map_or_else(|| "-".to_owned(), |token| token.fencing.clone()),
    ]
}

fn lock_cells(status: &Status, lock: &NamedLockStatus) -> [String; 8] {
    let place = (!lock.held).then(|| lock.place.unwrap_or_default());
    [
        lock.name.clone(),
        state(place),
        short_duration(lock.since_ns),
        if lock.is_here {
            "this node".to_owned()
        } else {
            short_name(status, &lock.member)
        },
        lock.program.clone(),
        lock.grade.name().to_owned(),
        lock.mode.name().to_owned(),
        lock.fencing.clone().unwrap_or_else(|| "-".to_owned()),
    ]
}

fn counters(status: &Status) -> Vec<Counter> {
    let sum = |counts: &BTreeMap<String, u64>| counts.values().sum();
    let counted = &status.counters;
    let hops = status.token.as_ref().map(|token| Counter {
        name: "Hops",
        value: token.progress,
        // Each new token has a new number, and a much larger progress. So the progress of different tokens cannot be
        // compared.
        origin: format!("{}-{}", token.author, token.number),
    });
    let others = [
        counter("Handovers here", counted.hand_overs),
        counter("Frames in", sum(&counted.received)),
        counter("Frames out", sum(&counted.sent)),
        counter("Dropped", sum(&counted.dropped)),
        counter("Locks granted", status.locks.granted),
    ];
    hops.into_iter().chain(others).collect()
}
