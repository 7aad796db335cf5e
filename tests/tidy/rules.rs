//! The rules of `docs/contributors/style.md` on words that a pattern can check.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

/// Kind of the text to which a sentence belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Prose of a Markdown page.
    Page,
    /// A cell of a table in a Markdown page.
    Cell,
    /// The help of a program.
    Help,
    /// A message of a program.
    Message,
    /// A comment in the code.
    Comment,
}

/// A rule: a pattern, the advice for a sentence that matches the pattern, a sentence that matches, and a sentence that
/// does not match.
struct Rule {
    advice: &'static str,
    pattern: &'static str,
    bad: &'static str,
    good: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        advice: "`who` needs a noun before it",
        pattern: r"(?:^|[;:.(] ?|\b(?:of|to|by|from|for|with|than|and|that|but|if) )who(?:ever)? [a-z]+",
        bad: "Who holds the token is the OWNER.",
        good: "The member that holds the token is the OWNER.",
    },
    Rule {
        advice: "name the thing: `what …` is no noun",
        pattern: r"(?:^|[;:.(] ?|\b(?:of|to|by|from|for|with|than|and|but|at|on|in) )what(?:ever)? [a-z]+[^?]*$",
        bad: "What is not known is empty.",
        good: "What is a fencing token?",
    },
    Rule {
        advice: "begin with the subject, not with a clause",
        pattern: r"^(?:Not that|That (?:it|they|you|we|the|a|an|no|nobody|nothing|all|every|each) )",
        bad: "That the token is lost is reported.",
        good: "That member reports the loss of the token.",
    },
    Rule {
        advice: "name the actor instead of `nobody`, `nothing` or `none`",
        pattern: r"(?:^|[;:] )(?:nobody|nothing|none|no one)\b",
        bad: "Nothing of it is answered.",
        good: "The node ignores its messages.",
    },
    Rule {
        advice: "`its own` needs an owner in the sentence",
        pattern: r"\b(?:the own|own one)\b|\bof (?:its|their|one's) own(?:[.,;:)]|$)",
        bad: "The own side is closed.",
        good: "The node closes its own side.",
    },
    Rule {
        advice: "use `only` before the word that it limits",
        pattern: r"\balone\b",
        bad: "It protects its own table alone.",
        good: "It protects only its own table.",
    },
    Rule {
        advice: "compared with, next to, in addition to, instead of",
        pattern: r"\bbeside\b|\bin place of\b",
        bad: "It runs beside the daemon.",
        good: "It runs next to the daemon.",
    },
    Rule {
        advice: "use a plain word",
        pattern: r"\b(?:anew|mend(?:s|ed|ing)?|lest|be it|for ever|in vain|unasked|heed(?:s|ed|ing)?|so long as|so many|any more|stands? still|whence|thereof|therein|hitherto|henceforth)\b",
        bad: "It retries lest the token be lost.",
        good: "It retries so that the token is not lost.",
    },
    Rule {
        advice: "write `one … per …`",
        pattern: r"\b(?:line|file|second|node|server|ring|machine|object|daemon|hop|period|token|format|test|process|round|member|frame) an? (?:line|file|second|node|server|ring|machine|object|daemon|hop|period|token|format|test|process|round|member)\b",
        bad: "It prints a line a server.",
        good: "It prints one line per server.",
    },
    Rule {
        advice: "programs print, log, send, return and report",
        pattern: r"\b(?:says? (?:so|by|which|who)|(?:is|are) told|tells? (?:all|it|so|who))\b",
        bad: "The daemon says so.",
        good: "The daemon logs a warning.",
    },
    Rule {
        advice: "`have` is no passive",
        pattern: r"\b(?:is|are|was|were|be) had\b|\bwho has (?:it|not)\b",
        bad: "A link is had on one side.",
        good: "The link exists on one side.",
    },
    Rule {
        advice: "use the word of the field instead of a picture",
        pattern: r"\b(?:house|rooms|worlds?|heirs?|made-up|mute|twin|doom(?:ed)?|earshot|errands?|pleas?|desk)\b",
        bad: "The simulator makes a world.",
        good: "The simulator makes a network.",
    },
    Rule {
        advice: "end with a noun instead of `that`",
        pattern: r"\b(?:does|has|finds|knows|of|by|for|in|to|with|at|from|after|before|so) that[.,;:]|\bthat$",
        bad: "A daemon that does that, ends.",
        good: "A daemon that does that work ends.",
    },
    Rule {
        advice: "use the spelling of the glossary",
        pattern: r"\b(?:time-outs?|fail-overs?|hand-overs?|(?:behavi|col|neighb|hon|fav|rum)our\w*|(?:recogn|organ|initial|serial|synchron|normal|minim|maxim|optim|author)is(?:e[sd]?|ing|ation))\b",
        bad: "Neighbours wait for the time-out.",
        good: "Neighbors wait for the timeout.",
    },
];

impl Rule {
    /// Whether the rule judges sentences of a kind. `none` may be a value in a cell of a table.
    fn judges(&self, kind: Kind) -> bool {
        kind != Kind::Cell || !self.advice.contains("`none`")
    }
}

/// Pattern of a first sentence that is forbidden in doc comments.
const OPENING: &str = r"^(?:What(?:ever)?|Who(?:ever)?|How|That|So|The same)\b[^?]*$";

/// Returns the advice of each rule that the sentence breaks. `opens` is true if the sentence is the first sentence of a
/// doc comment.
pub(super) fn broken_rules(kind: Kind, sentence: &str, opens: bool) -> Vec<&'static str> {
    static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let patterns = RULES.iter().map(|rule| {
            let mut pattern = RegexBuilder::new(rule.pattern);
            pattern.case_insensitive(true).build().expect("valid")
        });
        patterns.collect()
    });
    static START: LazyLock<Regex> = LazyLock::new(|| Regex::new(OPENING).expect("valid"));
    let words = sentence
        .split(' ')
        .filter(|word| word.contains(char::is_alphanumeric));
    let count = words.count();
    let mut found = Vec::new();
    // A label or a key of a few words is no sentence.
    if count > 3 {
        let matching = RULES.iter().zip(PATTERNS.iter());
        found.extend(
            matching
                .filter(|(rule, pattern)| rule.judges(kind) && pattern.is_match(sentence))
                .map(|(rule, _)| rule.advice),
        );
    }
    if opens && START.is_match(sentence) {
        found.push("begin a doc comment with a verb or a noun");
    }
    if count > words_max(kind) {
        found.push("one fact in a sentence: make two of it");
    }
    found
}

const fn words_max(kind: Kind) -> usize {
    match kind {
        Kind::Help => 20,
        Kind::Page | Kind::Cell | Kind::Comment => 25,
        // A message may be longer, because it has a cause and a remedy in one sentence.
        Kind::Message => 30,
    }
}

/// Checks that each rule finds its bad example, and that no rule finds its good example.
pub(super) fn check_examples() {
    for rule in RULES {
        let advice = rule.advice;
        assert_eq!(broken_rules(Kind::Page, rule.bad, false), [advice]);
        assert_eq!(
            broken_rules(Kind::Page, rule.good, false),
            [""; 0],
            "{advice}"
        );
    }
    assert_eq!(broken_rules(Kind::Comment, "What it does.", true).len(), 1);
    assert_eq!(broken_rules(Kind::Comment, "Does it.", true).len(), 0);
    let long = "word ".repeat(26);
    assert_eq!(broken_rules(Kind::Page, long.trim(), false).len(), 1);
}
