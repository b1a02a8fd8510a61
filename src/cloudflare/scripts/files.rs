//! The files of a container: what its image brings, what some of them hold, and whether any was changed.

use std::collections::BTreeMap;

use super::{LOOK, MOUNT, NAMES, at, quoted};
use crate::model::Directory;
use crate::model::named::standing::{Survey, UNKNOWN_LISTING};

/// The length of a SHA-256 in hexadecimal.
const SHA256: usize = 64;

/// How much is kept of what an image says it is, in characters: its version is whatever the container's environment says.
const MAX_IMAGE: usize = 100;

/// How long a walk through all files may take, in seconds.
const WALK_SECONDS: u32 = 20;

/// Prints lines of `image <version> <hash>`, `listing <hash>` and `end`. A hash of nothing is `none`; of what could not be
/// listed in time, `unknown`. The listing has names, sizes and times, and no content: it tells what an image brings from what
/// came later, and must not cost more where files are large.
pub(in crate::cloudflare) fn survey(dir: &Directory) -> String {
    format!(
        r#"{dir}; version=${{SANDBOX_VERSION//[![:graph:]]/}}
sum() {{ sum=$(sha256sum); sum=${{sum%% *}}; }}
sum < <(cat /etc/os-release /var/lib/dpkg/status /lib/apk/db/installed 2>/dev/null)
echo "image ${{version:-unknown}} ${{sum:0:16}}"
mkdir -p -- "$d" 2>/dev/null
{MOUNT}sum=none; if [ -n "$kind" ]; then sum=unknown; elif [ -d "$d" ] && cd -- "$d" && [ -z "$(find . -maxdepth 0 -empty)" ]; then
  sum=$(timeout {WALK_SECONDS} find . ! -path . -exec stat -c '%n %f %s %Y' -- {{}} + 2>/dev/null | LC_ALL=C sort | sha256sum
    [ "${{PIPESTATUS[0]}}" -lt 124 ] || echo unknown)
  case $sum in *unknown) sum=unknown ;; *) sum=${{sum%% *}} ;; esac
fi
echo "listing $sum"; echo end"#,
        dir = at(dir),
    )
}

/// Reads what [`survey`] prints.
pub(crate) fn read_survey(stdout: &str) -> Option<Survey> {
    let lines: Vec<&str> = stdout.lines().collect();
    let [image, listing, "end"] = lines.as_slice() else { return None };
    let listing = match listing.strip_prefix("listing ")? {
        "unknown" => Some(UNKNOWN_LISTING.to_owned()),
        hash => Some(read_hash(hash)?).filter(|hash| !hash.is_empty()),
    };
    let image = image.strip_prefix("image ")?.chars().take(MAX_IMAGE).collect();
    Some(Survey { image, listing })
}

/// Prints the hashes of the files in their order, a line each, and `end`. That of no file is `none`.
pub(in crate::cloudflare) fn hashes(dir: &Directory, files: &[String]) -> String {
    let path = |file: &String| {
        let parent = if file.starts_with('/') { "" } else { "\"$d\"/" };
        format!("file {parent}{}\n", quoted(file))
    };
    let files: Vec<String> = files.iter().map(path).collect();
    format!(
        r#"d={dir}
file() {{ sum=; if [ -f "$1" ]; then sum=$(sha256sum <"$1"); sum=${{sum%% *}}; fi; echo "${{sum:-none}}"; }}
{files}echo end"#,
        dir = quoted(dir.as_str()),
        files = files.concat(),
    )
}

/// Reads what [`hashes`] prints.
pub(crate) fn read_hashes(stdout: &str, files: &[String]) -> Option<BTreeMap<String, String>> {
    let mut lines = stdout.lines();
    let hash_of = |file: &String| Some((file.clone(), read_hash(lines.next()?)?));
    let hashes = files.iter().map(hash_of).collect::<Option<_>>()?;
    (lines.next()? == "end").then_some(hashes)
}

/// A hash; empty for `none`.
fn read_hash(text: &str) -> Option<String> {
    let is_hash = text.len() == SHA256 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text == "none" { Some(String::new()) } else { is_hash.then(|| text.to_owned()) }
}

/// Notes that changes count from now on, and prints `still`.
pub(in crate::cloudflare) fn watch() -> String {
    format!(r#"{NAMES}{LOOK}mv -f "$new" "$looked" && echo still"#)
}

/// Prints `stirred` when anything in the directory is newer than the last look, and else `still`. What can't be told in time
/// counts as stirred.
///
/// It goes by the time of the status where it can: files that are unpacked or moved bring that of their content with them.
/// Busybox can't, and knows whole seconds only. There, what is as old as the last look counts as newer. Of an overlay, the upper
/// directory has all that was changed since the backup was restored.
pub(in crate::cloudflare) fn stirred(dir: &Directory) -> String {
    format!(
        r#"{NAMES}{dir}
{MOUNT}{LOOK}found=; if [ ! -e "$looked" ]; then found=$looked
elif [ -d "$d" ] && cd -- "${{upper:-$d}}"; then
  since=-cnewer; if ! find "$looked" -cnewer "$looked" >/dev/null 2>&1; then
    since=-newer; touch -d "@$(($(stat -c %Y "$looked") - 1))" "$looked"
  fi
  found=$({{ timeout {WALK_SECONDS} find . "$since" "$looked" 2>/dev/null; [ $? -lt 124 ] || echo unknown; }} | head -n 1)
fi
mv -f "$new" "$looked" && if [ -n "$found" ]; then echo stirred; else echo still; fi"#,
        dir = at(dir)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_tells_what_the_image_and_the_directory_are() {
        let hash = "1".repeat(SHA256);
        let survey = |listing| Some(Survey { image: "0.12.10 0123456789abcdef".into(), listing });
        let stdout = |listing: &str| format!("image 0.12.10 0123456789abcdef\nlisting {listing}\nend\n");
        assert_eq!(read_survey(&stdout("none")), survey(None));
        assert_eq!(read_survey(&stdout(&hash)), survey(Some(hash.clone())));
        for odd in ["", "listing none\nend\n", "image a b\nlisting none\n", &stdout("1"), &stdout("")] {
            assert_eq!(read_survey(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_image_that_says_much_of_itself_is_told_by_the_beginning_of_that() {
        let survey = read_survey(&format!("image {} 0123456789abcdef\nlisting none\nend\n", "x".repeat(60_000)));
        assert_eq!(survey, Some(Survey { image: "x".repeat(MAX_IMAGE), listing: None }));
    }

    #[test]
    fn hashes_are_told_by_the_order_of_files() {
        let hash = "2".repeat(SHA256);
        let files = ["b".to_owned(), "a\"'".to_owned()];
        let expected = BTreeMap::from([("b".to_owned(), String::new()), ("a\"'".to_owned(), hash.clone())]);
        assert_eq!(read_hashes(&format!("none\n{hash}\nend\n"), &files), Some(expected));
        for odd in ["", "none\n", "none\nnone\n", "none\nend\n", "none\n2\nend\n", "none\nnone\nnone\nend\n"] {
            assert_eq!(read_hashes(odd, &files), None, "{odd}");
        }
    }
}
