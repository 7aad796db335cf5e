//! The page in a browser.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::{Value, json};

use super::browser::Browser;
use super::http::{get, post};
use super::test_ring::{DatabaseKind, TestRing};

const LAPTOP: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (360, 740);
/// A script that returns the texts of all visible posts, oldest first.
const TEXTS: &str =
    "return [...document.querySelectorAll('.text')].map(it => it.textContent).reverse()";
/// The keys Tab and Enter, in WebDriver's encoding.
const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';

pub(crate) fn tests() -> Vec<Test> {
    let tests = tests![
        two_browsers_on_two_nodes_see_each_others_posts_in_one_order,
        a_text_outlives_the_node_that_it_was_written_at,
        the_page_fits_a_laptop_and_a_phone_in_light_and_dark,
        the_page_shows_the_holder_of_the_token,
        a_seventh_tab_shows_the_board_as_the_others_do,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Writes posts using only the keyboard, and checks that both pages show the posts in the same order.
fn two_browsers_on_two_nodes_see_each_others_posts_in_one_order() -> Result<()> {
    let ring = TestRing::new(2, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2])?;
    let open = |at: usize, size| Browser::open(ring.segment().node(at), size);
    let browsers = [open(0, LAPTOP)?, open(1, PHONE)?];
    for (name, browser) in ["Ann", "Bob"].iter().zip(&browsers) {
        browser.wait("return document.querySelectorAll('#members li').length === 2")?;
        browser.type_keys(&format!("{TAB}{name}{TAB}"))?;
    }
    for round in 0..3 {
        for browser in &browsers {
            // The focus moves from the text to the button, and back.
            browser.type_keys(&format!("<b>{round}</b>{TAB}{ENTER}"))?;
            browser.wait("return document.getElementById('text').value === ''")?;
            browser.run("document.getElementById('text').focus()")?;
        }
    }
    let answer = get(&ring, 1, "/posts")?.json()?;
    let posts = answer["posts"].as_array().context("posts")?;
    let texts: Vec<Value> = posts.iter().map(|it| it["text"].clone()).collect();
    ensure!(texts.len() == 6, "{answer:#}");
    let authors: Vec<_> = posts
        .iter()
        .filter_map(|it| it["author"].as_str())
        .collect();
    ensure!(
        authors == ["Ann", "Bob", "Ann", "Bob", "Ann", "Bob"],
        "{answer:#}"
    );
    for browser in &browsers {
        browser.wait("return document.querySelectorAll('.text').length === 6")?;
        // The page shows a text as its author wrote it, and not as HTML.
        ensure!(browser.run(TEXTS)? == json!(texts));
        ensure!(browser.run("return document.querySelectorAll('#posts b').length")? == 0);
    }
    Ok(())
}

/// This test takes five seconds, because the node must join the ring again.
fn a_text_outlives_the_node_that_it_was_written_at() -> Result<()> {
    let mut ring = TestRing::new(2, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2])?;
    let browser = Browser::open(ring.segment().node(0), LAPTOP)?;
    browser.wait("return document.querySelectorAll('#members li').length === 2")?;
    browser.type_keys(&format!("{TAB}Ann{TAB}not lost"))?;
    ring.node(1).kill()?;
    browser
        .wait("return document.getElementById('ring').textContent.includes('does not answer')")?;
    browser.type_keys(&format!(" at all{TAB}{ENTER}"))?;
    browser.wait("return document.getElementById('result').textContent.includes('is kept')")?;
    ensure!(browser.run("return document.getElementById('text').value")? == "not lost at all");
    // The page sends the text without any action of the user.
    ring.node(1).start()?;
    browser.wait(&format!("{TEXTS}.includes('not lost at all')"))?;
    let answer = get(&ring, 2, "/posts")?.json()?;
    ensure!(
        answer["posts"].as_array().map(Vec::len) == Some(1),
        "{answer:#}"
    );

    // If a text was not sent, it is still in the form when the page is opened again.
    browser.run("document.getElementById('text').focus()")?;
    browser.type_keys("a draft")?;
    browser.run("location.reload()")?;
    browser.wait("return document.readyState === 'complete' && document.getElementById('text').value === 'a draft'")
}

fn the_page_fits_a_laptop_and_a_phone_in_light_and_dark() -> Result<()> {
    let ring = TestRing::new(3, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2, 3])?;
    let long = "a".repeat(300);
    for text in [
        "Hello from the first node.",
        long.as_str(),
        "Two\nlines \u{1f600}",
    ] {
        post(
            &ring,
            2,
            &json!({"author": "Ann of a rather long name that nobody has", "text": text}),
        )?;
    }
    let browser = Browser::open(ring.segment().node(0), LAPTOP)?;
    for (name, size) in [("laptop", LAPTOP), ("phone", PHONE)] {
        for scheme in ["light", "dark"] {
            browser.set_screen(size, scheme)?;
            browser.reload()?;
            browser.wait("return document.querySelectorAll('.text').length === 3")?;
            ensure!(browser.run("return innerWidth")? == size.0, "{name}");
            let is_narrow = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
            ensure!(
                browser.run(is_narrow)? == true,
                "{name}: it has to be moved sideways"
            );
            let ground = browser.run("return getComputedStyle(document.body).backgroundColor")?;
            let ground = ground.as_str().unwrap_or_default().to_owned();
            // The colors of the page's style.
            let is_light = ground == "rgb(251, 251, 250)";
            ensure!(
                is_light == (scheme == "light"),
                "{name}, {scheme}: {ground}"
            );
        }
    }
    Ok(())
}

fn the_page_shows_the_holder_of_the_token() -> Result<()> {
    let ring = TestRing::new(3, DatabaseKind::Sqlite, &[("--hold", "700ms")])?;
    let browser = Browser::open(ring.segment().node(0), LAPTOP)?;
    // A rotation takes two seconds, so the test does not wait for complete rotations.
    browser.wait("return document.querySelectorAll('#members li').length === 3")?;
    // Between two visits of the token, the page only estimates its place.
    for id in [2, 3, 1, 2] {
        let is_marked =
            format!("return document.querySelector('#members .token')?.dataset.id === '{id}'");
        let give_up = Instant::now() + WAIT_LIMIT;
        let mut is_right = false;
        while !is_right {
            ensure!(Instant::now() < give_up, "never while node {id} has it");
            browser.wait(&is_marked)?;
            let status = ring.wait(id, |_| true)?;
            is_right = status["token"]["held"] == true && browser.run(&is_marked)? == true;
        }
        ensure!(browser.run("return document.querySelectorAll('#members .token').length")? == 1);
    }
    Ok(())
}

/// A browser opens only six connections to a server. Checks that a seventh tab works.
fn a_seventh_tab_shows_the_board_as_the_others_do() -> Result<()> {
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1])?;
    post(&ring, 1, &json!({"author": "Ann", "text": "old"}))?;
    let browser = Browser::open(ring.segment().node(0), LAPTOP)?;
    let mut tabs = vec![browser.current_tab()?];
    while tabs.len() < 7 {
        browser.wait(&format!("{TEXTS}.join() === 'old'"))?;
        browser.wait("return document.querySelectorAll('#members li').length === 1")?;
        tabs.push(browser.open_tab()?);
    }
    post(&ring, 1, &json!({"author": "Ann", "text": "new"}))?;
    for tab in &tabs {
        browser.select_tab(tab)?;
        browser.wait(&format!("{TEXTS}.join() === 'old,new'"))?;
    }
    Ok(())
}
