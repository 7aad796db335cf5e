//! `ringctl dump`: writes the last frames and events of a node to a file.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ring_control::lab2::RingRequest;
use ring_control::{Reply, Request};

use super::super::connection::Connection;
use super::super::{Error, client};

/// The maximum time that the daemon needs for a recording.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes the daemon write a recording, and prints the path of the file. Copies the recording to `copy`, if it is given.
pub(super) fn dump(
    socket: &Path,
    copy: Option<&Path>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let request = Request::System(RingRequest::Dump);
    let by = client::deadline_after(WRITE_TIMEOUT);
    let path = match Connection::open(socket)?.ask(&request, Some(by))? {
        Reply::Dumped { path } => path,
        other => return Err(Error::from_unexpected_reply(other).into()),
    };
    let shown = if let Some(copy) = copy {
        fs::copy(&path, copy).map_err(|source| Error::Copy {
            from: path.clone(),
            to: copy.to_owned(),
            source,
        })?;
        copy
    } else {
        &path
    };
    writeln!(output, "{}", shown.display())?;
    output.flush()?;
    Ok(())
}
