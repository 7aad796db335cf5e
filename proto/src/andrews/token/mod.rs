//! The token as far as it is here, and the requests that wait for it.

mod place;
mod requests;

pub(crate) use place::{Held, JUMP, Parked, Place, Token, Visit, later};
pub(crate) use requests::Requests;
