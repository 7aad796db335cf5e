//! Manual pages, made of what a program declares.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use clap::Command;

/// Set it to write the pages instead of checking them.
const WRITE: &str = "RINGD_WRITE_MAN";

/// The pages of a program, the first for itself and one for each of its commands, by file name.
pub fn pages(program: Command) -> impl Iterator<Item = (String, String)> {
    // Clap's own `help` command needs no page.
    let program = program.disable_help_subcommand(true);
    let mut program = with_aliases(program);
    program.build();
    let shown = program
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let commands: Vec<_> = shown.cloned().collect();
    std::iter::once(program).chain(commands).map(|command| {
        let man = clap_mangen::Man::new(command)
            .section("8")
            .source(concat!("ringd ", env!("CARGO_PKG_VERSION")));
        let mut page = Vec::new();
        man.render(&mut page)
            .expect("a vector takes all that is written to it");
        let page = String::from_utf8(page).expect("help is text");
        (man.get_filename(), with_lists(&page))
    })
}

/// The program with the other names of its options in their help, where `--help` shows them, too: the
/// manual's maker leaves them out.
fn with_aliases(program: Command) -> Command {
    let program = program.mut_args(|option| {
        let aliases = option.get_visible_aliases().unwrap_or_default();
        if aliases.is_empty() {
            return option;
        }
        let aliases = aliases.join(", --");
        let help = option.get_help().map(ToString::to_string);
        option.help(format!(
            "{} [aliases: --{aliases}]",
            help.unwrap_or_default()
        ))
    });
    program.mut_subcommands(with_aliases)
}

/// The page with the indented lines of its last words kept as they stand: they are lists, which
/// the manual's reader would run together.
fn with_lists(page: &str) -> String {
    let mut kept = String::new();
    let mut in_list = false;
    for line in page.lines() {
        if line.starts_with("  ") != in_list {
            in_list = !in_list;
            kept += if in_list { ".nf\n" } else { ".fi\n" };
        }
        kept += match line {
            ".SH EXTRA" => ".SH NOTES",
            line => line,
        };
        kept.push('\n');
    }
    kept
}

/// Compares pages with those of `docs/man` that belong to the same program, or writes them if that is asked for.
///
/// # Panics
/// They differ. `again` is the command that writes them.
pub fn check(made: &BTreeMap<String, String>, is_own: impl Fn(&str) -> bool, again: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The crate is the project's root, or a folder of it.
    let root = directory
        .ancestors()
        .find(|it| it.join("docs/man").is_dir());
    let directory = root.expect("docs/man is there").join("docs/man");
    if env::var_os(WRITE).is_some() {
        for (name, page) in made {
            fs::write(directory.join(name), page).expect("a manual page can be written");
        }
    }
    let mut written = written(&directory);
    written.retain(|name, _| is_own(name));
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&written), names(made), "the files in docs/man");
    for (name, page) in made {
        assert!(
            written[name] == *page,
            "docs/man/{name} does not say what --help says; write it again: {WRITE}=1 {again}"
        );
    }
}

fn written(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).expect("docs/man is there");
    entries
        .map(|entry| {
            let entry = entry.expect("docs/man can be listed");
            let page = fs::read_to_string(entry.path()).expect("a manual page is text");
            (entry.file_name().to_string_lossy().into_owned(), page)
        })
        .collect()
}
