//! The contents of a file: sections with keys and values.

use clap::Arg;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::key::{meant_key, nearest, words};
use crate::position::{Lines, Problem};
use crate::section::{SECTION_NAMES, Section};

/// The maximum number of problems that a reader reports. A longer list would not help an operator.
const PROBLEMS_MAX: usize = 100;

/// A value of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileValue {
    /// The clap id of the option.
    pub(crate) id: String,
    /// The words with which a command line would set this value.
    pub(crate) words: Vec<String>,
    /// The line of the value.
    pub(crate) line: usize,
}

/// The values of a section and of its subsections.
#[derive(Debug, Default)]
pub(crate) struct SectionValues {
    /// The values of the section itself.
    pub(crate) common: Vec<FileValue>,
    /// The names of the subsections, each with its values.
    pub(crate) subsections: Vec<(String, Vec<FileValue>)>,
}

impl SectionValues {
    /// Returns the values for a node. `selected` is the name of the node's subsection. Each option occurs at most once.
    pub(crate) fn of_node(&self, selected: Option<&str>) -> Vec<FileValue> {
        let own = self
            .subsections
            .iter()
            .find(|(name, _)| Some(name.as_str()) == selected)
            .map_or(&[][..], |(_, values)| values);
        let common = self.common.iter();
        let common = common.filter(|it| own.iter().all(|own| own.id != it.id));
        common.chain(own).cloned().collect()
    }
}

/// Reads a section of a file's `text`.
///
/// # Errors
/// Fails if the text has problems. Returns all problems of this section, and all problems that concern the whole file.
pub(crate) fn read(text: &str, section: &Section) -> Result<SectionValues, Vec<Problem>> {
    let lines = Lines::of(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let problem = |error: &toml::de::Error| {
            let offset = error.span().map_or(0, |span| span.start);
            Problem::new(lines.position(offset), error.message())
        };
        return Err(errors.iter().take(PROBLEMS_MAX).map(problem).collect());
    }
    let mut reader = Reader {
        lines,
        section,
        options: section.options(),
        problems: Vec::new(),
    };
    let mut values = SectionValues::default();
    for (name, contents) in document.get_ref() {
        if !SECTION_NAMES.contains(&name.get_ref().as_ref()) {
            reader.refuse_top_level(name, contents.get_ref());
        } else if let Some(table) = contents.get_ref().as_table() {
            if name.get_ref() == section.name {
                reader.read_section(table, &mut values);
            }
        } else {
            let cause = format!("'{0}' is a section: write [{0}]", name.get_ref());
            reader.refuse(name.span().start, &cause);
        }
    }
    reader.problems.sort();
    if reader.problems.is_empty() {
        Ok(values)
    } else {
        Err(reader.problems)
    }
}

struct Reader<'a> {
    lines: Lines<'a>,
    section: &'a Section,
    options: Vec<Arg>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn refuse(&mut self, offset: usize, cause: &str) {
        if self.problems.len() < PROBLEMS_MAX {
            let position = self.lines.position(offset);
            self.problems.push(Problem::new(position, cause));
        }
    }

    fn refuse_top_level(&mut self, name: &Spanned<DeString<'_>>, contents: &DeValue<'_>) {
        let text = name.get_ref();
        let cause = if !contents.is_table() {
            format!("the key '{text}' belongs in a section, such as [ring]")
        } else if let Some(near) = nearest(text, SECTION_NAMES) {
            format!("there is no section [{text}], but there is [{near}]")
        } else {
            let names = SECTION_NAMES.join("], [");
            format!("there is no section [{text}]; the sections are [{names}]")
        };
        self.refuse(name.span().start, &cause);
    }

    fn read_section(&mut self, table: &DeTable<'_>, values: &mut SectionValues) {
        let heading = self.section.name;
        for (name, value) in table {
            match value.get_ref().as_table() {
                Some(_) if self.section.selector.is_some() && name.get_ref().is_empty() => {
                    let cause = format!(
                        "[{heading}.\"\"] needs the name of an interface, as in [{heading}.eth0]"
                    );
                    self.refuse(name.span().start, &cause);
                }
                Some(subsection) if self.section.selector.is_some() => {
                    let heading = format!("{heading}.{}", name.get_ref());
                    let found = subsection
                        .iter()
                        .filter_map(|(name, value)| self.read_value(&heading, name, value))
                        .collect();
                    let name = name.get_ref().clone().into_owned();
                    values.subsections.push((name, found));
                }
                Some(_) => {
                    let cause = format!("[{heading}] has no subsections");
                    self.refuse(name.span().start, &cause);
                }
                None => values.common.extend(self.read_value(heading, name, value)),
            }
        }
    }

    /// Reads a value. If the value has a problem, adds the problem to the list.
    fn read_value(
        &mut self,
        heading: &str,
        name: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<FileValue> {
        let key = name.get_ref();
        if value.get_ref().is_table() {
            let cause = format!(
                "[{heading}.{key}] is no section; put a name with a dot in quotes, as in [{}.\"eth0.{key}\"]",
                self.section.name
            );
            self.refuse(name.span().start, &cause);
            return None;
        }
        let found = self.options.iter().find(|it| it.get_long() == Some(key));
        let Some(option) = found else {
            let cause = match meant_key(key, &self.options) {
                Some(near) => format!("[{heading}] has no key '{key}', but it has '{near}'"),
                None => format!("[{heading}] has no key '{key}'"),
            };
            self.refuse(name.span().start, &cause);
            return None;
        };
        match words(option, key, value.get_ref()) {
            Ok(words) => Some(FileValue {
                id: option.get_id().to_string(),
                words,
                line: self.lines.position(name.span().start).line,
            }),
            Err(cause) => {
                self.refuse(value.span().start, &cause);
                None
            }
        }
    }
}
