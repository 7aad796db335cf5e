//! Interfaces that fail, and sockets that cannot be opened.

use std::slice;

use anyhow::{Result, bail, ensure};
use nix::errno::Errno;
use ring_runtime::driver::{Link, Refused};
use ring_runtime::net::{Interface, OpenError, PacketSocket};
use ring_segment::{Segment, Test, tests};

use crate::runtime::helpers::{BROADCAST, ETHERTYPE, Station, find, frame, transmit};

pub(super) fn tests() -> Vec<Test> {
    tests![
        an_interface_that_is_down_causes_an_error_and_works_when_it_is_up_again,
        a_removed_interface_causes_an_error,
        a_socket_opened_on_a_down_interface_works_once_it_is_up,
        a_socket_needs_an_existing_interface,
        only_ethernet_is_opened,
    ]
}

fn check_refused<T>(result: Result<T, impl Into<Refused>>, wanted: Errno) -> Result<()> {
    match result.map_err(Into::into) {
        Ok(_) => bail!("no error instead of {wanted}"),
        Err(Refused::TooLong) => bail!("too long instead of {wanted}"),
        Err(Refused::Other(error)) => {
            let found = error.raw_os_error().map(Errno::from_raw);
            ensure!(found == Some(wanted), "{error}, not {wanted}");
            Ok(())
        }
    }
}

fn receive(station: &mut Station) -> std::io::Result<()> {
    let now = ring_runtime::clock::now();
    station.socket.receive(now, &mut station.batch)
}

fn check_traffic(one: &mut Station, other: &mut Station) -> Result<()> {
    let to = frame(BROADCAST, &one.node, b"to");
    one.send(slice::from_ref(&to))?;
    ensure!(other.next()? == [to]);
    let fro = frame(BROADCAST, &other.node, b"fro");
    other.send(slice::from_ref(&fro))?;
    ensure!(one.next()? == [fro]);
    Ok(())
}

fn an_interface_that_is_down_causes_an_error_and_works_when_it_is_up_again() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let (mut one, mut other) = (Station::new(&left)?, Station::new(&right)?);
    check_traffic(&mut one, &mut other)?;

    right.ns().ip("link set eth0 down\n")?;
    other.wait()?;
    check_refused(receive(&mut other), Errno::ENETDOWN)?;
    ensure!(
        !other.poll_wakeup()?,
        "the process wakes again for an error that was already returned"
    );
    let batch = transmit(&[frame(BROADCAST, &right, b"in vain")])?;
    check_refused(other.socket.send(&batch), Errno::ENETDOWN)?;

    right.ns().ip("link set eth0 up\n")?;
    for node in [&left, &right] {
        node.wait_for_link()?;
    }
    check_traffic(&mut one, &mut other)
}

fn a_removed_interface_causes_an_error() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let mut station = Station::new(&left)?;
    right.ns().ip("link del eth0\n")?;
    station.wait()?;
    check_refused(receive(&mut station), Errno::ENETDOWN)?;
    ensure!(
        !station.poll_wakeup()?,
        "the process wakes again for an error that was already returned"
    );
    let batch = transmit(&[frame(BROADCAST, &left, b"in vain")])?;
    check_refused(station.socket.send(&batch), Errno::ENXIO)
}

fn a_socket_opened_on_a_down_interface_works_once_it_is_up() -> Result<()> {
    let [left, right] = Segment::pair()?;
    right.ns().ip("link set eth0 down\n")?;
    let mut other = Station::new(&right)?;
    check_refused(receive(&mut other), Errno::ENETDOWN)?;
    right.ns().ip("link set eth0 up\n")?;
    for node in [&left, &right] {
        node.wait_for_link()?;
    }
    let mut one = Station::new(&left)?;
    check_traffic(&mut one, &mut other)
}

fn a_socket_needs_an_existing_interface() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let interface = find(&left, "eth0")?;
    right.ns().ip("link del eth0\n")?;
    let opened = left
        .ns()
        .run(|| PacketSocket::open(&interface, ETHERTYPE))?;
    ensure!(matches!(opened, Err(OpenError::Gone { .. })), "{opened:?}");
    Ok(())
}

fn only_ethernet_is_opened() -> Result<()> {
    let [left, _right] = Segment::pair()?;
    // A tunnel has no hardware address.
    left.ns().ip("tuntap add dev tun0 mode tun\n")?;
    for name in ["lo", "tun0"] {
        let names = left.ns().run(Interface::names)??;
        ensure!(names.iter().any(|it| it == name), "{name}: {names:?}");
        let interface = find(&left, name)?;
        let opened = left
            .ns()
            .run(|| PacketSocket::open(&interface, ETHERTYPE))?;
        ensure!(
            matches!(opened, Err(OpenError::NotEthernet { .. })),
            "{name}: {opened:?}"
        );
    }
    Ok(())
}
