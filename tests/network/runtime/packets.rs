//! Reception and sending of frames.

use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::socket::{getsockopt, sockopt};
use ring_proto::time::{Now, nanos};
use ring_runtime::clock;
use ring_runtime::driver::Link;
use ring_runtime::driver::frames::{MAX_FRAME, RECEIVE_BATCH, TRANSMIT_BATCH};
use ring_segment::{Segment, Test, tests};

use crate::runtime::helpers::{
    BROADCAST, ETHERTYPE, Forger, OTHER_ETHERTYPE, Station, find, frame, frame_of, number,
    numbered_frame,
};

pub(super) fn tests() -> Vec<Test> {
    tests![
        only_frames_for_this_station_wake_the_process,
        frames_for_a_macvlan_do_not_wake_the_process,
        own_frames_do_not_come_back,
        sent_frames_have_the_priority_of_control_traffic,
        a_burst_of_frames_takes_few_calls_and_keeps_its_order,
        the_receive_buffer_can_be_used_again_and_again,
        long_frames_are_truncated,
        a_frame_that_arrived_after_the_clocks_were_read_has_its_age,
        a_late_frame_has_its_age,
        a_frame_in_time_is_fresh_with_any_wall_clock,
        frames_for_which_the_buffer_has_no_space_are_counted,
    ]
}

/// Tolerance for the granularity of clocks and for the drift between two clocks during a test.
const TOLERANCE: Duration = Duration::from_millis(5);

/// Reads both clocks. If the process was stopped between the two readings of the clocks, reads both clocks again.
fn clocks() -> Now {
    loop {
        let (before, now, after) = (clock::now(), clock::now(), clock::now());
        if after.monotonic.since(before.monotonic) < TOLERANCE / 5 {
            return now;
        }
    }
}

fn only_frames_for_this_station_wake_the_process() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let mut station = Station::new(&right)?;
    // When the other station has received the last frame, all frames have arrived.
    let mut witness = Station::on(&right, "eth0", OTHER_ETHERTYPE)?;
    let mut forger = Forger::new(&left)?;
    let own = right.mac().octets();

    let stranger = [0x02, 0, 0, 0, 0, 0x99];
    let multicast = [0x01, 0x00, 0x5e, 0, 0, 1];
    let tagged = |id: u16| {
        let mut payload = id.to_be_bytes().to_vec();
        payload.extend(ETHERTYPE.to_be_bytes());
        payload.extend(b"of a VLAN");
        payload
    };
    let unwanted = [
        frame_of(0x0800, BROADCAST, &left, b"IPv4"),
        frame_of(0x86dd, own, &left, b"IPv6"),
        frame_of(100, BROADCAST, &left, b"an 802.3 length"),
        frame(stranger, &left, b"for another host"),
        frame(multicast, &left, b"multicast"),
        frame_of(0x8100, BROADCAST, &left, &tagged(5)),
        frame_of(0x8100, own, &left, &tagged(5)),
        frame_of(0x88a8, BROADCAST, &left, &tagged(5)),
        frame_of(OTHER_ETHERTYPE, BROADCAST, &left, b"the last"),
    ];
    for frame in &unwanted {
        forger.send(frame)?;
    }
    let witnessed = witness.next()?;
    ensure!(witnessed == [unwanted[8].clone()], "{witnessed:?}");
    ensure!(
        !station.poll_wakeup()?,
        "woken by a frame for another station"
    );

    // A priority tag does not make a VLAN, so the kernel removes the tag.
    forger.send(&frame_of(0x8100, BROADCAST, &left, &tagged(0xe000)))?;
    let received = station.next()?;
    ensure!(received == [frame(BROADCAST, &left, b"of a VLAN")]);
    for wanted in [
        frame(BROADCAST, &left, b"for all"),
        frame(own, &left, b"for us"),
    ] {
        forger.send(&wanted)?;
        let received = station.next()?;
        ensure!(received == [wanted], "{received:?}");
    }
    Ok(())
}

fn frames_for_a_macvlan_do_not_wake_the_process() -> Result<()> {
    let [left, right] = Segment::pair()?;
    right.ns().ip(
        "link add link eth0 name mv0 address 02:00:00:00:01:01 type macvlan mode bridge\n\
         link set mv0 up\n",
    )?;
    let mac = find(&right, "mv0")?.mac.0;
    let mut below = Station::new(&right)?;
    let mut above = Station::on(&right, "mv0", ETHERTYPE)?;
    let for_above = frame(mac, &left, b"for the macvlan");
    Forger::new(&left)?.send(&for_above)?;
    let received = above.next()?;
    ensure!(received == [for_above], "{received:?}");
    ensure!(!below.poll_wakeup()?, "woken by a frame for the macvlan");

    let for_all = frame(BROADCAST, &left, b"for all");
    Forger::new(&left)?.send(&for_all)?;
    ensure!(above.next()?[0] == for_all);
    ensure!(below.next()?[0] == for_all);
    Ok(())
}

fn own_frames_do_not_come_back() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let mut speaker = Station::new(&left)?;
    let mut listener = Station::new(&right)?;
    let sent = [
        frame(BROADCAST, &left, b"one"),
        frame(BROADCAST, &left, b"two"),
    ];
    speaker.send(&sent[..1])?;
    speaker.send(&sent)?;
    let mut received = Vec::new();
    while received.len() < 3 {
        received.extend(listener.next()?);
    }
    ensure!(received == [&sent[..1], &sent[..]].concat());
    ensure!(!speaker.poll_wakeup()?, "woken by its own frame");
    Ok(())
}

fn sent_frames_have_the_priority_of_control_traffic() -> Result<()> {
    let [left, _right] = Segment::pair()?;
    let speaker = Station::new(&left)?;
    // 7 is the kernel's TC_PRIO_CONTROL.
    ensure!(getsockopt(&speaker.socket, sockopt::Priority)? == 7);
    Ok(())
}

fn a_burst_of_frames_takes_few_calls_and_keeps_its_order() -> Result<()> {
    const FRAME_COUNT: usize = 100;
    let [left, right] = Segment::pair()?;
    let mut speaker = Station::new(&left)?;
    let mut listener = Station::new(&right)?;
    let mut witness = Station::on(&right, "eth0", OTHER_ETHERTYPE)?;
    let burst: Vec<_> = (0..FRAME_COUNT).map(|n| numbered_frame(&left, n)).collect();
    for part in burst.chunks(TRANSMIT_BATCH) {
        speaker.send(part)?;
    }
    speaker.send(&[frame_of(OTHER_ETHERTYPE, BROADCAST, &left, b"the last")])?;
    witness.wait()?;

    let mut received = Vec::new();
    for _ in 0..FRAME_COUNT.div_ceil(RECEIVE_BATCH) {
        received.extend(listener.receive()?);
    }
    ensure!(received == burst, "{} frames received", received.len());
    ensure!(
        !listener.poll_wakeup()?,
        "woken although no frame has arrived"
    );
    Ok(())
}

fn the_receive_buffer_can_be_used_again_and_again() -> Result<()> {
    // The number of frames exceeds the capacity of the kernel's buffer.
    const FRAME_COUNT: usize = 5000;
    let [left, right] = Segment::pair()?;
    let mut speaker = Station::new(&left)?;
    let mut listener = Station::new(&right)?;
    let mut expected = 0;
    for start in (0..FRAME_COUNT).step_by(TRANSMIT_BATCH) {
        let part: Vec<_> = (start..start + TRANSMIT_BATCH)
            .map(|n| numbered_frame(&left, n))
            .collect();
        speaker.send(&part)?;
        while expected < start + TRANSMIT_BATCH {
            for frame in listener.next()? {
                ensure!(number(&frame) == expected, "{frame:?}, not {expected}");
                expected += 1;
            }
        }
    }
    ensure!(listener.socket.kernel_drops()? == 0);
    Ok(())
}

fn long_frames_are_truncated() -> Result<()> {
    let [left, right] = Segment::pair()?;
    for node in [&left, &right] {
        node.ns().ip("link set eth0 mtu 9000\n")?;
    }
    let mut listener = Station::new(&right)?;
    let payload: Vec<u8> = (0..4000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let long = frame(BROADCAST, &left, &payload);
    Forger::new(&left)?.send(&long)?;
    let received = listener.next()?;
    ensure!(received == [long[..MAX_FRAME].to_vec()]);
    Ok(())
}

/// Returns the age of the single frame that `station` receives at `now`.
fn age(station: &mut Station, now: Now) -> Result<Duration> {
    station.socket.receive(now, &mut station.batch)?;
    let ages: Vec<_> = station.batch.iter().map(|(.., age)| age).collect();
    ensure!(ages.len() == 1, "{} frames", ages.len());
    Ok(ages[0])
}

fn a_late_frame_has_its_age() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let mut speaker = Station::new(&left)?;
    let mut listener = Station::new(&right)?;
    let before = clock::now().monotonic;
    speaker.send(&[frame(BROADCAST, &left, b"early")])?;
    listener.wait()?;
    let arrived = clock::now().monotonic;
    // The test receives late, like a process that was stopped.
    std::thread::sleep(4 * TOLERANCE);
    let now = clocks();
    let age = age(&mut listener, now)?;
    ensure!(age + TOLERANCE >= now.monotonic.since(arrived), "{age:?}");
    ensure!(age <= now.monotonic.since(before) + TOLERANCE, "{age:?}");
    Ok(())
}

/// A process may be stopped after it reads the clocks and before it receives. If an offer arrives in this time, the
/// process must not mistake the offer for a new offer.
fn a_frame_that_arrived_after_the_clocks_were_read_has_its_age() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let mut speaker = Station::new(&left)?;
    let mut listener = Station::new(&right)?;
    let read = clocks();
    speaker.send(&[frame(BROADCAST, &left, b"early")])?;
    listener.wait()?;
    let arrived = clock::now().monotonic;
    std::thread::sleep(4 * TOLERANCE);
    let late = clock::now().monotonic;
    let age = age(&mut listener, read)?;
    ensure!(age + TOLERANCE >= late.since(arrived), "{age:?}");
    Ok(())
}

fn a_frame_in_time_is_fresh_with_any_wall_clock() -> Result<()> {
    const HOUR: Duration = Duration::from_secs(3600);
    let [left, right] = Segment::pair()?;
    let mut speaker = Station::new(&left)?;
    let mut listener = Station::new(&right)?;
    for set in [0, nanos(HOUR), nanos(HOUR).wrapping_neg()] {
        // The queue was empty at this time, so no frame is older.
        listener.receive()?;
        let emptied = clock::now().monotonic;
        speaker.send(&[frame(BROADCAST, &left, b"fresh")])?;
        listener.wait()?;
        let mut now = clocks();
        now.wall = now.wall.wrapping_add(set);
        let age = age(&mut listener, now)?;
        let longest = now.monotonic.since(emptied) + TOLERANCE;
        ensure!(
            age <= longest,
            "the frame's age is {age:?}, but it can be at most {longest:?}"
        );
    }
    Ok(())
}

fn frames_for_which_the_buffer_has_no_space_are_counted() -> Result<()> {
    const FRAME_COUNT: u64 = 4000;
    // With a smaller buffer than this, the socket would lose frames in a storm.
    const BUFFERED_FRAMES_MIN: u64 = 1024;
    let [left, right] = Segment::pair()?;
    let mut speaker = Station::new(&left)?;
    let mut listener = Station::new(&right)?;
    let mut witness = Station::on(&right, "eth0", OTHER_ETHERTYPE)?;
    let mut received = 0;
    for round in 1..=2 {
        for n in 0..FRAME_COUNT {
            speaker.send(&[numbered_frame(&left, usize::try_from(n)?)])?;
        }
        speaker.send(&[frame_of(OTHER_ETHERTYPE, BROADCAST, &left, b"the last")])?;
        witness.next()?;
        while listener.poll_wakeup()? {
            received += u64::try_from(listener.next()?.len())?;
        }
        let dropped = listener.socket.kernel_drops()?;
        ensure!(
            received >= round * BUFFERED_FRAMES_MIN
                && dropped > 0
                && received + dropped == round * FRAME_COUNT,
            "round {round}: {received} received, {dropped} dropped"
        );
    }
    Ok(())
}
