//! Input from files and from the standard input.

use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// The maximum size of an input, in bytes. No operation takes more than 64 kB.
const MAX_BYTES: u64 = 1024 * 1024;

/// Whether the standard input was read.
static IS_STDIN_READ: AtomicBool = AtomicBool::new(false);

/// Reads the text of a file; `-` is the standard input, which can be read once.
///
/// # Errors
/// `INVALID_USAGE` if the standard input was read before; the result of `to_failure` if the input cannot be read.
pub fn read_text(path: &Path, to_failure: impl FnOnce(&Error) -> Failure) -> std::result::Result<String, Failure> {
    let read = if !is_stdin(path) {
        read_file(path)
    } else if IS_STDIN_READ.swap(true, Ordering::Relaxed) {
        let remediation = "Pass `-` at most once.";
        return Err(Failure::invalid("INVALID_USAGE", "The standard input, `-`, is used twice.", remediation));
    } else {
        read_limited(std::io::stdin())
    };
    read.map_err(|error| to_failure(&error))
}

/// Reads the text of a file.
pub fn read_file(path: &Path) -> Result<String> {
    read_limited(std::fs::File::open(path)?)
}

/// Returns whether a path denotes the standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads the whole input. Fails if it is larger than [`MAX_BYTES`].
fn read_limited(from: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MiB", MAX_BYTES / 1024 / 1024)));
    }
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_too_large_input_is_refused_instead_of_truncated() {
        assert_eq!(read_limited(std::io::repeat(b'x').take(MAX_BYTES)).unwrap().len() as u64, MAX_BYTES);
        let refused = read_limited(std::io::repeat(b'x').take(MAX_BYTES + 1)).unwrap_err();
        assert_eq!((refused.kind(), refused.to_string()), (ErrorKind::FileTooLarge, "it is larger than 1 MiB".into()));
    }

    #[test]
    fn an_input_that_is_not_utf_8_is_refused() {
        assert_eq!(read_limited(&b"\xff"[..]).unwrap_err().to_string(), "it is not UTF-8");
    }
}
