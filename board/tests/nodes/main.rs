#![forbid(unsafe_code)]
//! Nodes as processes, each in a network namespace of its own on one segment, with one database.

mod address;
mod asking;
mod browser;
mod crowd;
mod faults;
mod http;
mod idle;
mod lists;
mod load;
mod pages;
mod refusals;
mod rings;
mod service;
mod stand;
mod web;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Those with long tests come first.
    let parts = [
        web::tests(),
        faults::tests(),
        load::tests(),
        pages::tests(),
        rings::tests(),
        address::tests(),
        asking::tests(),
        idle::tests(),
        lists::tests(),
        refusals::tests(),
        service::tests(),
    ];
    ring_segment::main(parts.into_iter().flatten().collect())
}
