//! The list of nodes, read from a file of comma-separated values (`docs/board/operate.md`, "The list").

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::{fs, io};

use csv::{ReaderBuilder, StringRecord, Trim};
use ring_proto::andrews::{ListError, NodeList};
use thiserror::Error;

/// The columns in their order. The first line of a file may contain the names of the columns.
const COLUMNS: [&str; 4] = ["id", "address", "port", "http_port"];

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedNode {
    /// The node's id, from 1.
    pub id: u32,
    /// The address that other nodes use, with TCP and UDP.
    pub ring: SocketAddr,
    /// The address that browsers use.
    pub http: SocketAddr,
}

/// The list: all nodes that may be in the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    lines: Vec<ListedNode>,
    nodes: NodeList,
}

/// The reason why a file is refused. The text is for the operator.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the list of nodes {}: {source}; name a file: --nodes FILE", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}, line {line}: {why}; a line is id,address,port,http_port, as in 1,192.0.2.1,7400,8080",
        path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: u32,
        /// The cause.
        why: String,
    },
    /// The lines contradict each other.
    #[error("{}: {why}", path.display())]
    List {
        /// The file.
        path: PathBuf,
        /// The cause.
        why: ListError,
    },
    /// The file has no nodes.
    #[error("{} has no nodes; a line is id,address,port,http_port, as in 1,192.0.2.1,7400,8080", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl List {
    /// Reads a list from a file.
    ///
    /// # Errors
    /// Returns an error that names the first invalid line, or the file if it cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let text = fs::read(path).map_err(unreadable)?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &[u8]) -> Result<Self, Error> {
        let mut lines = Vec::new();
        // Parse the lines one by one, so that an error has the number of its line. The library's reader of a whole file
        // does not count blank lines.
        for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let wrong = |why| Error::Line {
                path: path.to_owned(),
                line: number,
                why,
            };
            let record = fields(line).map_err(wrong)?;
            let is_blank = record.iter().all(str::is_empty);
            if is_blank || number == 1 && is_header(&record) {
                continue;
            }
            lines.push(parse(&record).map_err(wrong)?);
        }
        if lines.is_empty() {
            let path = path.to_owned();
            return Err(Error::Empty { path });
        }
        let nodes = NodeList::new(lines.iter().map(|line| (line.id, line.ring)));
        let nodes = nodes.map_err(|why| Error::List {
            path: path.to_owned(),
            why,
        })?;
        Ok(Self { lines, nodes })
    }

    /// Returns the lines, in their order.
    pub fn lines(&self) -> &[ListedNode] {
        &self.lines
    }

    /// Returns the line of a node.
    pub fn line(&self, id: u32) -> Option<&ListedNode> {
        self.lines.iter().find(|line| line.id == id)
    }

    /// Returns the list in the form for the state machine.
    pub const fn nodes(&self) -> &NodeList {
        &self.nodes
    }
}

/// Splits a line into fields.
fn fields(line: &[u8]) -> Result<StringRecord, String> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .trim(Trim::All)
        .from_reader(line);
    let record = reader.records().next().transpose();
    let record = record.map_err(|_| "the line is not UTF-8".to_owned())?;
    Ok(record.unwrap_or_default())
}

fn is_header(record: &StringRecord) -> bool {
    let names = record.iter().map(str::to_ascii_lowercase);
    names.eq(COLUMNS)
}

fn parse(record: &StringRecord) -> Result<ListedNode, String> {
    let fields: Vec<&str> = record.iter().collect();
    let &[id, address, port, http_port] = fields.as_slice() else {
        return Err(format!("the line has {} fields, not 4", fields.len()));
    };
    let id = id.parse().ok().filter(|&id| id > 0);
    let id = id.ok_or("the id is not a number from 1 to 4294967295")?;
    let address: IpAddr = address
        .parse()
        .map_err(|_| format!("'{address}' is not an IP address (names are not resolved)"))?;
    if address.is_unspecified() || address.is_multicast() {
        return Err(format!("no node can be at {address}"));
    }
    Ok(ListedNode {
        id,
        ring: SocketAddr::new(address, parse_port("port", port)?),
        http: SocketAddr::new(address, parse_port("http_port", http_port)?),
    })
}

fn parse_port(name: &str, text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|&port| port > 0);
    port.ok_or_else(|| format!("the {name} '{text}' is not a number from 1 to 65535"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Error, List};

    fn parse(text: &str) -> Result<List, Error> {
        List::parse(Path::new("nodes.csv"), text.as_bytes())
    }

    #[test]
    fn a_header_blank_lines_and_spaces_are_no_nodes() {
        let list = parse(
            "ID,address, port,http_port\n\n1,192.0.2.1,7400,8080\n , \n2, 2001:db8::1 ,7401,8081\r\n",
        );
        let list = list.unwrap();
        let [one, two] = list.lines() else {
            panic!("{list:?}");
        };
        assert_eq!(one.ring, "192.0.2.1:7400".parse().unwrap());
        assert_eq!(one.http, "192.0.2.1:8080".parse().unwrap());
        assert_eq!(two.ring, "[2001:db8::1]:7401".parse().unwrap());
        assert_eq!(list.nodes().address(2), Some(two.ring));
        assert_eq!(list.line(1), Some(one));
        assert!(list.line(3).is_none());
    }

    #[test]
    fn an_error_names_the_wrong_line_and_the_cause() {
        for (text, line, why) in [
            ("1,192.0.2.1,7400", 1, "3 fields, not 4"),
            ("\n1,192.0.2.1,7400,8080,x", 2, "5 fields, not 4"),
            ("0,192.0.2.1,7400,8080", 1, "from 1 to 4294967295"),
            ("4294967296,192.0.2.1,7400,8080", 1, "from 1 to 4294967295"),
            ("1,localhost,7400,8080", 1, "names are not resolved"),
            ("1,0.0.0.0,7400,8080", 1, "no node can be at 0.0.0.0"),
            ("1,192.0.2.1,0,8080", 1, "the port '0'"),
            ("1,192.0.2.1,7400,70000", 1, "the http_port '70000'"),
            (
                "id,address,port,http_port\n1,192.0.2.1,7400,8080\nx,192.0.2.2,7400,8080",
                3,
                "the id",
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            let begins = format!("nodes.csv, line {line}: ");
            assert!(error.starts_with(&begins), "{text}: {error}");
            assert!(
                error.contains(why) && error.contains("as in 1,192.0.2.1"),
                "{error}"
            );
        }
    }

    #[test]
    fn nodes_that_cannot_be_together_are_refused() {
        for (text, why) in [
            ("", "has no nodes"),
            ("id,address,port,http_port\n", "has no nodes"),
            (
                "1,192.0.2.1,7400,8080\n1,192.0.2.2,7400,8080",
                "two nodes with id 1",
            ),
            (
                "1,192.0.2.1,7400,8080\n2,192.0.2.1,7400,8081",
                "192.0.2.1:7400 twice",
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let missing = List::read(Path::new("/nowhere/nodes.csv")).unwrap_err();
        assert!(missing.to_string().contains("--nodes FILE"), "{missing}");
        assert!(parse("1,192.0.2.1,7400,8080\n\u{fffd}").is_err());
        let bytes: &[u8] = b"1,192.0.2.1,7400,8080\n2,\xff,1,1";
        let error = List::parse(Path::new("nodes.csv"), bytes).unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
    }
}
