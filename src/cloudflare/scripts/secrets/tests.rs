//! Runs the search with bash, in directories of this machine.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::super::file_call::tests::Place;
use super::*;
use crate::model::Directory;
use crate::model::file_call::Omitted;

const KEY: &str = "x\n-----BEGIN RSA PRIVATE KEY-----\n";

/// The check of `find`, which that of busybox does not pass.
const WITHOUT_PRINTF: (&str, &str) = ("find . -maxdepth 0 -printf", "false");

/// What reads the content of files, and what takes them all for files with secrets.
const LISTS_WHAT_IT_READS: (&str, &str) = ("xargs -0 -r grep -lIZE -D skip -d skip -f \"$t.patterns\" --", "cat --");

impl Place {
    fn search(&self, omitted: Omitted) -> Result<FoundSecrets, Failure> {
        self.search_with(omitted, ("", ""))
    }

    /// Searches with another text replaced, too.
    fn search_with(&self, omitted: Omitted, (from, to): (&str, &str)) -> Result<FoundSecrets, Failure> {
        let dir = Directory::parse(self.at("").to_str().unwrap()).unwrap();
        let script = find_secrets(&SecretSearch { dir, omitted, lists_namesakes: true });
        let mut script = script.replace("run=/run/", &format!("run={}/", self.dir.path().display()));
        for (from, to) in self.replaced.into_iter().chain((!from.is_empty()).then_some((from, to))) {
            assert!(script.contains(from), "{from}");
            script = script.replace(from, to);
        }
        let output = Command::new("bash").args(["-c", "--", &script]).current_dir("/").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        read_secrets(str::from_utf8(&output.stdout).unwrap()).map(|found| found.unwrap_or_else(|| panic!("{output:?}")))
    }

    fn found(&self) -> FoundSecrets {
        self.search(Omitted::default()).unwrap()
    }

    fn put(&self, path: impl AsRef<[u8]>, content: &str) {
        let path = self.at(OsStr::from_bytes(path.as_ref()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Returns paths as text.
fn texts(paths: &[Vec<u8>]) -> Vec<String> {
    paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

fn find_of_gnu_and_of_busybox() -> [Place; 2] {
    [Place::new(), Place::new().with_replaced(Some(WITHOUT_PRINTF))]
}

#[test]
fn files_are_found_by_name_and_by_content() {
    for place in find_of_gnu_and_of_busybox() {
        for path in [".env", "app/.env.local", "-n.pem", "it's $(x)/.aws/credentials", "id_ed25519"] {
            place.put(path, "x");
        }
        for path in ["src/config.js", "-", "*"] {
            place.put(path, KEY);
        }
        for path in [".env.example", "id_ed25519.pub", "credentials", "certs/cacert.pem"] {
            place.put(path, "x");
        }
        place.put("large", &format!("{KEY}{}", "x".repeat(1 << 20)));
        fs::create_dir(place.at("dir.key")).unwrap();
        assert!(Command::new("mkfifo").arg(place.at("fifo")).status().unwrap().success());
        let found = place.found();
        let mut files = texts(&found.files);
        files.sort();
        let expected =
            ["*", "-", "-n.pem", ".env", "app/.env.local", "id_ed25519", "it's $(x)/.aws/credentials", "src/config.js"];
        assert_eq!((files, found.count, found.is_complete), (expected.map(str::to_owned).to_vec(), 8, true));
        assert_eq!(place.found(), found);
    }
}

#[test]
fn names_may_have_any_bytes() {
    let place = Place::new();
    place.put(b"line\nbreak/.env", "x");
    place.put(b"\xff\n", KEY);
    assert_eq!(place.found().files, [&b"line\nbreak/.env"[..], b"\xff\n"]);
    let place = place.with_replaced(Some(WITHOUT_PRINTF));
    assert!(place.search(Omitted::default()).unwrap_err().message.contains("a name has a line break"));
}

#[test]
fn every_pattern_finds_its_secret() {
    let letters = "a".repeat(200);
    let (upper, hex) = (letters.to_uppercase(), "0".repeat(200));
    for secret in [
        "-----BEGIN OPENSSH PRIVATE KEY-----".to_owned(),
        "-----BEGIN PRIVATE KEY-----".to_owned(),
        format!("key=AKIA{}", &upper[..16]),
        format!("\"aws_secret_access_key\": \"{}\"", &letters[..40]),
        format!("AIza{}", &letters[..35]),
        format!("GOCSPX-{}", &letters[..28]),
        format!("ghp_{}", &letters[..36]),
        format!("github_pat_{}_{}", &letters[..22], &letters[..59]),
        format!("glpat-{}", &letters[..20]),
        format!("xoxb-{}", &hex[..12]),
        format!("https://hooks.slack.com/services/T{}", &upper[..8]),
        format!("sk-{}T3BlbkFJ{}", &letters[..20], &letters[..20]),
        format!("sk-proj-{}", &letters[..20]),
        format!("sk-ant-api03-{}", &letters[..20]),
        format!("sk_live_{}", &letters[..20]),
        format!("v1.0-{}-{}", &hex[..24], &hex[..146]),
        format!("CLOUDFLARE_API_TOKEN={}", &letters[..40]),
        format!("npm_{}", &letters[..36]),
        format!("pypi-AgEIcHlwaS5vcmc{}", &letters[..50]),
    ] {
        let place = Place::new();
        place.put("file", &format!("first\n{secret}\n"));
        assert_eq!(texts(&place.found().files), ["file"], "{secret}");
    }
}

#[test]
fn ordinary_files_have_no_secrets() {
    let place = Place::new();
    place.put("a.md", "Set AKIA and sk-ant-, or -----BEGIN CERTIFICATE-----.\nsk_live_ and ghp_ begin tokens.\n");
    place.put("binary", "\0\n-----BEGIN PRIVATE KEY-----\n");
    assert_eq!(place.found(), FoundSecrets { is_complete: true, ..FoundSecrets::default() });
}

#[test]
fn unchanged_files_without_secrets_are_not_read_again() {
    let place = Place::new();
    place.put("config", KEY);
    place.put("clean", "x");
    assert_eq!(texts(&place.found().files), ["config"]);
    place.put("new", "x");
    assert_eq!(texts(&place.with_replaced(Some(LISTS_WHAT_IT_READS)).found().files), ["config", "new"]);
}

#[test]
fn changed_and_moved_files_are_read_again() {
    let outside = Place::new();
    outside.put("moved/config", KEY);
    let place = Place::new();
    place.put("a", "clean");
    place.put("b", KEY);
    assert_eq!(texts(&place.found().files), ["b"]);
    assert_eq!(texts(&place.found().files), ["b"], "an unchanged file with a secret is found again");
    place.put("a", KEY);
    place.put("b", "clean");
    fs::rename(outside.at("moved"), place.at("moved")).unwrap();
    assert_eq!(texts(&place.found().files), ["a", "moved/config"]);
}

#[test]
fn what_the_archive_leaves_out_is_not_searched() {
    for place in find_of_gnu_and_of_busybox() {
        place.put("node_modules/a/test.pem", KEY);
        place.put("sub/.env", "x");
        let omitted = |pattern: &str| Omitted { excludes: vec![pattern.to_owned()], ignored: false };
        assert_eq!(texts(&place.search(omitted("node_modules")).unwrap().files), ["sub/.env"]);
        assert_eq!(texts(&place.search(omitted(".env")).unwrap().files), ["node_modules/a/test.pem"]);
        place.put("ignored.js", KEY);
        assert!(Command::new("git").args(["init", "-q"]).current_dir(place.at("")).status().unwrap().success());
        place.put(".gitignore", "node_modules\n*.js\n");
        let ignored = Omitted { excludes: Vec::new(), ignored: true };
        assert_eq!(texts(&place.search(ignored).unwrap().files), ["sub/.env"]);
    }
}

#[test]
fn namesakes_are_listed() {
    for place in find_of_gnu_and_of_busybox() {
        place.put("a/config.json", KEY);
        place.put("b/config.json", "{}");
        place.put(".env", "x");
        fs::create_dir_all(place.at("venv/.env/bin")).unwrap();
        symlink("../.env", place.at("a/.env")).unwrap();
        let found = place.found();
        let mut others = texts(&found.others);
        others.sort();
        assert_eq!((texts(&found.files).len(), texts(&found.links)), (2, vec!["a/.env".to_owned()]));
        assert_eq!(others, ["b/config.json", "venv/.env"]);
    }
}

#[test]
fn long_list_is_cut() {
    let place = Place::new();
    for number in 0..1000 {
        place.put(format!("{}/{number}.pem", "d".repeat(100)), "");
    }
    let found = place.found();
    assert_eq!((found.count, found.is_complete), (1000, false));
    assert!(found.files.len() > 500 && found.files.len() < 1000);
    assert!(found.exclusions(true).is_err());
}

#[test]
fn nothing_is_found_in_a_missing_directory() {
    let place = Place::new();
    fs::remove_dir_all(place.at("")).unwrap();
    assert_eq!(place.found(), FoundSecrets { is_complete: true, ..FoundSecrets::default() });
    let ignored = Omitted { excludes: Vec::new(), ignored: true };
    assert_eq!(place.search(ignored).unwrap().count, 0);
    let left: Vec<_> = fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["secret"], "the search leaves no files of its own");
}

#[test]
fn search_fails_where_a_list_has_no_space() {
    let lists: [(_, &[&str]); 2] = [
        (None, &["patterns", "all", "now", "fresh", "todo", "hits", "list", "out"]),
        (Some(WITHOUT_PRINTF), &["patterns", "all", "list", "out"]),
    ];
    for (replaced, lists) in lists {
        for list in lists {
            let place = Place::new().with_replaced(replaced);
            place.put(".env", "x");
            place.put("a/config", KEY);
            place.put("b/config", "x");
            let full = (&*format!(">\"$t.{list}\""), ">/dev/full");
            let failure = place.search_with(Omitted::default(), full).unwrap_err();
            assert!(failure.message.contains("No space left on device"), "{list}: {}", failure.message);
            assert_eq!(place.found().count, 2, "the next search is complete: {list}");
        }
    }
}

#[test]
fn search_is_complete_where_there_is_no_space_for_later_ones() {
    let place = Place::new();
    place.put("config", KEY);
    let found = place.search_with(Omitted::default(), (">\"$t.next\"", ">/dev/full")).unwrap();
    assert_eq!(texts(&found.files), ["config"]);
    assert_eq!(place.found(), found);
}

#[test]
fn odd_output_is_not_read() {
    for odd in ["", "secrets 1 1\n", "secrets x 1\n\nend\n", "secrets 0 1\n\n"] {
        assert!(read_secrets(odd).unwrap().is_none(), "{odd}");
    }
    assert!(read_secrets("failed find: no\n").unwrap_err().message.ends_with("failed: find: no"));
}
