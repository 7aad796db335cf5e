//! The imports of most tests.

pub(super) use std::collections::BTreeSet;
pub(super) use std::net::{IpAddr, Ipv4Addr, SocketAddr};
pub(super) use std::time::Duration;

pub(super) use ring_codec::jitterbug::{Message, Node, Terms};

pub(super) use super::rig::*;
pub(super) use crate::draw::Draw;
pub(super) use crate::jitterbug::{
    Acceptance, Command, Difference, Event, Failure, Jitterbug, LEAST_LEASE, MOST_LEASE, Net,
    Network, Options, OptionsError, Outcome, Reason, State, Work, policy, tokens,
};
pub(super) use crate::{Closed, JobOp, Machine, Sent, StreamId};
