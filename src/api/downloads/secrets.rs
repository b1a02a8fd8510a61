//! The header about files that are left out of an export.

use std::fmt::Write;

use crate::model::{SecretsReport, json};

/// The name of the header.
pub const HEADER: &str = "X-Secrets";

/// The maximum size of the paths in a header, in bytes.
const MAX_PATH_BYTES: usize = 2048;

/// Returns a report as JSON in ASCII, with as many paths as a header has room for.
pub fn to_header(report: &SecretsReport) -> String {
    let mut bytes = 0;
    let fits = |path: &&String| {
        bytes += path.len();
        bytes <= MAX_PATH_BYTES
    };
    let paths = report.paths.iter().take_while(fits).cloned().collect();
    let mut header = String::new();
    for letter in json::to_string(&SecretsReport { paths, ..report.clone() }).unwrap_or_default().chars() {
        if letter.is_ascii() {
            header.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a text cannot fail.
                let _ = write!(header, "\\u{unit:04x}");
            }
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SecretsMode;

    fn header(paths: Vec<String>) -> String {
        to_header(&SecretsReport { mode: SecretsMode::Exclude, count: 7, paths, excluded: 7 })
    }

    #[test]
    fn header_is_json_in_ascii() {
        let text = header(vec!["ü🗝/.env".into(), "line\nbreak.pem".into()]);
        assert!(text.bytes().all(|byte| (32..127).contains(&byte)), "{text}");
        let parsed: SecretsReport = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed.paths, ["ü🗝/.env", "line\nbreak.pem"]);
    }

    #[test]
    fn header_has_as_many_paths_as_it_has_room_for() {
        let text = header((0..100).map(|_| "p".repeat(1000)).collect());
        let parsed: SecretsReport = serde_json::from_str(&text).unwrap();
        assert_eq!((parsed.paths.len(), parsed.count), (2, 7));
    }
}
