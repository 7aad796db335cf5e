//! Long texts and little space.

use std::time::{Instant, UNIX_EPOCH};

use serde_json::json;

use super::super::plain::lines;
use super::{COLORED, lost, model, text};

#[test]
fn wrapped_troubles_leave_a_line_for_the_count() {
    let silent = |at: usize| {
        format!(
            "member 02:00:00:00:00:0{at} has not been heard for a long time; start ringd there, or, if a machine is \
             gone for good, run ringctl forget 02:00:00:00:00:0{at}"
        )
    };
    for (count, size, expected) in [
        (5, (80, 24), "! and 2 more: ringctl status"),
        (4, (80, 24), "! member 02:00:00:00:00:03 (east) has"),
        (2, (40, 10), "! member 02:00:00:00:00:01 (north)"),
        (2, (40, 2), "! and 2 more: ringctl status"),
        (5, (40, 10), "! and 4 more: ringctl status"),
    ] {
        let troubles: Vec<String> = (0..count).map(silent).collect();
        let model = model("lab2", |status| status["troubles"] = json!(troubles));
        let shown = text(&model, size);
        assert!(shown.contains(expected), "{count} {size:?}\n{shown}");
    }
}

#[test]
fn wide_characters_are_not_lost() {
    let wide = "東京の機械が静かです".repeat(9);
    let trouble = format!("{wide} {wide}");
    let mut model = model("lab2", |status| status["troubles"] = json!([trouble]));
    model.apply(lost(&wide), Instant::now(), UNIX_EPOCH);
    for width in [9, 40, 80] {
        let shown = lines(&model, COLORED, width).concat().replace(' ', "");
        assert_eq!(shown.matches(&wide).count(), 3, "{width} {shown}");
    }
    let shown = text(&model, (40, 10));
    let cut = { shown.lines() }.filter(|line| !line.is_ascii() && line.ends_with("..."));
    assert_eq!(cut.count(), 2, "{shown}");
}

#[test]
fn a_long_fact_is_wrapped_in_a_text_and_ends_with_dots_on_a_screen() {
    let model = model("lab2", |status| status["troubles"] = json!([]));
    let token = "1796000560365672654-02:00:00:00:00:01-1";
    let shown = lines(&model, COLORED, 30);
    let at = shown.iter().position(|line| line.starts_with("Token"));
    let at = at.expect("the token is there");
    let joined = shown[at..].concat().replace(' ', "");
    assert!(joined.starts_with(&format!("Token{token}")), "{joined}");
    assert!(
        shown.last().is_some_and(|line| line.contains("(west)")),
        "{shown:?}"
    );
    let shown = text(&model, (30, 50));
    let line = shown.lines().find(|line| line.starts_with("Token "));
    assert_eq!(line, Some("Token 1796000560365672654-0..."), "{shown}");
}

#[test]
fn the_note_has_the_preference_and_the_pause() {
    let model = model("lab2", |status| {
        status["members"][2]["preference"] = json!(100);
        status["members"][1]["pause"] =
            json!({"left_ns": 60_000_000_000_u64, "reason": "new disk"});
    });
    let shown = text(&model, (80, 24));
    let has = |name, note| { shown.lines() }.any(|it| it.contains(name) && it.contains(note));
    assert!(
        has("east", "prefer 100") && has("south", "ends in 1m; new disk"),
        "{shown}"
    );
}
