//! Rules on lines and names of Rust code.

use std::sync::LazyLock;

use regex::Regex;

use crate::Breach;
use crate::tree::{File, Tree};

const LINE_LENGTH_MAX: usize = 120;

/// A rule: its name, a pattern that finds breaches of the rule, and an example of a breach.
struct Rule {
    name: &'static str,
    pattern: &'static str,
    example: &'static str,
}

const RULES: [Rule; 3] = [
    Rule {
        name: "a question that changes its object: name it by a verb",
        pattern: r"\bfn (?:is|has|can|may)_\w+(?:<[^>]*>)?\(\s*&mut self",
        example: "fn is_backed_up(&mut self)",
    },
    Rule {
        name: "a constant without a noun or unit",
        pattern: r"\bconst (?:MOST|LEAST|LONGEST|SHORTEST|MANY|FEW|LATE|SOON|OFTEN|WHOLE|LOOK|AGAIN|QUIET|PATIENCE|HEAD|BIG|SMALL|LONG|SHORT|LAST_BREATH|REVOKED)\b",
        example: "const MOST: usize = 3;",
    },
    Rule {
        name: "a function named by a participle",
        pattern: r"\bfn (?:told|elected|asked|answered|offered|departed|heard|happened|known|unsure|said|gained|met|given)\b",
        example: "fn told(&self)",
    },
];

/// Returns each breach of a rule on code in the whole repository.
pub(super) fn breaches(tree: &Tree) -> Vec<Breach> {
    static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let patterns = RULES
            .iter()
            .map(|rule| Regex::new(rule.pattern).expect("valid"));
        patterns.collect()
    });
    let mut found = Vec::new();
    // The checks skip the files of the rules, because these contain examples that break the rules.
    let judged = tree
        .rust()
        .filter(|file| !file.path.starts_with("tests/tidy/"));
    for file in judged {
        for (number, line) in file.text.lines().enumerate() {
            if line.chars().count() > LINE_LENGTH_MAX {
                found.push(breach(
                    file,
                    number,
                    line,
                    "a line of more than 120 characters",
                ));
            }
        }
        for (rule, pattern) in RULES.iter().zip(PATTERNS.iter()) {
            for place in pattern.find_iter(&file.text) {
                let number = file.text[..place.start()].matches('\n').count();
                found.push(breach(file, number, place.as_str(), rule.name));
            }
        }
    }
    found
}

fn breach(file: &File, number: usize, text: &str, rule: &'static str) -> Breach {
    Breach {
        place: format!("{}:{}", file.path, number + 1),
        rule,
        text: text.trim().to_owned(),
    }
}

#[test]
fn each_rule_on_code_finds_its_example() {
    for rule in &RULES {
        let pattern = Regex::new(rule.pattern).expect("valid");
        assert!(pattern.is_match(rule.example), "{}", rule.name);
    }
}
