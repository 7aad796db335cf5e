//! The page and the texts about a node of a ring.

pub(crate) mod locks;
pub(crate) mod matrix;
pub(crate) mod members;
mod obstacle;
mod page;
pub(crate) mod survey;
#[cfg(test)]
pub(crate) mod survey_fixtures;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use obstacle::quorum_obstacle;
pub(crate) use page::{mac_with_name, quorum_text};
#[cfg(test)]
pub(crate) use tests::example as example_status;
pub(crate) use view::{RingView, event_text};
