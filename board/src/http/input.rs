//! Checks of requests.

use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::output::Refusal;
use crate::posts::NewPost;

/// Maximum number of characters of an author's name.
pub(super) const AUTHOR_CHARS_MAX: usize = 64;
pub(super) const TEXT_CHARS_MAX: usize = 2_000;
const KEY_CHARS_MAX: usize = 64;
/// The header in which a browser tells from which site a request comes.
const FETCH_SITE: &str = "sec-fetch-site";
/// The number of posts that a read returns: the maximum and the default.
const LIMIT: (u16, u16) = (1_000, 100);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmittedPost {
    author: String,
    text: String,
    #[serde(default)]
    key: Option<String>,
}

pub(super) fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Checks that a request that changes something comes from a page of this node, or from no page. A browser names the
/// page's site in Origin or in Sec-Fetch-Site. So a request with a cookie must have one of these headers.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    let is_own_site = site.is_none_or(|it| it == b"same-origin" || it == b"none");
    let is_own_origin = !headers.contains_key(ORIGIN) || {
        let host = header(headers, HOST).unwrap_or_default();
        let origin = header(headers, ORIGIN).unwrap_or_default();
        let of = ["http://", "https://"].map(|scheme| origin.strip_prefix(scheme));
        !host.is_empty() && of.contains(&Some(host))
    };
    let is_from_browser = headers.contains_key(COOKIE);
    let is_named = site.is_some() || headers.contains_key(ORIGIN);
    if is_own_site && is_own_origin && (is_named || !is_from_browser) {
        return Ok(());
    }
    let text = "a page of another site may not post here, and a request with a cookie must have the header Origin";
    Err(Refusal::new(StatusCode::FORBIDDEN, "origin", text))
}

/// Checks the type of a request's body. A form of another site cannot send JSON_TYPE.
pub(super) fn check_type(headers: &HeaderMap, expected: &str) -> Result<(), Refusal> {
    let kind = header(headers, CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    let text = format!("the body must have the type {expected}");
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Err(Refusal::new(status, "type", text))
}

pub(super) fn parse_post(body: &[u8], time_ms: i64) -> Result<NewPost, Refusal> {
    let post: SubmittedPost =
        serde_json::from_slice(body).map_err(|error| Refusal::bad_request(error.to_string()))?;
    let is_key = |key: &String| {
        (1..=KEY_CHARS_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if !post.key.as_ref().is_none_or(is_key) {
        let text = format!("key: must have 1 to {KEY_CHARS_MAX} ASCII characters without spaces");
        return Err(Refusal::bad_request(text));
    }
    Ok(NewPost {
        author: check_text("author", &post.author, AUTHOR_CHARS_MAX)?,
        text: check_text("text", &post.text, TEXT_CHARS_MAX)?,
        key: post.key,
        time_ms,
    })
}

fn check_text(name: &str, text: &str, most: usize) -> Result<String, Refusal> {
    let text = text.trim();
    let is_odd = |it: char| it.is_control() && it != '\n' && it != '\t';
    if !(1..=most).contains(&text.chars().count()) || text.contains(is_odd) {
        return Err(Refusal::bad_request(format!(
            "{name}: must have 1 to {most} characters; newline and tab are the only permitted control characters"
        )));
    }
    Ok(text.to_owned())
}

/// Parses the query of a read. Returns the id after which the read starts, and the maximum number of posts.
///
/// # Errors
/// Returns a refusal if a number is invalid or out of range.
pub(super) fn parse_range(query: Option<&str>) -> Result<(i64, u16), Refusal> {
    let (most, usual) = LIMIT;
    let (mut after, mut limit) = (0, usual);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let wrong = || {
            let text = format!(
                "'{name}={value}' is not valid: use after=ID, with a number from 0, or limit=L, with a number \
                 from 1 to {most}"
            );
            Refusal::bad_request(text)
        };
        match (&*name, &*value) {
            ("after", id) => after = id.parse().ok().filter(|&id| id >= 0).ok_or_else(wrong)?,
            ("limit", count) => {
                let count = count.parse().ok().filter(|it| (1..=most).contains(it));
                limit = count.ok_or_else(wrong)?;
            }
            _ => return Err(wrong()),
        }
    }
    Ok((after, limit))
}

/// Returns the id after which the posts for a listener start. After a reconnection, a browser sends the id of the last
/// event that it received. The id of this event then replaces the id in the query.
pub(super) fn parse_start(headers: &HeaderMap, query: Option<&str>) -> Result<i64, Refusal> {
    let (asked, _) = parse_range(query)?;
    let Some(last) = header(headers, HeaderName::from_static("last-event-id")) else {
        return Ok(asked);
    };
    let last = last.parse().ok().filter(|&id| id >= 0);
    last.ok_or_else(|| Refusal::bad_request("Last-Event-ID must be an integer, 0 or greater"))
}

#[cfg(test)]
mod tests {
    use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
    use serde_json::json;

    use super::{FETCH_SITE, check_origin, check_type, parse_post, parse_range, parse_start};
    use crate::http::output::JSON_TYPE;

    fn headers(all: &[(HeaderName, &'static str)]) -> HeaderMap {
        let header = |(name, value): &(HeaderName, &'static str)| {
            (name.clone(), HeaderValue::from_static(value))
        };
        all.iter().map(header).collect()
    }

    #[test]
    fn a_post_has_an_author_a_text_and_perhaps_a_key() {
        let whole = json!({"author": " Ann\n", "text": "one\n\ttwo \u{1f600}", "key": "k-1"});
        let made = parse_post(whole.to_string().as_bytes(), 7).unwrap();
        assert_eq!(made.author, "Ann");
        assert_eq!(made.text, "one\n\ttwo \u{1f600}");
        assert_eq!((made.key.as_deref(), made.time_ms), (Some("k-1"), 7));
        let longest = json!({"author": "\u{e4}".repeat(64), "text": "\u{1f600}".repeat(2_000)});
        assert!(parse_post(longest.to_string().as_bytes(), 7).is_ok());
    }

    #[test]
    fn a_malformed_post_is_refused_with_the_reason() {
        for (body, why) in [
            ("{".to_owned(), "EOF"),
            (json!([]).to_string(), "invalid"),
            (json!({"author": "a"}).to_string(), "missing field `text`"),
            (
                json!({"author": "a", "text": "b", "x": 1}).to_string(),
                "unknown field `x`",
            ),
            (json!({"author": " \t", "text": "b"}).to_string(), "author"),
            (
                json!({"author": "a".repeat(65), "text": "b"}).to_string(),
                "author",
            ),
            (
                json!({"author": "a", "text": "b".repeat(2_001)}).to_string(),
                "text: must have 1 to 2000 characters",
            ),
            (
                json!({"author": "a", "text": "b\u{0}c"}).to_string(),
                "newline and tab",
            ),
            (
                json!({"author": "a\u{85}b", "text": "c"}).to_string(),
                "author",
            ),
            (
                json!({"author": "a", "text": "b", "key": ""}).to_string(),
                "key",
            ),
            (
                json!({"author": "a", "text": "b", "key": "a b"}).to_string(),
                "key",
            ),
            (
                json!({"author": "a", "text": "b", "key": "k".repeat(65)}).to_string(),
                "key",
            ),
        ] {
            let refusal = parse_post(body.as_bytes(), 7).unwrap_err();
            assert_eq!(refusal.status, 400, "{body}");
            assert!(refusal.text.contains(why), "{body}: {}", refusal.text);
        }
    }

    #[test]
    fn another_site_is_kept_out() {
        let own = (HOST, "node:8080");
        let cookie = (COOKIE, "board-1=00");
        let fetch = |site| (HeaderName::from_static(FETCH_SITE), site);
        let status = |all: &[_]| check_origin(&headers(all)).map_err(|it| it.status.as_u16());
        for own in [
            vec![],
            vec![own.clone()],
            vec![own.clone(), (ORIGIN, "https://node:8080")],
            vec![own.clone(), (ORIGIN, "http://node:8080"), cookie.clone()],
            vec![own.clone(), fetch("same-origin"), cookie.clone()],
            vec![own.clone(), fetch("none"), cookie.clone()],
        ] {
            assert_eq!(status(&own), Ok(()), "{own:?}");
        }
        for origin in [
            "http://evil",
            "http://node:8081",
            "null",
            "node:8080",
            "http://",
        ] {
            let all = [own.clone(), fetch("same-origin"), (ORIGIN, origin)];
            assert_eq!(status(&all), Err(403), "{origin}");
        }
        assert_eq!(status(&[(ORIGIN, "http://")]), Err(403));
        assert_eq!(status(&[own.clone(), cookie.clone()]), Err(403));
        for site in ["cross-site", "same-site", ""] {
            let all = [own.clone(), fetch(site), (ORIGIN, "http://node:8080")];
            assert_eq!(status(&all), Err(403), "{site}");
        }
    }

    #[test]
    fn a_form_is_no_post() {
        let status = |kind| {
            let headers = headers(&[(CONTENT_TYPE, kind)]);
            check_type(&headers, JSON_TYPE).map_err(|it| it.status.as_u16())
        };
        for kind in ["application/json", "Application/JSON; charset=utf-8"] {
            assert_eq!(status(kind), Ok(()), "{kind}");
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
            assert_eq!(status(kind), Err(415), "{kind}");
        }
        assert!(check_type(&headers(&[]), JSON_TYPE).is_err());
    }

    #[test]
    fn ranges_are_numbers_in_range() {
        assert_eq!(parse_range(None).unwrap(), (0, 100));
        assert_eq!(parse_range(Some("limit=1000&after=7")).unwrap(), (7, 1000));
        assert_eq!(parse_range(Some("after=%37&")).unwrap(), (7, 100));
        for wrong in [
            "after=-1",
            "after=x",
            "limit=0",
            "limit=1001",
            "limit",
            "x=1",
        ] {
            assert_eq!(parse_range(Some(wrong)).unwrap_err().status, 400, "{wrong}");
        }
        let last = |id| headers(&[(HeaderName::from_static("last-event-id"), id)]);
        assert_eq!(parse_start(&last("9"), Some("after=3")), Ok(9));
        assert_eq!(parse_start(&headers(&[]), Some("after=3")), Ok(3));
        assert!(parse_start(&last("x"), None).is_err());
    }
}
