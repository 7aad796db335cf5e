#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "only tests and benchmarks of this repository use the crate"
)]
#![allow(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "tests print the errors, and may ignore getters' results"
)]
//! A real Ethernet segment for tests and benchmarks: nodes in network namespaces on a bridge, or on a switch that
//! causes faults. Daemons run on the nodes, peers send the test's frames, and a capture records every frame.
//! [`invariants`] checks the protocol with only the recorded frames.
//!
//! A test program (`harness = false`) passes its tests to [`main`], which runs them in sandboxes. A sandbox consists of
//! new namespaces, so it has no access to the machine's network and leaves nothing behind. The tests need root or
//! unprivileged user namespaces, and the program `ip` of iproute2. A [`Container`] needs root and systemd. If a
//! requirement is missing, the tests fail and name it.
//!
//! Start reading at [`Segment`], [`Ring`] (a daemon on every node) and [`Stand`] (one daemon between two peers).
//!
//! ```no_run
//! use std::process::ExitCode;
//! use std::time::Duration;
//!
//! use ring_segment::{Binaries, Message, Segment, invariants};
//!
//! fn two_daemons_agree() -> anyhow::Result<()> {
//!     let binaries = Binaries { ringd: "ringd", ringctl: "ringctl" }; // or binaries()
//!     let segment = Segment::bridge(3)?;
//!     let daemons = [0, 1].map(|n| segment.node(n).ringd(binaries).option("--heartbeat", "50ms").spawn());
//!     let heartbeat = segment.capture().wait_for(Duration::from_secs(5), |seen| {
//!         matches!(seen.message, Message::TokenIsHere { .. }) && seen.is_broadcast()
//!     })?;
//!     println!("node {} owns the token", heartbeat.port);
//!     let peer = segment.node(2).peer()?;
//!     peer.send(heartbeat.src, &Message::WhereIsToken)?;
//!     peer.expect(Duration::from_secs(1), |seen| seen.message.token().is_some())?;
//!     invariants::check_all(&segment.capture().frames())?;
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     ring_segment::main(ring_segment::tests![two_daemons_agree])
//! }
//! ```
//!
//! A benchmark passes no tests to [`main`]. A benchmark calls [`enter`] in the first line of its `main`. The benchmark
//! may use [`Segment::pair`] and [`NetNs::run`] to open its own sockets on a node:
//!
//! ```no_run
//! fn main() -> anyhow::Result<()> {
//!     ring_segment::enter()?;
//!     let [left, right] = ring_segment::Segment::pair()?;
//!     let socket = left.ns().run(|| std::net::UdpSocket::bind("0.0.0.0:0"))??;
//!     Ok(())
//! }
//! ```

mod capture;
mod cases;
mod checksum;
mod clock;
mod container;
mod daemon;
mod disk;
pub mod eavesdropper;
mod failure_report;
mod filter;
pub mod invariants;
mod ip;
mod key_files;
pub mod limit;
mod lines;
mod netns;
mod node;
mod packet_socket;
mod pcap;
mod peer;
mod postgresql;
pub mod proc;
mod programs;
mod pty;
mod rights;
mod ring;
mod runner;
mod sandbox;
mod segment;
mod shared_ring;
mod stalls;
mod stand;
mod switch;
mod timing;
mod wire;

pub use capture::Capture;
pub use cases::{Case, side_by_side};
pub use clock::{now, start as epoch};
pub use container::Container;
pub use daemon::{Binaries, Daemon, Ringd, ask, kill_guardian};
pub use disk::SmallDisk;
pub use eavesdropper::Eavesdropper;
pub use fastrand::Rng;
pub use key_files::{KeyFiles, check_refusals, check_signers, key_line, reload_keys};
pub use limit::{WAIT, WAIT_LIMIT};
pub use netns::NetNs;
pub use node::Node;
pub use pcap::write_pcap;
pub use peer::Peer;
pub use pnet::util::MacAddr;
pub use postgresql::PostgreSql;
pub use programs::{binaries, program};
pub use pty::Pty;
pub use rights::check_rights;
pub use ring::Ring;
pub use runner::{Test, Turn, is_runner, main};
pub use sandbox::{enter, enter_beside_others};
pub use segment::{Layout, Segment};
pub use shared_ring::SharedRing;
pub use stand::{OTHER_DIGEST, Stand, is_claim, is_heartbeat, take_token, token_is_here};
pub use switch::{Rules, Switch};
pub use timing::{LONG_IDLE_HOLD, SLACK, Timing};
pub use wire::{
    Confirmation, Digest, ETHERTYPE, Member, Message, Profile, Seen, Token, digest_of,
    forged_signature, frame, signing_key,
};
