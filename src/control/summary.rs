//! What every system's node can show of itself, without a page of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Status;

/// A node of any system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NodeStatus {
    /// One of a Lab2 ring.
    Lab2(Box<Status>),
    /// One whose system has no page of its own.
    Other(Box<Summary>),
}

/// How a node is, in words and numbers that need no knowledge of its system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The system's name.
    pub system: String,
    /// What tells it from the others of its system on this machine: an interface, a number.
    pub place: String,
    /// The program's version.
    pub version: String,
    /// For how long it has run, in nanoseconds.
    pub up_ns: u64,
    /// How it is, in a few words.
    pub standing: String,
    /// It does what it is for.
    pub healthy: bool,
    /// What else is to be known, in order: a name, and what it is just now.
    pub facts: Vec<(String, String)>,
    /// What has happened since the start, and how often.
    pub counters: BTreeMap<String, u64>,
}
