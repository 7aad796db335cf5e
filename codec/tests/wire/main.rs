//! The four wire formats from outside: what any peer, and any sender of garbage, can see.

mod checks;
mod corpus;
mod page;
mod properties;
mod refusals;
mod spread;
mod streams;
mod truncation;
