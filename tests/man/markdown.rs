//! The pages of `docs/reference/commands`.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// Maximum length of a line, without the indentation of lists.
const WIDTH: usize = 116;

/// Returns the page of a program and all its commands. `again` is the command that writes the page.
pub(super) fn page(program: &Command, again: &str) -> String {
    let name = program.get_bin_name().unwrap_or(program.get_name());
    let mut page = format!("# {name}\n\n");
    let intro = format!(
        "This page lists the options of `{name}`, for users who do not have its manual page. The program that writes \
         the page is `RINGD_WRITE_DOCS=1 {again}`."
    );
    wrap(&mut page, &intro, "");
    add(&mut page, program, 2);
    page
}

fn add(page: &mut String, command: &Command, level: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    if level > 2 {
        write(page, format_args!("\n{} {name}\n", "#".repeat(level - 1)));
    }
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    page.push('\n');
    add_text(page, &about);
    page.push_str("\n```text\n");
    wrap(
        page,
        &format!(
            "{name} {}",
            super::usage_words(command, level == 2).join(" ")
        ),
        "    ",
    );
    page.push_str("```\n");
    let arguments: Vec<_> = command
        .get_arguments()
        .filter(|it| !it.is_hide_set())
        .collect();
    // The options of all commands of the program stand only once, at the program.
    let own = arguments
        .into_iter()
        .filter(|it| level == 2 || !super::is_common(it));
    page.push('\n');
    for argument in own {
        add_argument(page, argument);
    }
    let help = command.get_after_long_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    if !help.is_empty() {
        if !page.ends_with("\n\n") {
            page.push('\n');
        }
        add_text(page, &help);
    }
    while page.ends_with("\n\n") {
        page.pop();
    }
    let commands = command.get_subcommands().filter(|it| !it.is_hide_set());
    // The commands of ringd have their own pages.
    for command in commands.filter(|_| name != "ringd") {
        add(page, command, level + 1);
    }
}

fn add_argument(page: &mut String, argument: &Arg) {
    let word = if argument.is_positional() {
        super::argument_word(argument)
    } else {
        super::option_word(argument)
    };
    let word = word.trim_start_matches('[').replace('|', "`, `");
    let word = if argument.is_required_set() {
        word
    } else {
        word.trim_end_matches(']').to_owned()
    };
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut paragraphs = help.split("\n\n");
    let mut first = paragraphs
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_owned();
    let defaults: Vec<_> = argument
        .get_default_values()
        .iter()
        .map(|it| it.to_string_lossy())
        .collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        write(
            &mut first,
            format_args!(" [default: {}]", defaults.join(" ")),
        );
    }
    wrap(page, &format!("- `{word}`: {}", quoted(&first)), "  ");
    for paragraph in paragraphs {
        page.push('\n');
        add_indented(page, &quoted(paragraph), "");
        page.push('\n');
    }
    if page.ends_with("\n\n") {
        page.pop();
    }
    let values = argument.get_possible_values();
    let values = values.iter().filter(|it| !it.is_hide_set());
    for value in values.filter(|_| argument.get_action().takes_values()) {
        let help = value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let help = if help.is_empty() {
            help
        } else {
            format!(": {help}")
        };
        let item = format!("- `{}`{}", value.get_name(), quoted(&help));
        add_indented(page, &item, "  ");
    }
}

/// Adds paragraphs. Indented lines become a block, because their form is significant.
fn add_text(page: &mut String, text: &str) {
    for paragraph in text.split("\n\n").filter(|it| !it.trim().is_empty()) {
        let lines: Vec<&str> = paragraph.lines().collect();
        for group in lines.chunk_by(|one, other| one.starts_with("  ") == other.starts_with("  ")) {
            if group[0].starts_with("  ") {
                write(page, format_args!("```text\n{}\n```\n\n", group.join("\n")));
            } else {
                wrap(page, &quoted(&group.join(" ")), "");
                page.push('\n');
            }
        }
    }
    while page.ends_with("\n\n") {
        page.pop();
    }
}

/// Returns the text with its options, and with words that Markdown would interpret, as code.
fn quoted(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let bare = word.trim_end_matches([',', '.', ':', ';', ')', ']']);
        let is_code = bare.starts_with("--") && bare.len() > 2
            || bare.starts_with('$')
            || bare.contains('_')
            || bare.contains('<')
            || bare.contains('*');
        if is_code && !bare.starts_with('(') {
            format!("`{bare}`{}", &word[bare.len()..])
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Adds a paragraph below an item of a list.
fn add_indented(page: &mut String, text: &str, indent: &str) {
    let mut lines = String::new();
    wrap(&mut lines, text, indent);
    for line in lines.lines() {
        write(page, format_args!("  {line}\n"));
    }
}

/// Adds a paragraph in lines of at most [`WIDTH`] characters. `indent` begins each line but the first.
fn wrap(page: &mut String, text: &str, indent: &str) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            write(page, format_args!("{}\n", line.trim_end()));
            indent.clone_into(&mut line);
        } else if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    write(page, format_args!("{line}\n"));
}

fn write(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("a string takes all");
}
