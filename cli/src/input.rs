//! What is read from files, or from the standard input.

use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// The largest input, in bytes: no operation takes more than 64 kB.
const MAX_BYTES: u64 = 1024 * 1024;

/// Whether something has read the standard input.
static IS_STDIN_READ: AtomicBool = AtomicBool::new(false);

/// The text of a file; `-` is the standard input, which can be read once.
///
/// # Errors
/// `INVALID_USAGE` where the standard input was read before, and whatever `refuse` makes of what goes wrong.
pub fn read_text(path: &Path, refuse: impl FnOnce(&Error) -> Failure) -> std::result::Result<String, Failure> {
    let read = if !is_stdin(path) {
        read_file(path)
    } else if IS_STDIN_READ.swap(true, Ordering::Relaxed) {
        let remediation = "Give a file in the place of all but one `-`.";
        return Err(Failure::invalid("INVALID_USAGE", "The standard input is named twice.", remediation));
    } else {
        read_limited(std::io::stdin())
    };
    read.map_err(|error| refuse(&error))
}

/// The text of a file.
pub fn read_file(path: &Path) -> Result<String> {
    read_limited(std::fs::File::open(path)?)
}

/// Whether a path stands for the standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// All of it, or none where it is larger than anything that is of use.
fn read_limited(from: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {} MiB", MAX_BYTES / 1024 / 1024)));
    }
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_refused_and_never_cut() {
        assert_eq!(read_limited(std::io::repeat(b'x').take(MAX_BYTES)).unwrap().len() as u64, MAX_BYTES);
        let refused = read_limited(std::io::repeat(b'x').take(MAX_BYTES + 1)).unwrap_err();
        assert_eq!((refused.kind(), refused.to_string()), (ErrorKind::FileTooLarge, "it has more than 1 MiB".into()));
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert_eq!(read_limited(&b"\xff"[..]).unwrap_err().to_string(), "it is not UTF-8");
    }
}
