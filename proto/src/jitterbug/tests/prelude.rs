//! The imports of most tests.

pub(super) use std::collections::BTreeSet;
pub(super) use std::net::{IpAddr, Ipv4Addr, SocketAddr};
pub(super) use std::time::Duration;

pub(super) use ring_codec::jitterbug::{Message, Node, Terms};

pub(super) use super::rig::*;
pub(super) use crate::jitterbug::{
    Acceptance, Command, Difference, Event, Jitterbug, LEASE_MAX, LEASE_MIN, Network, NetworkState,
    Options, OptionsError, Outcome, PassFailure, Reason, State, Work, policy, tokens,
};
pub(super) use crate::random::RandomNumbers;
pub(super) use crate::{CloseReason, JobRequest, Machine, SendOutcome, StreamId};
