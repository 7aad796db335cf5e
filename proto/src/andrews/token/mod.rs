//! The token at this node, and the requests that wait for the token.

mod place;
mod requests;

pub(crate) use place::{Token, TokenUse, UseInput};
pub(crate) use requests::Requests;
