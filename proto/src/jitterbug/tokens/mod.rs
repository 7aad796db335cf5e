//! Tokens: their ids and their strength, and the memory of announced, passed and followed tokens.

mod announcements;
mod follow_state;
mod ids;
mod passed_token;
mod rank;
mod rival;

pub(crate) use announcements::Announcements;
pub(crate) use follow_state::FollowState;
pub(crate) use ids::{first, next};
pub(crate) use passed_token::PassedToken;
pub(crate) use rank::Rank;
pub(crate) use rival::{HeardLeader, Rival};
