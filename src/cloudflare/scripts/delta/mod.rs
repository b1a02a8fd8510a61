//! The scripts of incremental snapshots: see `docs/incremental.md`.
//!
//! Everything that a script runs comes from the Worker. A carrier contains data only, which the script verifies by the hash
//! in the ledger.

use super::{DETECT_MOUNT, FILE_NAMES, READ_MARKER, dir_vars, shell_quote};
use crate::model::delta::{
    CaptureBegin, CaptureBegun, Carrier, DeltaFailure, MAX_CHANGED_PERCENT, RestoreFinish, RestoreFinished, TracedBase,
    carrier_dir,
};
use crate::model::named::ContainerMarker;
use crate::model::{BackupId, Directory, FullReason, SnapshotId, json};

/// The time limit of the scripts, in milliseconds.
pub(crate) const TIMEOUT_MILLIS: u32 = 180_000;

/// The program that compares listings.
const TREE: &str = include_str!("tree.pl");

/// The parts that the scripts share.
const COMMON: &str = include_str!("common.sh");

/// Assigns a variable of a script.
fn assign(name: &str, value: &str) -> String {
    format!("{name}={}\n", shell_quote(value))
}

/// Returns a script, after the variables that it uses.
fn script(dir: &Directory, variables: &[(&str, &str)], text: &str) -> String {
    let variables: String = variables.iter().map(|(name, value)| assign(name, value)).collect();
    let tree = assign("tree", TREE);
    format!(
        "{FILE_NAMES}{}\n{READ_MARKER}detect_mount() {{\n{DETECT_MOUNT}}}\ndetect_mount\n{tree}{variables}{COMMON}{text}",
        dir_vars(dir)
    )
}

/// Writes the carrier of a delta, and prints `delta <hash of its head> <bytes> <bytes of all files> <entries> <bytes of
/// all files of the base>`. If there is
/// no delta, writes an inventory of the directory, and prints `full <why there is no delta> <why there is no inventory>`.
pub(crate) fn begin_capture(begin: &CaptureBegin) -> String {
    let CaptureBegin { dir, snapshot_id, base, min_base_bytes } = begin;
    let carrier = carrier_dir(dir, snapshot_id).map(|dir| dir.as_str().to_owned()).unwrap_or_default();
    let percent = MAX_CHANGED_PERCENT.to_string();
    let base = base.as_ref();
    let bytes = base.map_or(0, |base| base.tree_bytes).to_string();
    script(
        dir,
        &[
            ("snapshot", snapshot_id.as_str()),
            ("of", base.map_or("", |base| base.snapshot_id.as_str())),
            ("of_inventory", base.map_or("", |base| &base.inventory)),
            ("of_mounted", base.and_then(|base| base.mounted.as_ref()).map_or("", BackupId::as_str)),
            ("of_bytes", &bytes),
            ("percent", &percent),
            ("min_bytes", &min_base_bytes.to_string()),
            ("carrier", &carrier),
        ],
        include_str!("begin.sh"),
    )
}

/// Parses the output of [`begin_capture`].
pub(crate) fn read_capture_begun(stdout: &str, begin: &CaptureBegin) -> Option<CaptureBegun> {
    match stdout.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["delta", head, bytes, tree_bytes, _entries, base_tree_bytes] => Some(CaptureBegun::Delta(Carrier {
            dir: carrier_dir(&begin.dir, &begin.snapshot_id).ok()?,
            head: read_hash(head)?,
            bytes: bytes.parse().ok()?,
            tree_bytes: tree_bytes.parse().ok()?,
            base_tree_bytes: base_tree_bytes.parse().ok()?,
        })),
        ["full", reason, untraced] => {
            Some(CaptureBegun::Full { reason: read_reason(reason)?, untraced: read_reason(untraced)? })
        }
        _ => None,
    }
}

/// Completes the inventory of a base, whose archive is stored. Prints `sealed <hash> <bytes of all files> <entries> <digest of
/// the listing>`, or `full <why not>`.
pub(crate) fn finish_inventory(dir: &Directory, snapshot_id: &SnapshotId) -> String {
    script(dir, &[("snapshot", snapshot_id.as_str())], include_str!("end.sh"))
}

/// Parses the output of [`finish_inventory`].
pub(crate) fn read_inventory(stdout: &str, snapshot_id: &SnapshotId) -> Option<Result<TracedBase, FullReason>> {
    match stdout.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["sealed", hash, tree_bytes, _entries, listing] => Some(Ok(traced(snapshot_id, hash, tree_bytes, listing)?)),
        ["full", reason] => read_reason(reason)?.map(Err),
        _ => None,
    }
}

/// Verifies that a carrier is as it was written, and deletes it. Prints `intact` or `changed`.
pub(crate) fn release_carrier(carrier: &Carrier) -> String {
    let variables = [("carrier", carrier.dir.as_str()), ("head", carrier.head.as_str())];
    script(&carrier.dir, &variables, include_str!("end-delta.sh"))
}

/// Parses the output of [`release_carrier`].
pub(crate) fn read_carrier_released(stdout: &str) -> Option<bool> {
    match stdout.trim() {
        "intact" => Some(true),
        "changed" => Some(false),
        _ => None,
    }
}

/// Deletes all files of the directory, in the container with the marker, before a base is unpacked into it. Deletes nothing of
/// a file system that is mounted there. Prints `done` or `other`.
pub(crate) fn clear_directory(dir: &Directory, marker: &ContainerMarker) -> String {
    format!(
        r#"{FILE_NAMES}{dir}
{READ_MARKER}{DETECT_MOUNT}if [ "$now" != {marker} ] || [ -n "$kind" ]; then echo other; exit; fi
if [ ! -d "$d" ] || find "$d" -xdev -mindepth 1 -delete; then echo "done"; fi"#,
        dir = dir_vars(dir),
        marker = shell_quote(&marker.to_string()),
    )
}

/// Writes the inventory of a restored base, applies a delta to it, and verifies the result. Prints `done <hash of the
/// inventory> <bytes of all files> <entries> <digest of the listing>`, `done none`, `other`, or `failed <why>`.
pub(crate) fn finish_restore(finish: &RestoreFinish, marker: &ContainerMarker) -> String {
    let RestoreFinish { dir, base_id, traced, mounted, carrier } = finish;
    let (carrier, head) = carrier.as_ref().map_or(("", ""), |(carrier, head)| (carrier.as_str(), head.as_str()));
    script(
        dir,
        &[
            ("marker_text", &marker.to_string()),
            ("snapshot", base_id.as_str()),
            ("traced", traced.as_deref().unwrap_or_default()),
            ("mounted", mounted.as_ref().map_or("", BackupId::as_str)),
            ("carrier", carrier),
            ("head", head),
        ],
        include_str!("apply.sh"),
    )
}

/// Parses the output of [`finish_restore`].
pub(crate) fn read_restore_finished(stdout: &str, base_id: &SnapshotId) -> Option<RestoreFinished> {
    Some(match stdout.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["done", "none", ..] => RestoreFinished::Complete(None),
        ["done", hash, tree_bytes, _entries, listing] => {
            RestoreFinished::Complete(Some(traced(base_id, hash, tree_bytes, listing)?))
        }
        ["other"] => RestoreFinished::OtherContainer,
        ["failed", why] => RestoreFinished::Failed(match *why {
            "carrier" => DeltaFailure::Carrier,
            "digest" => DeltaFailure::Digest,
            "tools" => DeltaFailure::Tools,
            _ => DeltaFailure::Failed,
        }),
        _ => return None,
    })
}

fn traced(snapshot_id: &SnapshotId, hash: &str, tree_bytes: &str, listing: &str) -> Option<TracedBase> {
    let (inventory, tree_bytes, listing) = (read_hash(hash)?, tree_bytes.parse().ok()?, read_hash(listing)?);
    Some(TracedBase { snapshot_id: snapshot_id.clone(), inventory, tree_bytes, listing, mounted: None })
}

fn read_hash(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
}

/// Returns the reason that a script prints; `Some(None)` for `none`.
#[allow(clippy::option_option)] // No reason, and an unreadable one, are different.
fn read_reason(text: &str) -> Option<Option<FullReason>> {
    if text == "none" { Some(None) } else { json::from_value(&text.into()).ok().map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn id() -> SnapshotId {
        SnapshotId::parse("snap-0123456789abcdef").unwrap()
    }

    fn begin() -> CaptureBegin {
        CaptureBegin { dir: Directory::parse("/workspace").unwrap(), snapshot_id: id(), base: None, min_base_bytes: 0 }
    }

    #[test]
    fn begun_capture_is_a_delta_or_has_reasons() {
        let read = |stdout: &str| read_capture_begun(stdout, &begin());
        let dir = Directory::parse("/var/tmp/.sandbox-snapshotter.delta.snap-0123456789abcdef").unwrap();
        let carrier = Carrier { dir, head: HASH.into(), bytes: 5, tree_bytes: 70, base_tree_bytes: 80 };
        assert_eq!(read(&format!("delta {HASH} 5 70 9 80\n")), Some(CaptureBegun::Delta(carrier)));
        let full = |reason, untraced| Some(CaptureBegun::Full { reason, untraced });
        assert_eq!(read("full none none\n"), full(None, None));
        assert_eq!(read("full fileSystem overlay\n"), full(Some(FullReason::FileSystem), Some(FullReason::Overlay)));
        for odd in [
            "",
            "delta x 5 70 9 80",
            &format!("delta {HASH} x 70 9 80"),
            &format!("delta {HASH} 5 70 9"),
            "full none",
            "full odd none",
        ] {
            assert_eq!(read(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn inventory_has_a_hash_and_a_size() {
        let (inventory, listing) = (HASH.into(), HASH.into());
        let base = TracedBase { snapshot_id: id(), inventory, tree_bytes: 70, listing, mounted: None };
        assert_eq!(read_inventory(&format!("sealed {HASH} 70 9 {HASH}\n"), &id()), Some(Ok(base.clone())));
        assert_eq!(read_inventory("full changing\n", &id()), Some(Err(FullReason::Changing)));
        let finished = |stdout: &str| read_restore_finished(stdout, &id());
        assert_eq!(finished(&format!("done {HASH} 70 9 {HASH}\n")), Some(RestoreFinished::Complete(Some(base))));
        assert_eq!(finished("done none \n"), Some(RestoreFinished::Complete(None)));
        assert_eq!(finished("other\n"), Some(RestoreFinished::OtherContainer));
        assert_eq!(finished("failed digest\n"), Some(RestoreFinished::Failed(DeltaFailure::Digest)));
        for odd in ["", "sealed x 70 9", "full none", "done", "done x 70 9"] {
            assert_eq!((read_inventory(odd, &id()), finished(odd)), (None, None), "{odd:?}");
        }
    }

    #[test]
    fn script_quotes_each_variable() {
        let dir = Directory::parse("/workspace/it's $(here)").unwrap();
        let text = begin_capture(&CaptureBegin { dir, ..begin() });
        assert!(text.contains(r"d='/workspace/it'\''s $(here)'") && text.contains(r"lstat(") && text.contains("full "));
    }
}
