//! What a node knows of the token, and what it needs to find it or to make one.

mod known;
mod rivals;
mod search;

pub(crate) use known::Known;
pub(crate) use rivals::{LEAD, Rivals};
pub(crate) use search::Search;
