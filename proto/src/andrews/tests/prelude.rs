//! The imports of most tests.

pub(super) use std::collections::{BTreeMap, BTreeSet, VecDeque};
pub(super) use std::net::SocketAddr;
pub(super) use std::time::Duration;

pub(super) use ring_codec::andrews::{Kind, MAX_IDS, Method};

pub(super) use super::fake_database::{FakeDatabase, Post, seat};
pub(super) use super::network::{DatabaseMode, Network};
pub(super) use super::rig::{
    BULLY, Fate, OK, Rig, address, candidate, ip, list, ms, result, ring_election, seq,
};
pub(super) use super::steps::ring_of_four;
pub(super) use crate::andrews::message::OwnedMessage;
pub(super) use crate::andrews::{
    Answer, Change, Command, DatabaseState, Event, Job, ListError, Loss, NodeList, Options,
    OptionsError, Outcome, Reason, Rows, Seat, State, Work, Write,
};
pub(super) use crate::draw::Draw;
pub(super) use crate::{Closed, Machine, StreamId};
