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
    Change, Command, CoordinatorRow, DatabaseState, Event, Job, ListError, NodeList, Options,
    OptionsError, Outcome, Reason, RequestAnswer, Rows, State, SuccessorLoss, Work, Write,
};
pub(super) use crate::random::RandomNumbers;
pub(super) use crate::{CloseReason, Machine, StreamId};
