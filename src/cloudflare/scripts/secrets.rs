//! The search for files with secrets: by their names, and by patterns in the content of small text files.

use base64ct::{Base64, Encoding};
use snapshot_archive::secrets::{NAMES, PATHS, PUBLIC_NAMES};

use super::{CREATE_WATCH_FILE, FILE_NAMES, file_walk, shell_quote};
use crate::model::Failure;
use crate::model::secret_search::{FoundSecrets, SecretSearch};

/// The size of the smallest file whose content is not searched, in bytes.
const TOO_LARGE: u64 = (1 << 20) + 1;

/// The patterns in the content of files with secrets, as extended regular expressions.
const PATTERNS: &[&str] = &[
    // Private keys.
    "-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----",
    // AWS.
    "(^|[^A-Za-z0-9])(AKIA|ASIA)[A-Z0-9]{16}([^A-Za-z0-9]|$)",
    "aws_secret_access_key[\"']?[[:space:]]*[:=][[:space:]]*[\"']?[A-Za-z0-9/+]{40}",
    // Google.
    "(^|[^A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}",
    "GOCSPX-[A-Za-z0-9_-]{28}",
    // GitHub and GitLab.
    "gh[opsur]_[A-Za-z0-9]{36}",
    "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    "(^|[^A-Za-z0-9_-])gl(pat|dt|ptt|soat|rt)-[A-Za-z0-9_-]{20}",
    // Slack.
    "xox[abeoprs]-[A-Za-z0-9-]{10}",
    "hooks\\.slack\\.com/services/T[A-Z0-9]{8}",
    // OpenAI and Anthropic.
    "sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    "sk-(proj|svcacct|admin)-[A-Za-z0-9_-]{20}",
    "sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{20}",
    // Stripe.
    "(^|[^A-Za-z0-9])[rs]k_live_[A-Za-z0-9]{20}",
    // Cloudflare.
    "v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}",
    "(CLOUDFLARE|CF)_API_(TOKEN|KEY)[\"']?[[:space:]]*[:=][[:space:]]*[\"']?[A-Za-z0-9_-]{37}",
    // npm and PyPI.
    "npm_[A-Za-z0-9]{36}",
    "pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50}",
];

/// Searches a directory.
pub(in crate::cloudflare) fn find_secrets(search: &SecretSearch) -> String {
    let any = |test: &str, patterns: &[&str]| {
        let tests: Vec<String> = patterns.iter().map(|pattern| format!("{test} {}", shell_quote(pattern))).collect();
        tests.join(" -o ")
    };
    let paths: Vec<String> = PATHS.iter().map(|path| format!("*/{path}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    format!(
        "{FILE_NAMES}d={dir}\ncd -- \"$d\" 2>/dev/null || {{ printf 'secrets 0 1\\n\\nend\\n'; exit; }}\n\
         {CREATE_WATCH_FILE}{omit}names=('(' '(' {names} ')' ! '(' {public} ')' -o {paths} ')')\n\
         patterns={patterns}\n\
         ignored={ignored} namesakes={namesakes} small=-{TOO_LARGE}c most={most}\n{script}",
        dir = shell_quote(search.dir.as_str()),
        omit = file_walk::define_omit(&search.omitted),
        names = any("-name", NAMES),
        public = any("-name", PUBLIC_NAMES),
        paths = any("-path", &paths),
        patterns = shell_quote(&PATTERNS.join("\n")),
        ignored = flag(search.omitted.ignored),
        namesakes = flag(search.lists_namesakes),
        most = FoundSecrets::MAX_LIST_BYTES,
        script = include_str!("secrets.sh"),
    )
}

const fn flag(is_set: bool) -> &'static str {
    if is_set { "1" } else { "" }
}

/// Parses the output of [`find_secrets`]; `None` if it is malformed.
///
/// # Errors
/// If a program failed.
pub(crate) fn read_secrets(stdout: &str) -> Result<Option<FoundSecrets>, Failure> {
    match stdout.strip_prefix("failed ") {
        Some(why) => {
            Err(Failure::new("CommandError", &format!("The search for files with secrets failed: {}", why.trim())))
        }
        None => Ok(read_found(stdout)),
    }
}

fn read_found(stdout: &str) -> Option<FoundSecrets> {
    let mut lines = stdout.lines();
    let mut words = lines.next()?.strip_prefix("secrets ")?.split(' ');
    let (count, is_complete) = (words.next()?.parse().ok()?, words.next()? == "1");
    let list = Base64::decode_vec(lines.next()?).ok()?;
    if lines.next()? != "end" {
        return None;
    }
    let mut found = FoundSecrets { count, is_complete, ..FoundSecrets::default() };
    let mut records: Vec<&[u8]> = list.split(|byte| *byte == 0).collect();
    // What follows the last null byte is empty, or an incomplete record.
    records.pop();
    for record in records {
        let (kind, path) = record.split_first()?;
        let path = path.strip_prefix(b"./")?.to_vec();
        match kind {
            b'f' => found.files.push(path),
            b'l' => found.links.push(path),
            b'o' => found.others.push(path),
            _ => return None,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests;
