//! Checks the ids of rules. Each specification has pages with rules, and a folder with decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::LazyLock;

use regex::Regex;

use crate::Breach;
use crate::tree::{File, Tree};

/// Pages with rules, and the decisions on these rules.
struct Specification {
    /// Folder of the pages with rules, or the only page.
    pages: &'static str,
    /// Folder of the decisions.
    decisions: &'static str,
    /// Number of ids of rules, and number of decisions. A change that removes or adds one on purpose also changes the
    /// number here, so that no rule is lost unnoticed.
    counts: (usize, usize),
}

const SPECIFICATIONS: [Specification; 5] = [
    Specification {
        pages: "docs/reference/lab2/",
        decisions: "docs/appendix/decisions/lab2/",
        counts: (352, 94),
    },
    Specification {
        pages: "docs/token-service/protocol/",
        decisions: "docs/appendix/decisions/token-service/",
        counts: (224, 104),
    },
    Specification {
        pages: "docs/jitterbug/protocol/",
        decisions: "docs/appendix/decisions/jitterbug/",
        counts: (173, 62),
    },
    Specification {
        pages: "docs/board/protocol/",
        decisions: "docs/appendix/decisions/board/",
        counts: (114, 30),
    },
    Specification {
        pages: "docs/reference/trust.md",
        decisions: "docs/appendix/decisions/trust/",
        counts: (36, 6),
    },
];

/// Returns each rule whose id is not unique in its specification, and each decision or comment that does not fit the rules.
pub(super) fn breaches(tree: &Tree) -> Vec<Breach> {
    let ids: BTreeMap<&str, Vec<&str>> = tree
        .markdown()
        .map(|file| (file.path.as_str(), anchors(&file.text)))
        .collect();
    let names_rule = |path: &str, id: &str| ids.get(path).is_some_and(|found| found.contains(&id));
    let mut found = Vec::new();
    for Specification {
        pages,
        decisions,
        counts,
    } in SPECIFICATIONS
    {
        let mut decision_count = 0;
        let mut seen = BTreeSet::new();
        let mut linked = BTreeSet::new();
        for file in tree.markdown().filter(|it| it.path.starts_with(pages)) {
            let again = anchors(&file.text)
                .into_iter()
                .filter(|id| !seen.insert(*id));
            found.extend(
                again.map(|id| breach(file, "an id names only one rule of a specification", id)),
            );
            linked.extend(links(file).map(|(path, _)| path));
        }
        let is_decision =
            |file: &&File| file.path.starts_with(decisions) && !file.path.ends_with("README.md");
        for file in tree.markdown().filter(is_decision) {
            decision_count += 1;
            if !linked.contains(&file.path) {
                found.push(breach(file, "a rule or difference links to it", ""));
            }
            let backs: Vec<_> = links(file)
                .filter(|(path, id)| path.starts_with(pages) && id.starts_with(char::is_uppercase))
                .collect();
            if backs.is_empty() {
                found.push(breach(file, "a decision links to its rule", ""));
            }
            let missing = backs.iter().filter(|(path, id)| !names_rule(path, id));
            found.extend(missing.map(|(_, id)| breach(file, "there is no such rule", id)));
        }
        let present = (seen.len(), decision_count);
        if present != counts {
            found.push(Breach {
                place: pages.to_owned(),
                rule: "the number of rules and decisions is as in tests/tidy/rule_ids.rs",
                text: format!("{present:?} instead of {counts:?}"),
            });
        }
    }
    for file in tree.rust() {
        let missing = citations(&file.text).filter(|(path, id)| !names_rule(path, id));
        found.extend(missing.map(|(_, id)| breach(file, "the cited page has no such rule", id)));
    }
    found
}

fn breach(file: &File, rule: &'static str, text: &str) -> Breach {
    Breach {
        place: file.path.clone(),
        rule,
        text: text.to_owned(),
    }
}

/// Returns the anchors of rules and sections. Links and comments can name these ids.
fn anchors(text: &str) -> Vec<&str> {
    static ANCHOR: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"<a id="([^"]+)"></a>"#).expect("valid"));
    let anchors = ANCHOR.captures_iter(text);
    anchors.map(|found| found.extract::<1>().1[0]).collect()
}

/// Returns the linked pages of this repository, each with the anchor of the link. The anchor may be empty.
fn links(file: &File) -> impl Iterator<Item = (String, &str)> {
    static LINK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\]\(([\w./-]+\.md)#?([^)]*)\)").expect("valid"));
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    LINK.captures_iter(&file.text).map(move |found| {
        let (_, [path, anchor]) = found.extract();
        (normalize(&folder.join(path)), anchor)
    })
}

/// Removes `..` and the folder before it.
fn normalize(path: &Path) -> String {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = parts.pop(),
            part => parts.push(part.as_os_str().to_string_lossy()),
        }
    }
    parts.join("/")
}

/// Returns the citations `page.md ID` of Rust comments. A citation may continue on the next line of the comment.
fn citations(text: &str) -> impl Iterator<Item = (&str, &str)> {
    static CITATION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(docs/[\w/-]+\.md)(?:\s|//[/!]?)+([A-Z]{1,2}[0-9]+)\b").expect("valid")
    });
    CITATION.captures_iter(text).map(|found| {
        let (_, [path, id]) = found.extract();
        (path, id)
    })
}
