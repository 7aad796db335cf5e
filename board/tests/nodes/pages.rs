//! The page in a browser.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ring_segment::{PATIENCE, Test, tests};
use serde_json::{Value, json};

use super::browser::Browser;
use super::http::{get, post};
use super::stand::{Kind, Stand};

const LAPTOP: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (360, 740);
/// The texts of all posts that are shown, oldest first.
const TEXTS: &str =
    "return [...document.querySelectorAll('.text')].map(it => it.textContent).reverse()";
/// `Tab` and `Enter` of a keyboard, as WebDriver has them.
const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';

pub(crate) fn tests() -> Vec<Test> {
    let tests = tests![
        two_browsers_on_two_nodes_see_each_others_posts_in_one_order,
        a_text_outlives_the_node_that_it_was_written_at,
        the_page_fits_a_laptop_and_a_phone_in_light_and_dark,
        the_page_shows_who_has_the_token,
        a_seventh_tab_shows_the_board_as_the_others_do,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Written with the keyboard alone.
fn two_browsers_on_two_nodes_see_each_others_posts_in_one_order() -> Result<()> {
    let stand = Stand::new(2, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2])?;
    let open = |at: usize, size| Browser::open(stand.segment().node(at), size);
    let browsers = [open(0, LAPTOP)?, open(1, PHONE)?];
    for (name, browser) in ["Ann", "Bob"].iter().zip(&browsers) {
        browser.wait("return document.querySelectorAll('#members li').length === 2")?;
        browser.type_keys(&format!("{TAB}{name}{TAB}"))?;
    }
    for round in 0..3 {
        for browser in &browsers {
            // From the text to the button, and back.
            browser.type_keys(&format!("<b>{round}</b>{TAB}{ENTER}"))?;
            browser.wait("return document.getElementById('text').value === ''")?;
            browser.run("document.getElementById('text').focus()")?;
        }
    }
    let said = get(&stand, 1, "/posts")?.json()?;
    let posts = said["posts"].as_array().context("posts")?;
    let texts: Vec<Value> = posts.iter().map(|it| it["text"].clone()).collect();
    ensure!(texts.len() == 6, "{said:#}");
    let authors: Vec<_> = posts
        .iter()
        .filter_map(|it| it["author"].as_str())
        .collect();
    ensure!(
        authors == ["Ann", "Bob", "Ann", "Bob", "Ann", "Bob"],
        "{said:#}"
    );
    for browser in &browsers {
        browser.wait("return document.querySelectorAll('.text').length === 6")?;
        // Shown as it was written, not as what it would mean to a browser.
        ensure!(browser.run(TEXTS)? == json!(texts));
        ensure!(browser.run("return document.querySelectorAll('#posts b').length")? == 0);
    }
    Ok(())
}

/// Costs five seconds: it joins again.
fn a_text_outlives_the_node_that_it_was_written_at() -> Result<()> {
    let mut stand = Stand::new(2, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2])?;
    let browser = Browser::open(stand.segment().node(0), LAPTOP)?;
    browser.wait("return document.querySelectorAll('#members li').length === 2")?;
    browser.type_keys(&format!("{TAB}Ann{TAB}not lost"))?;
    stand.node(1).kill()?;
    browser
        .wait("return document.getElementById('ring').textContent.includes('does not answer')")?;
    browser.type_keys(&format!(" at all{TAB}{ENTER}"))?;
    browser.wait("return document.getElementById('said').textContent.includes('is kept')")?;
    ensure!(browser.run("return document.getElementById('text').value")? == "not lost at all");
    // It is sent without anybody's doing.
    stand.node(1).start()?;
    browser.wait(&format!("{TEXTS}.includes('not lost at all')"))?;
    let said = get(&stand, 2, "/posts")?.json()?;
    ensure!(
        said["posts"].as_array().map(Vec::len) == Some(1),
        "{said:#}"
    );

    // What is not sent yet is still there when the page is opened again.
    browser.run("document.getElementById('text').focus()")?;
    browser.type_keys("a draft")?;
    browser.run("location.reload()")?;
    browser.wait("return document.readyState === 'complete' && document.getElementById('text').value === 'a draft'")
}

fn the_page_fits_a_laptop_and_a_phone_in_light_and_dark() -> Result<()> {
    let stand = Stand::new(3, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2, 3])?;
    let long = "a".repeat(300);
    for text in [
        "Hello from the first node.",
        long.as_str(),
        "Two\nlines \u{1f600}",
    ] {
        post(
            &stand,
            2,
            &json!({"author": "Ann of a rather long name that nobody has", "text": text}),
        )?;
    }
    let browser = Browser::open(stand.segment().node(0), LAPTOP)?;
    for (name, size) in [("laptop", LAPTOP), ("phone", PHONE)] {
        for scheme in ["light", "dark"] {
            browser.appear(size, scheme)?;
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
            // Of those of the page's style.
            let is_light = ground == "rgb(251, 251, 250)";
            ensure!(
                is_light == (scheme == "light"),
                "{name}, {scheme}: {ground}"
            );
        }
    }
    Ok(())
}

fn the_page_shows_who_has_the_token() -> Result<()> {
    let stand = Stand::new(3, Kind::Sqlite, &[("--hold", "700ms")])?;
    let browser = Browser::open(stand.segment().node(0), LAPTOP)?;
    // Rounds that last for two seconds each are not waited for.
    browser.wait("return document.querySelectorAll('#members li').length === 3")?;
    // Between a node's visits nobody tells its page where the token is.
    for id in [2, 3, 1, 2] {
        let is_marked =
            format!("return document.querySelector('#members .token')?.dataset.id === '{id}'");
        let give_up = Instant::now() + PATIENCE;
        let mut is_right = false;
        while !is_right {
            ensure!(Instant::now() < give_up, "never while node {id} has it");
            browser.wait(&is_marked)?;
            let status = stand.wait(id, |_| true)?;
            is_right = status["token"]["held"] == true && browser.run(&is_marked)? == true;
        }
        ensure!(browser.run("return document.querySelectorAll('#members .token').length")? == 1);
    }
    Ok(())
}

/// A browser makes at most six connections to a node.
fn a_seventh_tab_shows_the_board_as_the_others_do() -> Result<()> {
    let stand = Stand::new(1, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1])?;
    post(&stand, 1, &json!({"author": "Ann", "text": "old"}))?;
    let browser = Browser::open(stand.segment().node(0), LAPTOP)?;
    let mut tabs = vec![browser.tab()?];
    while tabs.len() < 7 {
        browser.wait(&format!("{TEXTS}.join() === 'old'"))?;
        browser.wait("return document.querySelectorAll('#members li').length === 1")?;
        tabs.push(browser.open_tab()?);
    }
    post(&stand, 1, &json!({"author": "Ann", "text": "new"}))?;
    for tab in &tabs {
        browser.show(tab)?;
        browser.wait(&format!("{TEXTS}.join() === 'old,new'"))?;
    }
    Ok(())
}
