//! One daemon and its environment on its machine: files, interfaces, signals, limits and reports.

mod config;
mod descriptors;
mod environment;
mod files;
mod interface;
mod queries;
mod recordings;
mod reports;
mod rings;
mod signals;
mod top;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    let parts = [
        config::tests(),
        environment::tests(),
        files::tests(),
        queries::tests(),
        recordings::tests(),
        interface::tests(),
        reports::tests(),
        rings::tests(),
        signals::tests(),
        top::tests(),
        descriptors::tests(),
    ];
    parts.concat()
}
