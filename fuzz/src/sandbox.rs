//! The output of commands in sandboxes. The input is the output of one command. For hashes, it begins with a line of the
//! files, separated by tabs.

use sandbox_snapshotter::fuzzing::{directory_listing, hashes, hook, probe};
use sandbox_snapshotter::model::named::ContainerMarker;

use super::rules::{assert_json_round_trip, assert_short};

/// See the module.
pub fn read(data: &[u8]) {
    let stdout = String::from_utf8_lossy(data);
    if let Some(marker) = probe(&stdout).and_then(|probe| probe.marker) {
        assert_eq!(ContainerMarker::parse(&marker.to_string()), Some(marker));
    }
    if let Some(listing) = directory_listing(&stdout) {
        assert!(
            !listing.image.contains('\n') && listing.image.len() <= 1024,
            "the image has {} bytes",
            listing.image.len()
        );
        assert!(listing.content_hash.is_none_or(|hash| is_hash(&hash)));
    }
    match hook(&stdout, "afterStart") {
        Ok(Some(run)) => {
            assert!(stdout.ends_with(&run.output));
            assert_eq!(run.timed_out, run.exit_code.is_none());
            assert!(run.timed_out || run.ok == (run.exit_code == Some(0)));
            assert_json_round_trip(&run);
        }
        Ok(None) => (),
        Err(failure) => {
            assert!(failure.is_protocol());
            assert_short(&failure);
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
