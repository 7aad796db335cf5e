//! The manual pages say what `--help` says: both are made from the same declarations.

use std::env;
use std::fs;
use std::path::Path;

use clap::CommandFactory;

/// Set it to write the pages instead of checking them.
const WRITE: &str = "RINGD_WRITE_MAN";

fn agrees<C: CommandFactory>() {
    let command = C::command();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/man")
        .join(format!("{}.8", command.get_name()));
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .section("8")
        .render(&mut page)
        .expect("a vector takes all that is written to it");
    let page = String::from_utf8(page).expect("help is text");
    if env::var_os(WRITE).is_some() {
        fs::write(&path, page).expect("the manual page can be written");
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "{} does not say what --help says; write it again: {WRITE}=1 cargo test --test man",
        path.display()
    );
}

#[test]
fn ringd_page_says_what_help_says() {
    agrees::<ringd::daemon::Options>();
}
