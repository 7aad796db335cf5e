//! Merges variants of a source into one source. A function with variants chooses its body at run time.

#[derive(PartialEq)]
enum Part<'a> {
    /// A line outside of all functions.
    Line(&'a str),
    /// A function: the text from its name to the brace, and the text between the braces.
    Function {
        head: &'a [&'a str],
        body: &'a [&'a str],
    },
}

/// Merges variants into a source. A function with variants runs the body that `crate::broken_index()` selects. By
/// default it runs its original body.
///
/// # Errors
/// If a variant differs from the source outside function bodies, returns the number of the variant.
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
                // `broken()` is not a const function.
                write(&line.replacen("const fn ", "fn ", 1));
            }
            write("match crate::broken_index() {");
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

/// Splits a source that `cargo fmt` has formatted. A function ends at the first closing brace with the same indentation
/// as the function's first line.
fn parts<'a>(lines: &'a [&'a str]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let function = is_function(lines[at])
            .then(|| find_body(lines, at))
            .flatten();
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

/// Returns the first and the last line of the body of the function at line `start`. Returns `None` if the function has
/// no body or fits on one line.
fn find_body(lines: &[&str], start: usize) -> Option<(usize, usize)> {
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
