//! Screens of each system, drawn from real answers of daemons. The files of `tests/` contain the answers and the
//! screens. `RINGD_WRITE_SCREENS=1 cargo test -p ringctl --lib top` writes the screens.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use ring_client::daemon::ConnectError;
use ring_control::{EventMessage, NodeStatus};
use serde_json::{Value, json};

use super::super::Error;
use super::draw::{Layout, draw};
use super::feed::Update;
use super::model::Model;
use super::panes::Scroll;
use super::plain::text_lines;
use super::style::Style;

mod space;

const COLORED: Style = Style::of(true, true);
const SYSTEMS: [&str; 4] = ["lab2", "ftn", "jitterbug", "board"];

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/top/tests")
}

fn read(name: &str) -> Value {
    let text = fs::read_to_string(directory().join(name)).expect("the file is there");
    serde_json::from_str(&text).expect("it is JSON")
}

fn answers(status: &Value, locks: &Value) -> Update {
    let status: NodeStatus = serde_json::from_str(&status.to_string()).expect("a status");
    let locks = serde_json::from_value(locks.clone()).expect("locks");
    Update::Answers { status, locks }
}

fn new_model() -> Model {
    Model::new(Path::new("/run/ringd/eth0/control"))
}

fn lost(reason: &str) -> Update {
    Update::Lost(Error::Gone(reason.to_owned()))
}

fn event(number: u64, more: &Value) -> Update {
    let mut event = json!({"number": number, "time_ms": 1_764_460_000_000_u64 + 1_000 * number});
    let fields = event.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    let event: EventMessage = serde_json::from_str(&event.to_string()).expect("an event");
    Update::Event(event)
}

/// Returns the model after two answers, one second apart, and some events.
fn model(system: &str, change: impl Fn(&mut Value)) -> Model {
    let mut model = new_model();
    let start = Instant::now();
    let mut status = read(&format!("{system}.json"));
    change(&mut status);
    let locks = match system {
        "lab2" => read("locks.json"),
        _ => json!([]),
    };
    model.apply(answers(&status, &locks), start, UNIX_EPOCH);
    advance(system, &mut status);
    let later = start + Duration::from_secs(1);
    model.apply(answers(&status, &locks), later, UNIX_EPOCH);
    for update in events(system) {
        model.apply(update, later, UNIX_EPOCH);
    }
    model
}

/// Changes counters as a daemon does within a second.
fn advance(system: &str, status: &mut Value) {
    let keys: &[&str] = match system {
        "lab2" => &[
            "/token/progress",
            "/counters/hand_overs",
            "/counters/received/PING",
        ],
        "ftn" => &["/counters/grants"],
        "jitterbug" => &["/counters/taken", "/counters/passes_done"],
        _ => &["/counters/received/TOKEN", "/counters/sent/TOKEN_ACK"],
    };
    for (at, key) in keys.iter().enumerate() {
        let counter = status.pointer_mut(key).expect(key);
        let value = counter.as_u64().expect("a counter");
        *counter = json!(value + 12 / (at as u64 + 1));
    }
    if system == "lab2" {
        status["owner"] = json!("02:00:00:00:00:03");
    }
}

fn events(system: &str) -> Vec<Update> {
    let west = "02:00:00:00:00:04";
    let ring = |event: &str| {
        json!({
            "event": event, "state": "WAITER", "token": null, "owner": "02:00:00:00:00:03",
            "grade": "alone", "member": west,
        })
    };
    let text = |event: &str, text: &str| json!({"event": event, "text": text});
    let events = match system {
        "lab2" => vec![ring("member_silent"), ring("member_alive")],
        "ftn" => vec![text("server_down", "server 2 (127.0.0.1:7303) is DOWN")],
        "jitterbug" => vec![text("state_changed", "this node is a waiter")],
        _ => vec![text("members_changed", "the ring has 3 members")],
    };
    let numbers = 1..;
    numbers
        .zip(events)
        .map(|(number, it)| event(number, &it))
        .collect()
}

fn screen(model: &Model, layout: &mut Layout, style: Style, size: (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a terminal");
    let drawn = terminal.draw(|frame| draw(model, layout, style, frame.buffer_mut()));
    drawn.expect("a test's terminal takes all");
    terminal.backend().buffer().clone()
}

fn text(model: &Model, size: (u16, u16)) -> String {
    let lines = text_lines(&screen(model, &mut Layout::default(), COLORED, size));
    lines.join("\n") + "\n"
}

#[test]
fn each_system_has_its_screen() {
    let mut different = Vec::new();
    for system in SYSTEMS {
        let model = model(system, |_| ());
        for (width, height) in [(80, 24), (160, 50), (40, 10)] {
            let name = format!("{system}_{width}x{height}.txt");
            let path = directory().join(&name);
            let shown = text(&model, (width, height));
            if env::var_os("RINGD_WRITE_SCREENS").is_some() {
                fs::write(path, shown).expect("the directory is there");
            } else if fs::read_to_string(path).ok().as_ref() != Some(&shown) {
                different.push(format!("{name}:\n{shown}"));
            }
        }
    }
    assert!(
        different.is_empty(),
        "screens differ; run RINGD_WRITE_SCREENS=1 cargo test -p ringctl --lib top:\n{}",
        different.join("\n")
    );
}

#[test]
fn the_picture_in_the_documents_is_a_screen() {
    let page = "../../docs/operations/live-display.md";
    let page = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(page));
    let shown = text(&model("lab2", |_| ()), (80, 24));
    let picture = format!("```text\n{shown}```\n");
    assert!(
        page.expect("the page is there").contains(&picture),
        "{picture}"
    );
}

#[test]
fn every_size_can_be_drawn() {
    for system in SYSTEMS {
        let mut model = model(system, |status| {
            status["troubles"] = json!([". ".repeat(99), ". ".repeat(99)]);
        });
        for _ in 0..2 {
            for width in [0, 1, 2, 3, 8, 21, 55] {
                for height in 0..20 {
                    text(&model, (width, height));
                }
            }
            model.apply(lost(&". ".repeat(99)), Instant::now(), UNIX_EPOCH);
        }
    }
}

#[test]
fn troubles_come_first_and_none_is_hidden_without_a_count() {
    let troubles: Vec<String> = (0..30).map(|at| format!("trouble {at}; remedy")).collect();
    let model = model("lab2", |status| status["troubles"] = json!(troubles));
    let shown = text(&model, (80, 24));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[1], "! trouble 0; remedy");
    assert!(lines[8].contains("and 23 more"), "{shown}");
    assert!(
        shown.contains("Owner") && shown.contains("Members"),
        "{shown}"
    );
}

#[test]
fn only_a_style_with_colors_sends_colors() {
    let model = model("lab2", |_| ());
    let has_color = |style| {
        let buffer = screen(&model, &mut Layout::default(), style, (80, 24));
        let mut cells = buffer.content().iter();
        cells.any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(has_color(COLORED));
    assert!(!has_color(Style::of(false, true)));
}

#[test]
fn a_terminal_without_unicode_gets_ascii() {
    let model = model("lab2", |status| {
        status["members"][2]["name"] = json!("Zürich");
    });
    let shown = |has_unicode| {
        let style = Style::of(true, has_unicode);
        let lines = text_lines(&screen(&model, &mut Layout::default(), style, (80, 24)));
        lines.join("\n")
    };
    assert!(shown(true).contains("Zürich"), "{}", shown(true));
    assert!(shown(false).contains("Z?rich"), "{}", shown(false));
    assert!(shown(false).is_ascii(), "{}", shown(false));
}

#[test]
fn texts_of_others_send_no_control_characters() {
    let evil = "a\u{1b}[2J\u{202e}\n\u{7}";
    let mut model = model("lab2", |status| {
        for member in status["members"].as_array_mut().expect("members") {
            member["name"] = json!(evil);
        }
        status["holder"]["program"] = json!(evil);
        status["clients"][0]["label"] = json!(evil);
        status["troubles"] = json!(["member 02:00:00:00:00:01 is silent"]);
        status["link"] = json!(evil);
    });
    let event = event(9, &json!({"event": evil, "text": evil}));
    model.apply(event, Instant::now(), UNIX_EPOCH);
    model.apply(lost(evil), Instant::now(), UNIX_EPOCH);
    let shown = text(&model, (160, 50));
    let bad = shown.chars().find(|it| it.is_control() && *it != '\n');
    assert_eq!((bad, shown.contains('\u{202e}')), (None, false), "{shown}");
    assert!(shown.contains(r"a\u{1b}[2J\u{202e}\n\u{7}"), "{shown}");
}

#[test]
fn a_thousand_members_scroll() {
    let model = model("lab2", |status| {
        let members = status["members"].as_array_mut().expect("members");
        let first = members[2].clone();
        members.extend((0..1_000).map(|at| {
            let mut member = first.clone();
            member["name"] = json!(format!("m{at}"));
            member["mac"] = json!(format!("02:00:00:00:{:02x}:{:02x}", 1 + at / 256, at % 256));
            member
        }));
    });
    let mut layout = Layout::default();
    let mut shown = |by| {
        layout.panes.scroll(by);
        let buffer = screen(&model, &mut layout, COLORED, (80, 24));
        text_lines(&buffer).join("\n")
    };
    let start = shown(Scroll::Start);
    assert!(start.contains("Members (1004), lines 1 to "), "{start}");
    let end = shown(Scroll::End);
    assert!(
        end.contains(" m999 ") && end.contains(" to 1004 of 1004"),
        "{end}"
    );
    let before = Instant::now();
    for _ in 0..100 {
        shown(Scroll::PageUp);
    }
    let took = before.elapsed();
    assert!(took < Duration::from_secs(20), "100 drawings took {took:?}");
}

#[test]
fn a_lost_daemon_leaves_its_last_answer() {
    let mut model = model("lab2", |_| ());
    let unreachable = ConnectError::Unreachable {
        path: "/run/ringd/eth0/control".into(),
        reason: io::ErrorKind::NotFound.into(),
    };
    let unreadable = answers(&json!({"system": "ftn"}), &json!([]));
    let losses = [
        (
            lost("it is\n  gone"),
            "no answer, since 00:00:05; tries again: it is gone",
        ),
        (
            Update::Lost(Error::Connect(unreachable)),
            "no daemon, since 00:00:05; tries again: cannot reach",
        ),
        (
            unreadable,
            "no answer, since 00:00:05; tries again: cannot read the answer",
        ),
    ];
    for (second, (loss, expected)) in (5..).zip(losses) {
        let wall = UNIX_EPOCH + Duration::from_secs(second);
        let round = model.apply(loss, Instant::now(), wall);
        assert!(matches!(round, Some(Err(_))), "{expected}");
        let buffer = screen(&model, &mut Layout::default(), COLORED, (80, 24));
        let shown = text_lines(&buffer).join("\n");
        assert!(
            shown.contains(expected) && shown.contains("north"),
            "{shown}"
        );
        let title = shown.lines().next().expect("a title");
        assert!(title.ends_with(" no answer"), "{title}");
        assert_eq!(buffer[(72, 0)].fg, Color::Red, "{title}");
    }
    let answer = answers(&read("lab2.json"), &json!([]));
    let round = model.apply(answer, Instant::now(), UNIX_EPOCH);
    assert!(matches!(round, Some(Ok(()))), "the daemon is back");
    let shown = text(&model, (80, 24));
    assert!(
        !shown.contains("no daemon") && !shown.contains("no answer"),
        "{shown}"
    );
}

#[test]
fn the_help_shows_the_keys() {
    let mut layout = Layout {
        shows_help: true,
        ..Layout::default()
    };
    let buffer = screen(&model("lab2", |_| ()), &mut layout, COLORED, (80, 24));
    let shown = text_lines(&buffer).join("\n");
    assert!(shown.contains("q, Ctrl-C         quit"), "{shown}");
}

#[test]
fn a_system_without_a_page_shows_its_values() {
    let mut model = new_model();
    let status =
        json!({"system": "note", "health": "critical", "troubles": ["no room"], "role": "leader"});
    model.apply(answers(&status, &json!([])), Instant::now(), UNIX_EPOCH);
    let shown = text(&model, (80, 24));
    assert!(
        shown.contains("! no room") && shown.contains("role leader"),
        "{shown}"
    );
}
