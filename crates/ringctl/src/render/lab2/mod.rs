//! A node of a ring as people want to see it.

pub(crate) mod members;
mod obstacle;
mod page;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use view::{RingView, event_text};
