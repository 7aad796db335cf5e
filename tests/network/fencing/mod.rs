//! Runs the recipes of `docs/how-to/fence-*.md` unchanged, on rings of real daemons.

mod file;
mod http;
mod machines;
mod postgres;

use ring_segment::{Test, tests};

use file::a_shared_file_refuses_a_late_writer;
use http::an_http_service_refuses_a_late_writer;
use postgres::{
    a_postgresql_trigger_refuses_a_late_writer_and_a_writer_without_a_token,
    an_update_of_a_postgresql_row_refuses_a_late_writer,
};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_shared_file_refuses_a_late_writer,
        a_postgresql_trigger_refuses_a_late_writer_and_a_writer_without_a_token,
        an_update_of_a_postgresql_row_refuses_a_late_writer,
        an_http_service_refuses_a_late_writer,
    ]
}
