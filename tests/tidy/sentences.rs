//! The sentences that people read: pages, help, messages and comments.

use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use crate::Breach;
use crate::rules::{self, Kind};
use crate::tree::{File, Tree};

/// A sentence, and the first line of its paragraph.
struct Sentence {
    kind: Kind,
    line: usize,
    text: String,
    /// Whether the sentence is the first sentence of a doc comment.
    opens: bool,
}

/// Returns each breach of the rules on words in the whole repository.
pub(super) fn breaches(tree: &Tree) -> Vec<Breach> {
    let pages = tree.markdown().map(|file| (file, page(file)));
    let code = tree.rust().map(|file| {
        let mut found = comments(file);
        found.extend(messages(file));
        (file, found)
    });
    let judged = pages.chain(code).flat_map(|(file, sentences)| {
        sentences.into_iter().flat_map(move |sentence| {
            let broken = rules::broken_rules(sentence.kind, &sentence.text, sentence.opens);
            broken.into_iter().map(move |rule| Breach {
                place: format!("{}:{}", file.path, sentence.line),
                rule,
                text: sentence.text.clone(),
            })
        })
    });
    judged.collect()
}

fn page(file: &File) -> Vec<Sentence> {
    let paragraphs = paragraphs(&file.text);
    let judged = paragraphs.into_iter().flat_map(|paragraph| {
        let kind = if paragraph.is_cell {
            Kind::Cell
        } else {
            Kind::Page
        };
        paragraph.sentences(kind, 1, false)
    });
    judged.collect()
}

/// Returns the sentences of doc comments and of other comments.
fn comments(file: &File) -> Vec<Sentence> {
    let kind = if is_help(file) {
        Kind::Help
    } else {
        Kind::Comment
    };
    let mut sentences = Vec::new();
    let mut block = String::new();
    let mut block_start = 0;
    let mut block_mark = "";
    for (at, line) in file.text.lines().chain([""]).enumerate() {
        let mark = ["///", "//!", "//"]
            .into_iter()
            .find(|mark| line.trim_start().starts_with(mark));
        if mark != Some(block_mark) && !block.is_empty() {
            for (number, paragraph) in paragraphs(&block).into_iter().enumerate() {
                let opens = number == 0 && block_mark != "//";
                sentences.extend(paragraph.sentences(kind, block_start + 1, opens));
            }
            block.clear();
        }
        let Some(mark) = mark else { continue };
        if block.is_empty() {
            (block_start, block_mark) = (at, mark);
        }
        let text = &line.trim_start()[mark.len()..];
        block.push_str(text.strip_prefix(' ').unwrap_or(text));
        block.push('\n');
    }
    sentences
}

/// Returns the sentences in the string literals of programs.
fn messages(file: &File) -> Vec<Sentence> {
    static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?m)^(?:[^/"\n]|/[^/"\n])*?"((?:[^"\\]|\\[\s\S])*)""#).expect("valid")
    });
    static INSERTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{[^}]*\}").expect("valid"));
    if file.is_of_tests() || file.path.contains("/sim/") {
        return Vec::new();
    }
    let kind = if is_help(file) {
        Kind::Help
    } else {
        Kind::Message
    };
    let literals = LITERAL.captures_iter(&file.text).flat_map(|found| {
        let literal = found.get(1).expect("the pattern has one group");
        let line = file.text[..literal.start()].lines().count();
        let text = literal.as_str().replace("\\\n", " ").replace("\\n", "\n");
        let text = INSERTED.replace_all(&text, "X");
        let paragraphs: Vec<_> = text.split("\n\n").map(str::to_owned).collect();
        paragraphs.into_iter().flat_map(move |text| {
            let is_cell = false;
            Paragraph {
                text,
                line: 0,
                is_cell,
            }
            .sentences(kind, line, false)
        })
    });
    literals.collect()
}

/// Whether a program prints the file's comments as its help.
fn is_help(file: &File) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    !file.is_of_tests() && (name.ends_with("options.rs") || name == "help.rs")
}

struct Paragraph {
    text: String,
    /// Number of lines above the paragraph in the text that contains it.
    line: usize,
    is_cell: bool,
}

impl Paragraph {
    /// Splits the paragraph into sentences. The paragraph begins `above` lines below the top of its file.
    fn sentences(self, kind: Kind, above: usize, opens: bool) -> Vec<Sentence> {
        static END: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"[.!?:][)*]*\s+").expect("valid"));
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut parts = Vec::new();
        let mut start = 0;
        for end in END.find_iter(&text) {
            let next = text[end.end()..].chars().next();
            if next.is_some_and(|first| first.is_uppercase() || first.is_ascii_digit()) {
                parts.push(&text[start..end.end()]);
                start = end.end();
            }
        }
        parts.push(&text[start..]);
        let line = self.line + above;
        let numbered = parts.into_iter().enumerate();
        let sentences = numbered.map(|(number, part)| Sentence {
            kind,
            line,
            text: part.trim().to_owned(),
            opens: opens && number == 0,
        });
        sentences
            .filter(|sentence| !sentence.text.is_empty())
            .collect()
    }
}

/// Returns the paragraphs, list items and table cells of a Markdown text, without code.
fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut found = Vec::new();
    let mut open: Option<Paragraph> = None;
    let mut is_code = false;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell | Tag::Heading { .. })
            | Event::End(
                TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell | TagEnd::Heading(_),
            ) => {
                found.extend(open.take());
                open = matches!(event, Event::Start(_)).then(|| Paragraph {
                    text: String::new(),
                    line: text[..range.start].matches('\n').count(),
                    is_cell: matches!(event, Event::Start(Tag::TableCell)),
                });
            }
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(part) if !is_code => {
                if let Some(open) = &mut open {
                    open.text.push_str(&part);
                }
            }
            Event::Code(_) => {
                if let Some(open) = &mut open {
                    open.text.push('X');
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(open) = &mut open {
                    open.text.push(' ');
                }
            }
            _ => (),
        }
    }
    found.extend(open);
    found
}
