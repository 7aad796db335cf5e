//! The token while it is here, and the requests that wait for it.

mod place;
mod requests;

pub(crate) use place::{Token, TokenUse, UseInput};
pub(crate) use requests::Requests;
