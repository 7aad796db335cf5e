#![forbid(unsafe_code)]
//! Tests of nodes that run as processes. Each node runs in its own network namespace. All nodes are on one segment, and
//! use one database. Start with `test_ring.rs`.

mod address;
mod browser;
mod conformance;
mod faults;
mod http;
mod idle;
mod lists;
mod load;
mod logins;
mod pages;
mod proxy;
mod refusals;
mod ringctl;
mod rings;
mod service;
mod test_clients;
mod test_ring;
mod trust;
mod web;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The longest tests come first.
    let parts = [
        web::tests(),
        faults::tests(),
        conformance::tests(),
        load::tests(),
        trust::tests(),
        pages::tests(),
        proxy::tests(),
        logins::tests(),
        rings::tests(),
        address::tests(),
        ringctl::tests(),
        idle::tests(),
        lists::tests(),
        refusals::tests(),
        service::tests(),
    ];
    ring_segment::main(parts.into_iter().flatten().collect())
}
