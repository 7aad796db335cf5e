//! Nodes that a process runs for itself, without the daemon's host.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_note::{Command, Event, Net, Note, Notes, Options, wire};
use ring_proto::time::Now;
use ring_proto::{JobOp, Stored};
use ring_segment::{PATIENCE, Segment};
use ringd::driver::{Connections, Driver, Joined, Observe, Store, datagrams};
use ringd::host::{Errand, LINK};
use ringd::sys::{TcpNetwork, TcpOptions, UdpLink, UdpOptions, clock};

/// The key of the descriptor by which the test tells one of them that it is enough.
const ENOUGH: u8 = Runs::LAST_KEY;

type Link = Joined<UdpLink, Connections<TcpNetwork, SocketAddr>>;
type Runs = Errand<Notes, Link, Nowhere, Seen>;

/// Stores nothing.
struct Nowhere;

impl Store<Note> for Nowhere {
    fn store(&mut self, _: &Note) -> Stored {
        Stored::Done
    }
}

#[derive(Default)]
struct Seen(Vec<Event>);

impl Observe<Event> for Seen {
    fn observe(&mut self, _: Now, event: &Event) {
        self.0.push(*event);
    }
}

/// A node on loopback without a network, its link, and where that is.
fn node(id: u64, period: Duration) -> Result<(Runs, Link, SocketAddr)> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let datagrams = UdpLink::bind(any, &UdpOptions::default())?;
    let network = TcpNetwork::listen(any, TcpOptions::default())?;
    let options = Options {
        id,
        port: network.address()?.port(),
        period,
        transfer: PATIENCE,
        served: 4,
    };
    let driver = Driver::with_batches(
        Notes::new(options, Note::default()),
        datagrams::receive_batch(wire::ANNOUNCEMENT),
        datagrams::transmit_batch(wire::ANNOUNCEMENT),
    );
    let address = datagrams.address()?;
    let streams = Connections::new(network, 4);
    let link = Joined { datagrams, streams };
    Ok((
        Errand::new(driver, Nowhere, Seen::default())?,
        link,
        address,
    ))
}

fn join(runs: &mut Runs, link: Link, to: SocketAddr) -> Result<()> {
    runs.set_link(link, Net::Up(to), |link, waiting| {
        waiting.add(&link.datagrams, LINK)?;
        waiting.add(link.streams.network(), LINK)
    })?;
    Ok(())
}

fn do_jobs(runs: &mut Runs) {
    while let Some(JobOp::Start(job)) = runs.next_job() {
        runs.command(job.run());
    }
}

pub fn an_errand_needs_no_daemon() -> Result<()> {
    let [place, _] = Segment::pair()?;
    place.ns().ip("link set lo up\n")?;
    // Connections are made in the network of the thread that steps.
    place.ns().run(both)?
}

fn both() -> Result<()> {
    let (mut author, author_link, author_at) = node(1, Duration::from_millis(10))?;
    // Nothing wakes it but what comes for it.
    let (mut reader, reader_link, reader_at) = node(2, 100 * PATIENCE)?;
    join(&mut author, author_link, reader_at)?;
    let (mut tells, mut told) = UnixStream::pair()?;
    author.add(&told, ENOUGH)?;
    author.command(Command::Write(b"without a daemon".to_vec()));
    let reads = std::thread::scope(|scope| -> Result<()> {
        let reads = scope.spawn(move || -> Result<()> {
            join(&mut reader, reader_link, author_at)?;
            let give_up = clock::now().monotonic + PATIENCE;
            while reader.machine().note().bytes.is_empty() {
                let step = reader.step(Some(give_up))?;
                ensure!(step.now.monotonic < give_up, "nothing comes");
                ensure!(step.link_failed.is_none(), "{step:?}");
                do_jobs(&mut reader);
            }
            let note = reader.machine().note();
            ensure!(&*note.bytes == b"without a daemon", "{note:?}");
            let seen = &reader.observer().0;
            ensure!(matches!(seen[..], [Event::Shown(_)]), "{seen:?}");
            tells.write_all(b"x")?;
            Ok(())
        });
        loop {
            do_jobs(&mut author);
            let step = author.step(None)?;
            if step.is_ready(ENOUGH) {
                break;
            }
            ensure!(!step.is_ready(0), "nothing was added under this key");
        }
        reads.join().ok().context("it panicked")?
    });
    reads?;
    told.read_exact(&mut [0])?;
    author.remove(&told)?;
    Ok(())
}
