//! What is known of tokens: ids, how strong each is, and who has announced, given away or followed one.

mod announcements;
mod company;
mod gave;
mod ids;
mod rank;
mod rival;

pub(crate) use announcements::Announcements;
pub(crate) use company::Company;
pub(crate) use gave::Gave;
pub(crate) use ids::{first, next};
pub(crate) use rank::Rank;
pub(crate) use rival::{Heard, Rival};
