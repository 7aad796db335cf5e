//! Runs the recipes of `docs/fencing.md` unchanged, on rings of real daemons.

mod file;
mod http;
mod machines;
mod page;
mod postgres;

use ring_segment::{Test, tests};

use file::a_file_that_all_machines_see_refuses_who_comes_too_late;
use http::an_http_service_refuses_who_comes_too_late;
use postgres::{
    a_postgresql_trigger_refuses_who_comes_too_late_and_who_shows_no_token,
    an_update_of_a_postgresql_row_refuses_who_comes_too_late,
};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_file_that_all_machines_see_refuses_who_comes_too_late,
        a_postgresql_trigger_refuses_who_comes_too_late_and_who_shows_no_token,
        an_update_of_a_postgresql_row_refuses_who_comes_too_late,
        an_http_service_refuses_who_comes_too_late,
    ]
}
