//! Makes manual pages from the options that a program declares.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use clap::Command;

/// Environment variable: if it is set, the pages are written instead of checked.
const WRITE_VARIABLE: &str = "RINGD_WRITE_MAN";

/// Returns the pages of a program, by file name: one for the program and one for each command at any depth.
pub(crate) fn pages(program: Command) -> BTreeMap<String, String> {
    // Clap's `help` command needs no page.
    let program = program.disable_help_subcommand(true);
    let mut program = with_aliases(program);
    program.build();
    let mut pages = BTreeMap::new();
    add_pages(&program, &mut pages);
    pages
}

/// Adds the pages of a command and of its visible commands.
fn add_pages(command: &Command, pages: &mut BTreeMap<String, String>) {
    let man = clap_mangen::Man::new(command.clone())
        .section("8")
        .source(concat!("ringd ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page)
        .expect("a vector takes all that is written to it");
    let page = String::from_utf8(page).expect("help is text");
    pages.insert(man.get_filename(), with_lists(&page));
    let commands = command.get_subcommands();
    for command in commands.filter(|command| !command.is_hide_set()) {
        add_pages(command, pages);
    }
}

/// Adds the aliases of options to their help, where `--help` shows them. `clap_mangen` omits them.
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

/// Keeps the line breaks of indented lines at the end of the page: they are lists, which `man` would join.
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

/// Compares pages with those of the same program in `docs/man`, or writes them if [`WRITE_VARIABLE`] is set.
///
/// # Panics
/// The pages differ. `again` is the command that writes them.
pub(crate) fn check(made: &BTreeMap<String, String>, is_own: impl Fn(&str) -> bool, again: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The crate is the repository's root, or a folder in it.
    let root = directory
        .ancestors()
        .find(|it| it.join("docs/man").is_dir());
    let directory = root.expect("docs/man is there").join("docs/man");
    if env::var_os(WRITE_VARIABLE).is_some() {
        for (name, page) in made {
            fs::write(directory.join(name), page).expect("a manual page can be written");
        }
    }
    let mut written = read_pages(&directory);
    written.retain(|name, _| is_own(name));
    let missing: Vec<_> = made
        .keys()
        .filter(|it| !written.contains_key(*it))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/man has no page for these commands: {missing:?}; write them: {WRITE_VARIABLE}=1 {again}"
    );
    let surplus: Vec<_> = written
        .keys()
        .filter(|it| !made.contains_key(*it))
        .collect();
    assert!(
        surplus.is_empty(),
        "docs/man has pages for commands that do not exist: {surplus:?}; delete them"
    );
    for (name, page) in made {
        let absent = references(page).find(|it| !written.contains_key(it));
        assert_eq!(
            absent, None,
            "docs/man/{name} refers to a page that is missing"
        );
        assert!(
            written[name] == *page,
            "docs/man/{name} differs from --help; write it again: {WRITE_VARIABLE}=1 {again}"
        );
    }
}

/// Returns the file names of the pages that a page lists for its commands.
fn references(page: &str) -> impl Iterator<Item = String> {
    let listed = page.lines().filter_map(|line| line.strip_suffix("(8)"));
    listed.map(|name| name.replace(r"\-", "-") + ".8")
}

fn read_pages(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).expect("docs/man is there");
    entries
        .map(|entry| {
            let entry = entry.expect("docs/man can be listed");
            let page = fs::read_to_string(entry.path()).expect("a manual page is text");
            (entry.file_name().to_string_lossy().into_owned(), page)
        })
        .collect()
}

/// Checks that a terminal breaks no line at the end of a program's help, after clap has broken it already. So a
/// line of prose must be shorter than the terminal, or be a whole paragraph. A line of a list must fit into clap's
/// maximum width.
///
/// # Panics
/// A line is too long.
pub(crate) fn check_lines(program: &Command) {
    let help = program.get_after_long_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let lines: Vec<&str> = help.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| lines[before]);
        let after = lines.get(at + 1).copied().unwrap_or_default();
        let is_alone = before.is_empty() && after.is_empty();
        let most = if line.starts_with(' ') {
            HELP_WIDTH_MAX
        } else {
            TERMINAL_WIDTH
        };
        let name = program.get_name();
        assert!(
            line.len() <= most || is_alone,
            "a line in the help of {name} has more than {most} characters: {line}"
        );
    }
    program.get_subcommands().for_each(check_lines);
}

/// Width of a terminal, in characters.
const TERMINAL_WIDTH: usize = 80;
/// Maximum width of help: clap breaks longer lines.
const HELP_WIDTH_MAX: usize = 100;
