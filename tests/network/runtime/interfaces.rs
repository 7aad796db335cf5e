//! Look-ups of interfaces, and reports of their changes.

use std::net::{Ipv4Addr, Ipv6Addr};

use anyhow::{Result, ensure};
use ring_proto::LinkState;
use ring_runtime::net::{Address, Interface, InterfaceWatch};
use ring_segment::{Node, Segment, Test, tests};

use crate::runtime::helpers::{becomes_readable, find};

pub(super) fn tests() -> Vec<Test> {
    tests![
        an_interface_is_found_with_its_properties,
        an_interface_without_a_carrier_or_that_is_down_counts_as_down,
        ip_addresses_are_found_in_their_order,
        all_addresses_have_their_prefix,
        a_bridge_and_a_macvlan_are_ethernet,
        a_missing_interface_is_not_found_and_the_others_are_listed,
        the_watch_reports_changes_of_links,
        the_watch_reports_changes_of_addresses,
    ]
}

fn an_interface_is_found_with_its_properties() -> Result<()> {
    let [left, _right] = Segment::pair()?;
    left.ns().ip("link set eth0 mtu 1400\n")?;
    let eth0 = find(&left, "eth0")?;
    ensure!(eth0.name == "eth0");
    ensure!(eth0.mac.0 == left.mac().octets(), "{eth0:?}");
    ensure!(eth0.mtu == 1400, "{eth0:?}");
    ensure!(eth0.up && eth0.carrier && eth0.ethernet, "{eth0:?}");
    let link = left.ns().ask_ip(&["-oneline", "link", "show", "eth0"])?;
    ensure!(link.starts_with(&format!("{}:", eth0.index)), "{link}");
    let up = LinkState::Up {
        mac: eth0.mac,
        ip: [0; 16],
        mtu: 1400,
    };
    ensure!(eth0.link_state() == up, "{eth0:?}");

    let lo = find(&left, "lo")?;
    ensure!(!lo.ethernet && !lo.up, "{lo:?}");
    Ok(())
}

fn an_interface_without_a_carrier_or_that_is_down_counts_as_down() -> Result<()> {
    let [left, right] = Segment::pair()?;
    right.ns().ip("link set eth0 down\n")?;
    let unplugged = find(&left, "eth0")?;
    ensure!(unplugged.up && !unplugged.carrier, "{unplugged:?}");
    ensure!(unplugged.link_state() == LinkState::Down);
    let down = find(&right, "eth0")?;
    ensure!(!down.up && down.link_state() == LinkState::Down, "{down:?}");
    Ok(())
}

fn ip(node: &Node) -> Result<String> {
    Ok(Ipv6Addr::from(find(node, "eth0")?.ip).to_string())
}

fn ip_addresses_are_found_in_their_order() -> Result<()> {
    let [left, _right] = Segment::pair()?;
    ensure!(ip(&left)? == "::");
    left.ns().enable_ipv6()?;
    left.ns()
        .ip("link set eth0 down\nlink set eth0 addrgenmode none\nlink set eth0 up\n")?;
    for (added, found) in [
        ("fe80::1/64", "fe80::1"),
        ("2001:db8::1/64", "2001:db8::1"),
        ("192.0.2.1/24", "::ffff:192.0.2.1"),
        ("192.0.2.2/24", "::ffff:192.0.2.1"),
    ] {
        left.ns().ip(&format!("addr add {added} dev eth0\n"))?;
        let ip = ip(&left)?;
        ensure!(ip == found, "{ip}, not {found}");
    }
    Ok(())
}

fn all_addresses_have_their_prefix() -> Result<()> {
    let [left, _right] = Segment::pair()?;
    ensure!(find(&left, "eth0")?.addresses.is_empty());
    left.ns().enable_ipv6()?;
    left.ns()
        .ip("link set eth0 down\nlink set eth0 addrgenmode none\nlink set eth0 up\n")?;
    let added = [
        "192.0.2.1/24",
        "198.51.100.6/31",
        "203.0.113.9/32",
        "2001:db8::1/64",
    ];
    for address in added {
        left.ns().ip(&format!("addr add {address} dev eth0\n"))?;
    }
    let addresses = find(&left, "eth0")?.addresses;
    let shown = addresses
        .iter()
        .map(|it| format!("{}/{}", it.ip, it.prefix));
    let shown: Vec<_> = shown.collect();
    ensure!(shown == added, "{shown:?}");
    let all = addresses.iter().find_map(Address::broadcast);
    ensure!(all == Some(Ipv4Addr::new(192, 0, 2, 255)), "{all:?}");
    Ok(())
}

fn a_bridge_and_a_macvlan_are_ethernet() -> Result<()> {
    let [left, _right] = Segment::pair()?;
    left.ns().ip("link add br0 type bridge\n\
                  link add link eth0 name mv0 type macvlan mode bridge\n\
                  link set mv0 up\n")?;
    let bridge = find(&left, "br0")?;
    ensure!(bridge.ethernet && !bridge.up, "{bridge:?}");
    let macvlan = find(&left, "mv0")?;
    ensure!(macvlan.ethernet && macvlan.carrier, "{macvlan:?}");
    Ok(())
}

fn a_missing_interface_is_not_found_and_the_others_are_listed() -> Result<()> {
    let [left, _right] = Segment::pair()?;
    for name in ["eth1", "", "a name that is too long for an interface"] {
        let found = left.ns().run(|| Interface::find(name))??;
        ensure!(found.is_none(), "{found:?}");
    }
    let mut names = left.ns().run(Interface::names)??;
    names.sort();
    ensure!(names == ["eth0", "lo"], "{names:?}");
    Ok(())
}

/// Checks that the watch reports a change after each of these `ip` commands.
fn check_change_is_reported(lines: &[&str]) -> Result<()> {
    let [left, _right] = Segment::pair()?;
    let mut watch = left.ns().run(InterfaceWatch::new)??;
    for line in lines {
        while watch.drain()? {}
        left.ns().ip(&format!("{line}\n"))?;
        ensure!(
            becomes_readable(&watch)?,
            "the watch did not report `ip {line}`"
        );
        ensure!(
            watch.drain()?,
            "the watch reported `ip {line}`, but nothing changed"
        );
    }
    Ok(())
}

fn the_watch_reports_changes_of_links() -> Result<()> {
    check_change_is_reported(&[
        "link set eth0 down",
        "link set eth0 address 02:00:00:00:00:77",
        "link set eth0 mtu 1400",
        "link set eth0 up",
        "link add br0 type bridge",
        "link del eth0",
    ])
}

fn the_watch_reports_changes_of_addresses() -> Result<()> {
    check_change_is_reported(&[
        "addr add 192.0.2.1/24 dev eth0",
        "addr del 192.0.2.1/24 dev eth0",
    ])
}
