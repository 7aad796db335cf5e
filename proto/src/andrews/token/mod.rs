//! The token as far as it is here, and the requests that wait for it.

mod place;
mod requests;

pub(crate) use place::{Demand, Token, Use};
pub(crate) use requests::Requests;
