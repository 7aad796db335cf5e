//! The pages of `docs/reference/commands`.

use clap::Command;

/// Returns the page of a program and all its commands: the text of `--help` for each. `again` is the command that
/// writes the page.
pub(super) fn page(program: &Command, again: &str) -> String {
    let name = bin_name(program);
    let intro = format!(
        "# {name}\n\nThis page lists the options of `{name}`, for users who do not have its manual page. The blocks \
         are the output\nof `--help`. `RINGD_WRITE_DOCS=1 {again}` writes the page.\n"
    );
    let mut parts = vec![intro];
    add(&mut parts, program, 1);
    parts.join("\n")
}

fn add(parts: &mut Vec<String>, command: &Command, level: usize) {
    let name = bin_name(command);
    if level > 1 {
        parts.push(format!("{} {name}\n", "#".repeat(level)));
    }
    let help = command.clone().render_long_help().to_string();
    let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    parts.push(format!("```text\n{}\n```\n", lines.join("\n")));
    let commands = command.get_subcommands().filter(|it| !it.is_hide_set());
    // The commands of ringd have their own pages.
    for command in commands.filter(|_| name != "ringd") {
        add(parts, command, level + 1);
    }
}

fn bin_name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or(command.get_name())
}
