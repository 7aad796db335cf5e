//! The fields that the project's codec decodes, in the form of tshark's output.

pub(super) mod andrews;
pub(super) mod ftn;
pub(super) mod jitterbug;
pub(super) mod lab2;

/// Fields that only group other fields, or that the codec does not return.
pub(super) const LABELS: [&str; 12] = [
    "ftn.terms",
    "jitterbug.node",
    "jitterbug.terms",
    "lab2.lock",
    "lab2.mark",
    "lab2.measure",
    "lab2.member",
    "lab2.pause",
    "lab2.profile",
    "lab2.stamp",
    "lab2.standing",
    "lab2.padding",
];
