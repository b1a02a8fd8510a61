//! Numbers of objects in texts.

/// Returns a number with its noun: `1 file`, `2 files`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use crate::model::{Error, SandboxId, SnapshotId};

    #[test]
    fn a_single_file_is_in_the_singular() {
        let (sandbox, snapshot) = (SandboxId::parse("a").unwrap(), SnapshotId::parse("snap-9rbk8d2dduhnwf6u").unwrap());
        let paths = ["x.pem".to_owned()];
        let found = |count| Error::secrets_found(&sandbox, count, &paths).message().to_owned();
        assert!(found(1).starts_with("1 file in the sandbox \"a\" seems to contain secrets: "), "{}", found(1));
        assert!(found(2).starts_with("2 files in the sandbox \"a\" seem to contain secrets: "), "{}", found(2));
        let exported = |count| Error::secrets_in_export(&snapshot, count, &paths).message().to_owned();
        assert!(
            exported(1).contains("1 file in the snapshot snap-9rbk8d2dduhnwf6u is named like a file with"),
            "{}",
            exported(1)
        );
        assert!(exported(2).contains("2 files in the snapshot snap-9rbk8d2dduhnwf6u are named like files with"));
    }

    #[test]
    fn a_refused_exclusion_names_no_runtime() {
        for error in [Error::excludes_with_slash("\"a/b\""), Error::ignored_names_kept("/workspace", "\"a/b\"")] {
            assert!(
                error.message().contains("excludes names, at any depth: \"a/b\"") && !error.message().contains("SDK")
            );
        }
    }

    #[test]
    fn a_conflict_of_a_key_names_no_kind_of_target() {
        assert_eq!(
            Error::idempotency_conflict("k").message(),
            "The idempotency key \"k\" was used for a different call."
        );
    }
}
