//! The systems that this program can run a node of: their options, links, names, and what `status`
//! shows. No rules, and no loop.

pub mod lab2;
