//! The names that browsers may use for this node.
//!
//! Another site can make its name resolve to the address of this node (DNS rebinding). A browser then treats the node
//! as a part of the foreign site. But the Host of the browser's requests is the site's name, so the node can refuse
//! these requests.

use std::net::{IpAddr, Ipv6Addr};

use hyper::header::HOST;
use hyper::{HeaderMap, StatusCode, Version};

use super::output::Refusal;

/// The header in which a reverse proxy names the address of the browser.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Parses the name of a host. The name has no port. Returns the name in lower case.
///
/// # Errors
/// Returns a sentence if the text is not a name of a host.
pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        !part.is_empty() && part.bytes().all(is_of_name)
    };
    if text.split('.').all(is_part) {
        return Ok(text.to_ascii_lowercase());
    }
    Err("not a host name: use a name such as board.example, without a port".to_owned())
}

/// Returns the address of the browser, which a reverse proxy puts at the end of X-Forwarded-For. The browser itself may
/// have sent the addresses before the end.
pub(super) fn forwarded_address(headers: &HeaderMap) -> Option<IpAddr> {
    let mut lines = headers.get_all(FORWARDED_FOR).iter();
    let last = lines.next_back()?.to_str().ok()?;
    let address = last.rsplit(',').next()?;
    address.trim().parse().ok()
}

/// Checks that the Host of a request is an address, localhost, or a name from this list.
///
/// # Errors
/// Returns a refusal if Host contains a different name. Also returns a refusal if the request has no Host, or has
/// several.
pub(super) fn check(
    headers: &HeaderMap,
    version: Version,
    names: &[String],
) -> Result<(), Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, None) if version < Version::HTTP_11 => return Ok(()),
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    let host =
        host.ok_or_else(|| Refusal::bad_request("a request must have exactly one Host header"))?;
    if is_known_name(host, names) {
        return Ok(());
    }
    let text = format!(
        "this node does not know the name '{host}': use an address of the node, or start the node with --http-name"
    );
    Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "host", text))
}

fn is_known_name(host: &str, names: &[String]) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        let address = rest.split_once(']').map(|(address, _)| address);
        return address.is_some_and(|it| it.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|own| name.eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HOST, HeaderMap, HeaderValue};
    use hyper::{StatusCode, Version};

    use super::{FORWARDED_FOR, check, forwarded_address, parse_name};

    fn status(hosts: &[&'static str], version: Version) -> Result<(), StatusCode> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        let names = [parse_name("Board.Example").unwrap()];
        check(&headers, version, &names).map_err(|refusal| refusal.status)
    }

    #[test]
    fn addresses_localhost_and_local_names_are_this_node() {
        for host in [
            "192.0.2.1",
            "192.0.2.1:8080",
            "[2001:db8::1]",
            "[::1]:8080",
            "localhost:8080",
            "LOCALHOST",
            "board.example",
            "BOARD.example.:8080",
        ] {
            assert_eq!(status(&[host], Version::HTTP_11), Ok(()), "{host}");
        }
    }

    #[test]
    fn any_other_name_may_be_given_this_address_by_anybody_and_is_refused() {
        let wrong = Err(StatusCode::MISDIRECTED_REQUEST);
        for host in [
            "evil.example",
            "evil.example:8080",
            "xboard.example",
            "board.example.evil",
            "localhost.evil",
            "192.0.2.1.evil",
            "[192.0.2.1]",
            "[::1",
            "",
        ] {
            assert_eq!(status(&[host], Version::HTTP_11), wrong, "{host}");
        }
        let malformed = Err(StatusCode::BAD_REQUEST);
        assert_eq!(status(&[], Version::HTTP_11), malformed);
        assert_eq!(status(&[], Version::HTTP_10), Ok(()));
        let two = ["localhost", "evil.example"];
        assert_eq!(status(&two, Version::HTTP_11), malformed);
    }

    #[test]
    fn only_the_last_forwarded_address_is_from_the_proxy() {
        let address = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED_FOR, HeaderValue::from_static(line));
            }
            forwarded_address(&headers).map(|it| it.to_string())
        };
        assert_eq!(address(&["192.0.2.1"]).as_deref(), Some("192.0.2.1"));
        let forged = "198.51.100.7, 2001:db8::1";
        assert_eq!(address(&[forged]).as_deref(), Some("2001:db8::1"));
        assert_eq!(
            address(&[forged, "192.0.2.1"]).as_deref(),
            Some("192.0.2.1")
        );
        for wrong in ["", "unknown", "192.0.2.1,", "192.0.2.1:80"] {
            assert_eq!(address(&[wrong]), None, "{wrong}");
        }
        assert_eq!(address(&[]), None);
    }

    #[test]
    fn a_name_has_no_port_and_no_scheme() {
        assert_eq!(parse_name("Node-1_a").as_deref(), Ok("node-1_a"));
        for wrong in ["", "a..b", "a:80", "http://a", "a b", "[::1]", "\u{e4}"] {
            assert!(parse_name(wrong).is_err(), "{wrong}");
        }
    }
}
