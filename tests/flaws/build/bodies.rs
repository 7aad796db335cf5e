//! A source in which some functions have several bodies.

/// A part of a source.
#[derive(PartialEq)]
enum Part<'a> {
    /// Whatever is no function.
    Line(&'a str),
    /// A function: from its name to the brace, and what is between the braces.
    Function {
        head: &'a [&'a str],
        body: &'a [&'a str],
    },
}

/// The source with the bodies that variants of it have in addition: a function asks
/// `crate::broken()` which of them is to be run, and runs its own unless it is one of these.
///
/// # Errors
/// The number of a variant that differs by more than the bodies of functions.
pub(crate) fn merge(source: &str, variants: &[(usize, String)]) -> Result<String, usize> {
    let lines: Vec<&str> = source.lines().collect();
    let own = parts(&lines);
    let mut others = Vec::new();
    for (number, text) in variants {
        others.push((*number, text.lines().collect::<Vec<_>>()));
    }
    let others: Vec<(usize, Vec<Part<'_>>)> = others
        .iter()
        .map(|(number, lines)| (*number, parts(lines)))
        .collect();
    for (number, other) in &others {
        let same = own.len() == other.len() && own.iter().zip(other).all(|(a, b)| are_alike(a, b));
        if !same {
            return Err(*number);
        }
    }
    let mut text = String::new();
    for (at, part) in own.iter().enumerate() {
        let more: Vec<(usize, &Part<'_>)> = others
            .iter()
            .map(|(number, parts)| (*number, &parts[at]))
            .filter(|(_, other)| *other != part)
            .collect();
        write_part(&mut text, part, &more);
    }
    Ok(text)
}

fn are_alike(a: &Part<'_>, b: &Part<'_>) -> bool {
    match (a, b) {
        (Part::Function { head: a, .. }, Part::Function { head: b, .. }) => a == b,
        _ => a == b,
    }
}

fn write_part(text: &mut String, part: &Part<'_>, more: &[(usize, &Part<'_>)]) {
    let mut write = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    match part {
        Part::Line(line) => write(line),
        Part::Function { head, body } if more.is_empty() => {
            head.iter().chain(*body).for_each(|line| write(line));
        }
        Part::Function { head, body } => {
            for line in *head {
                // What is asked at run time is not constant.
                write(&line.replacen("const fn ", "fn ", 1));
            }
            write("match crate::broken() {");
            for (number, other) in more {
                let Part::Function { body, .. } = other else {
                    continue;
                };
                write(&format!("{number} => {{"));
                body.iter().for_each(|line| write(line));
                write("}");
            }
            write("_ => {");
            body.iter().for_each(|line| write(line));
            write("}");
            write("}");
        }
    }
}

/// The parts of a source as `cargo fmt` leaves it: a function ends with the first brace that stands
/// as far to the right as its beginning.
fn parts<'a>(lines: &'a [&'a str]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let function = is_function(lines[at]).then(|| extent(lines, at)).flatten();
        if let Some((body, end)) = function {
            parts.push(Part::Function {
                head: &lines[at..body],
                body: &lines[body..end],
            });
            at = end;
        } else {
            parts.push(Part::Line(lines[at]));
            at += 1;
        }
    }
    parts
}

fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let rest = rest
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or(rest, |(_, rest)| rest);
        rest.trim_start()
    });
    line.strip_prefix("const ")
        .unwrap_or(line)
        .starts_with("fn ")
}

/// Where the body of the function that begins at a line begins, and where it ends; `None`: it has none, or
/// stands on one line.
fn extent(lines: &[&str], start: usize) -> Option<(usize, usize)> {
    let indentation = lines[start].len() - lines[start].trim_start().len();
    let ends = |line: &&str| line.ends_with(['{', ';', '}']);
    let head = start + lines[start..].iter().position(ends)?;
    if !lines[head].ends_with('{') {
        return None;
    }
    let closes = |line: &&str| line.len() == indentation + 1 && line.ends_with('}');
    let length = lines[head + 1..].iter().position(closes)?;
    Some((head + 1, head + 1 + length))
}
