//! The names by which files with secrets are recognized.
//!
//! The name of such a file matches one of [`NAMES`] and none of [`PUBLIC_NAMES`], or its path ends in one of [`PATHS`]. In a
//! pattern, `*` is any text without a slash. `docs/secrets.md` lists all of them.

/// The patterns of the names of files that usually contain secrets.
pub const NAMES: &[&str] = &[
    ".env",
    ".env.*",
    ".dev.vars",
    ".dev.vars.*",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".htpasswd",
    ".vault-token",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "*.pem",
    "*.key",
    "*.ppk",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "service-account*.json",
    "service_account*.json",
    "client_secret*.json",
    "*.tfstate",
    "*.tfvars",
];

/// The patterns of the names among them that usually contain none: templates, and certificates.
pub const PUBLIC_NAMES: &[&str] = &[
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env.defaults",
    ".dev.vars.example",
    "*.pub.pem",
    "ca.pem",
    "cacert.pem",
    "ca-bundle.pem",
    "cert.pem",
    "chain.pem",
    "fullchain.pem",
];

/// The ends of paths whose name alone says nothing.
pub const PATHS: &[&str] = &[
    ".aws/credentials",
    ".azure/accessTokens.json",
    ".azure/msal_token_cache.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".config/gcloud/application_default_credentials.json",
    ".config/gcloud/credentials.db",
    ".docker/config.json",
    ".gem/credentials",
    ".kube/config",
];

/// Returns whether a regular file at a path, relative to the directory of a snapshot, usually contains secrets.
pub fn is_named_like_secret(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let is_one_of = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern.as_bytes(), name));
    (is_one_of(NAMES) && !is_one_of(PUBLIC_NAMES)) || PATHS.iter().any(|end| ends_in(path, end.as_bytes()))
}

/// Returns whether a path is `end`, or ends in a slash and `end`.
fn ends_in(path: &[u8], end: &[u8]) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
}

/// Returns whether a name matches a pattern with at most one `*`.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.iter().position(|byte| *byte == b'*') {
        None => pattern == name,
        Some(at) => {
            let (before, after) = (pattern.get(..at).unwrap_or_default(), pattern.get(at + 1..).unwrap_or_default());
            name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_secrets_are_recognized_by_name() {
        for path in [
            ".env",
            "app/.env.production",
            "keys/server.key",
            "a/id_ed25519",
            "service-account-7.json",
            ".aws/credentials",
            "home/.aws/credentials",
            "tls/private.pem",
        ] {
            assert!(is_named_like_secret(path.as_bytes()), "{path}");
        }
        assert!(is_named_like_secret(b"\xff/.env"));
    }

    #[test]
    fn other_files_are_not() {
        for path in [
            "env",
            ".envrc.md",
            ".env.example",
            "app/.env.sample",
            "id_ed25519.pub",
            "credentials",
            "x.aws/credentials",
            "certifi/cacert.pem",
            "server.key.md",
            ".env/bin/python",
            "",
        ] {
            assert!(!is_named_like_secret(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn each_pattern_has_at_most_one_star() {
        for pattern in NAMES.iter().chain(PUBLIC_NAMES) {
            assert!(pattern.matches('*').count() <= 1 && !pattern.contains(['/', '?', '[', '\\', '\'']), "{pattern}");
        }
    }
}
