//! What the commands print that are run inside of sandboxes. The input is the output of one; that of hashes begins with the
//! files on a line of their own, with tabs between them.

use sandbox_snapshotter::fuzzing::{directory_listing, hashes, hook, probe};
use sandbox_snapshotter::model::named::ContainerMarker;

use super::rules::{kept, short};

/// See the module.
pub fn read(data: &[u8]) {
    let stdout = String::from_utf8_lossy(data);
    if let Some(stamp) = probe(&stdout).and_then(|seen| seen.marker) {
        assert_eq!(ContainerMarker::parse(&stamp.to_string()), Some(stamp));
    }
    if let Some(survey) = directory_listing(&stdout) {
        assert!(!survey.image.contains('\n') && survey.image.len() <= 1024, "an image of {} bytes", survey.image.len());
        assert!(survey.content_hash.is_none_or(|listing| is_hash(&listing)));
    }
    match hook(&stdout, "afterStart") {
        Ok(Some(run)) => {
            assert!(stdout.ends_with(&run.output));
            assert_eq!(run.timed_out, run.exit_code.is_none());
            assert!(run.timed_out || run.ok == (run.exit_code == Some(0)));
            kept(&run);
        }
        Ok(None) => (),
        Err(failure) => {
            assert!(failure.is_protocol());
            short(&failure);
        }
    }
    if let Some((files, printed)) = stdout.split_once('\n') {
        let files: Vec<String> = files.split('\t').map(str::to_owned).collect();
        if let Some(hashes) = hashes(printed, &files) {
            assert!(files.iter().all(|file| hashes.contains_key(file)));
            assert!(hashes.values().all(|hash| hash.is_empty() || is_hash(hash)));
        }
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
