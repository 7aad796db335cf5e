//! Tests of the four wire formats through the public interface.

mod checks;
mod corpus;
mod page;
mod properties;
mod refusals;
mod spread;
mod streams;
mod truncation;
mod vectors;
