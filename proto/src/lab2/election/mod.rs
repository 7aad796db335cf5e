//! The strongest known token, its rivals, and the search of a LOOSER for the token. Start with `best_token`.

mod best_token;
mod rivals;
mod search;

pub(crate) use best_token::BestToken;
pub(crate) use rivals::{RIVAL_LEAD, Rivals};
pub(crate) use search::Search;
