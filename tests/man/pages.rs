//! Makes manual pages and the pages of `docs/reference/commands` from the options that a program declares.

#[path = "markdown.rs"]
mod markdown;
#[path = "sections.rs"]
mod sections;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};

/// Environment variable. If the variable is set, the test writes the pages instead of checking them.
const WRITE_VARIABLE: &str = "RINGD_WRITE_DOCS";

/// Returns the pages of a program: one page for the program, and one for each command at any depth. The key is the file
/// name.
pub(crate) fn pages(program: Command) -> BTreeMap<String, String> {
    // Clap's `help` command needs no page.
    let program = program.disable_help_subcommand(true);
    let mut program = with_aliases(program);
    program.build();
    let mut pages = BTreeMap::new();
    add_pages(&program, &mut pages);
    pages
}

/// Adds the pages of a command and of its visible subcommands.
fn add_pages(command: &Command, pages: &mut BTreeMap<String, String>) {
    let name = page_name(command);
    let man = clap_mangen::Man::new(command.clone())
        .section(sections::number(&name))
        .source(concat!("ringd ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    let rendered = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| page.write_all(synopsis(command).as_bytes()))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .and_then(|()| {
            if has_commands(command) {
                man.render_subcommands_section(&mut page)
            } else {
                Ok(())
            }
        });
    rendered.expect("a write to a vector never fails");
    let mut page = String::from_utf8(page).expect("help is text");
    page += &sections::render(command, &name);
    pages.insert(man.get_filename(), page);
    let commands = command.get_subcommands();
    for command in commands.filter(|command| !command.is_hide_set()) {
        add_pages(command, pages);
    }
}

/// Returns the name of a command's page: `ringctl-token-run`.
fn page_name(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or(command.get_name());
    name.to_owned()
}

fn has_commands(command: &Command) -> bool {
    let mut commands = command.get_subcommands();
    commands.any(|command| !command.is_hide_set())
}

/// Returns the words of a command line: its options with their values, and its arguments. `clap_mangen` omits the
/// values, and omits that an argument can occur several times.
fn usage_words(command: &Command) -> Vec<String> {
    let options = command.get_arguments().filter(|it| !it.is_hide_set());
    let (arguments, options): (Vec<_>, Vec<_>) = options.partition(|it| it.is_positional());
    let mut words: Vec<_> = options.into_iter().map(option_word).collect();
    words.extend(arguments.into_iter().map(argument_word));
    if has_commands(command) {
        let is_needed = command.is_subcommand_required_set();
        words.push(
            if is_needed {
                "COMMAND ..."
            } else {
                "[COMMAND ...]"
            }
            .to_owned(),
        );
    }
    words
}

fn option_word(option: &Arg) -> String {
    let short = option.get_short().map(|it| format!("-{it}"));
    let long = option.get_long().map(|it| format!("--{it}"));
    let names: Vec<_> = short.into_iter().chain(long).collect();
    let mut word = names.join("|");
    if option.get_action().takes_values() {
        let is_needed = option.get_num_args().is_none_or(|it| it.min_values() > 0);
        let value = value_name(option);
        word = if is_needed {
            format!("{word} {value}")
        } else {
            format!("{word} [{value}]")
        };
    }
    if option.is_required_set() {
        word
    } else {
        format!("[{word}]")
    }
}

fn argument_word(argument: &Arg) -> String {
    let mut word = value_name(argument);
    let takes_many = argument
        .get_num_args()
        .is_some_and(|it| it.max_values() > 1);
    if takes_many || matches!(argument.get_action(), ArgAction::Append) {
        word += " ...";
    }
    if argument.is_required_set() {
        word
    } else {
        format!("[{word}]")
    }
}

fn value_name(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    if names.is_empty() {
        argument.get_id().to_string().to_uppercase()
    } else {
        names.join(" ")
    }
}

fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let words = usage_words(command).join(" ");
    format!(
        ".SH SYNOPSIS\n\\fB{}\\fR {}\n",
        sections::escape(name),
        sections::escape(&words)
    )
}

/// Adds the aliases of options to the help of the options. `--help` shows aliases there, but `clap_mangen` omits them.
fn with_aliases(program: Command) -> Command {
    let program = program.mut_args(|option| {
        let aliases = option.get_visible_aliases().unwrap_or_default();
        if aliases.is_empty() {
            return option;
        }
        let aliases = aliases.join(", --");
        let help = option.get_long_help().or(option.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        option.long_help(format!("{help} [aliases: --{aliases}]"))
    });
    program.mut_subcommands(with_aliases)
}

/// Compares pages with the program's pages in `docs/man`. If [`WRITE_VARIABLE`] is set, writes the pages instead.
///
/// # Panics
/// Panics if the pages differ. The panic's message names `again`, the command that writes the pages.
pub(crate) fn check(made: &BTreeMap<String, String>, is_own: impl Fn(&str) -> bool, again: &str) {
    let directory = docs().join("man");
    if env::var_os(WRITE_VARIABLE).is_some() {
        for (name, page) in made {
            fs::write(directory.join(name), page).expect("a manual page can be written");
        }
    }
    let all = read_pages(&directory);
    let mut written = all.clone();
    written.retain(|name, _| is_own(name));
    let missing: Vec<_> = made
        .keys()
        .filter(|it| !written.contains_key(*it))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/man has no page for these commands: {missing:?}; run {WRITE_VARIABLE}=1 {again}"
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
        let absent = references(page).find(|it| !all.contains_key(it));
        assert_eq!(absent, None, "docs/man/{name} refers to a missing page");
        assert!(
            written[name] == *page,
            "docs/man/{name} differs from --help; run {WRITE_VARIABLE}=1 {again}"
        );
    }
}

/// Returns the file names of the pages to which a page refers: lines such as `ringctl-run(1)`.
fn references(page: &str) -> impl Iterator<Item = String> {
    let pages = page.lines().filter_map(|line| {
        let line = line.trim_start_matches(".B ").trim_end_matches(',');
        let (name, section) = line.strip_suffix(')')?.rsplit_once('(')?;
        let is_own = name.starts_with("ring") && !name.contains(' ');
        is_own.then(|| format!("{}.{section}", name.replace(r"\-", "-")))
    });
    pages.collect::<Vec<_>>().into_iter()
}

/// Returns the folder `docs`. The crate's folder is the repository's root, or a folder inside the repository.
fn docs() -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = directory.ancestors().map(|it| it.join("docs"));
    let docs = folders.find(|it| it.join("man").is_dir());
    docs.expect("docs/man is there")
}

/// Compares the page of a program in `docs/reference/commands` with the options that the program declares. If
/// [`WRITE_VARIABLE`] is set, writes the page instead.
///
/// # Panics
/// The page differs. The message names `again`, the command that writes the page.
pub(crate) fn check_reference(program: Command, again: &str) {
    let program = program.disable_help_subcommand(true);
    let mut program = with_aliases(program);
    program.build();
    let name = page_name(&program);
    let file = docs().join(format!("reference/commands/{name}.md"));
    let page = markdown::page(&program, again);
    if env::var_os(WRITE_VARIABLE).is_some() {
        fs::write(&file, &page).expect("a page can be written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "{} differs from --help; run {WRITE_VARIABLE}=1 {again}",
        file.display()
    );
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

/// Checks the form of the help of a program and its commands.
///
/// # Panics
/// Panics if a line or a summary is too long.
pub(crate) fn check_help(program: &Command) {
    check_lines(program);
    check_summaries(program);
    let commands = program.get_subcommands();
    commands
        .filter(|command| !command.is_hide_set())
        .for_each(check_help);
}

/// Checks the lines at the end of a program's help. A terminal must not break a line that clap has already broken. So a
/// line of prose must be shorter than the terminal, or must be the only line of its paragraph. A line of a list must
/// fit into clap's maximum width.
fn check_lines(program: &Command) {
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
}

/// Checks the lists of commands and options: each command and each option has a description of one short line.
fn check_summaries(program: &Command) {
    let name = program.get_name();
    let options = program
        .get_arguments()
        .filter(|option| !option.is_hide_set())
        .map(|option| (option.get_id().as_str(), option.get_help()));
    let commands = program
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| (command.get_name(), command.get_about()));
    for (id, summary) in options.chain(commands) {
        let summary = summary.map(ToString::to_string).unwrap_or_default();
        let summary = summary.split(" [default").next().unwrap_or_default();
        assert!(
            summary.chars().count() <= SUMMARY_LEN_MAX,
            "the summary of {name} {id} has more than {SUMMARY_LEN_MAX} characters: {summary}"
        );
    }
}

/// Width of a terminal, in characters.
const TERMINAL_WIDTH: usize = 80;
/// Maximum length of the summary of a command or an option, in characters (`docs/contributors/style.md`).
const SUMMARY_LEN_MAX: usize = 60;
/// Maximum width of a line of help. Clap breaks longer lines.
const HELP_WIDTH_MAX: usize = 100;
