//! Calls into the container of a sandbox: its settings, its files, and hooks.

use std::collections::BTreeMap;

use sandbox_snapshotter::model::exclude::{IgnoredNames, MAX_QUOTED};
use sandbox_snapshotter::model::file_call::Omitted;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::binding::DirectoryListing;
use sandbox_snapshotter::model::named::settings::{Hook, OnFailure};
use sandbox_snapshotter::model::secret_search::SecretSearch;
use sandbox_snapshotter::model::{Directory, DirectoryContent, SandboxId, Status};
use sandbox_snapshotter::ports::Sandboxes;

use super::Case;
use super::markers::put_first_marker;
use super::sandboxes::{probe, status_of};
use super::world::{World, work_dir};

/// SHA-256 of `content`.
pub(super) const CONTENT_SHA256: &str = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async set_idle_timeout_starts_nothing),
        case!(async set_env_starts_nothing),
        case!(async listing_of_an_empty_or_missing_directory_is_empty),
        case!(async listing_creates_a_missing_directory),
        case!(async listing_hashes_the_content_of_the_directory),
        case!(async file_hashes_are_those_of_the_content),
        case!(async paths_without_a_file_have_empty_hashes),
        case!(async files_with_odd_names_have_hashes),
        case!(async directory_without_a_repository_has_no_ignored_names),
        case!(async names_of_ignored_paths_are_listed),
        case!(async kept_paths_are_limited_to_one_more_than_are_quoted),
        case!(async files_with_secrets_are_found),
        case!(async hook_returns_its_exit_code),
        case!(async hook_runs_only_in_the_container_with_the_marker),
    ]
}

async fn set_idle_timeout_starts_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    for seconds in [Some(600), Some(600), None, Some(3600)] {
        world.sandboxes().set_idle_timeout(&id, seconds).await.unwrap();
        assert_eq!(status_of(world, &id).await.status, Status::Down);
    }
}

async fn set_env_starts_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    for value in [Some("1"), Some("it's \"2\"\n"), Some(""), None] {
        let env = BTreeMap::from([("NAME".to_owned(), value.map(str::to_owned))]);
        world.sandboxes().set_env(&id, &env).await.unwrap();
        world.sandboxes().set_env(&id, &BTreeMap::new()).await.unwrap();
        assert_eq!(status_of(world, &id).await.status, Status::Down);
    }
}

async fn listing_of_an_empty_or_missing_directory_is_empty(world: &impl World) {
    let (id, other) = (world.sandbox("agent"), world.sandbox("other"));
    let first = list_directory(world, &id, "/workspace").await;
    assert_eq!(first.content_hash, None);
    assert_eq!(status_of(world, &id).await.status, Status::Healthy, "the call starts the container");
    assert!(first.image.contains("0.12.10 "), "{first:?}");
    assert_eq!(list_directory(world, &id, "/workspace/nothing").await, first);
    assert_eq!(list_directory(world, &other, "/home").await, first, "the image is the same");
    world.write_file(&id, "/workspace/file", "content").await;
    assert_eq!(list_directory(world, &id, "/workspace/file").await, first, "a file is not a directory");
}

async fn listing_creates_a_missing_directory(world: &impl World) {
    let id = world.sandbox("agent");
    let dir = Directory::parse("/home/agent/it's here").unwrap();
    assert_eq!(world.sandboxes().probe(&id, &dir).await.unwrap().directory_content, DirectoryContent::Missing);
    world.sandboxes().list_directory(&id, &dir).await.unwrap();
    assert_eq!(world.sandboxes().probe(&id, &dir).await.unwrap().directory_content, DirectoryContent::Empty);
}

async fn listing_hashes_the_content_of_the_directory(world: &impl World) {
    let id = world.sandbox("agent");
    for (path, content) in [("/workspace/b", "2"), ("/workspace/it's\n\"odd\" $x", ""), ("/workspace/-n", "3")] {
        world.write_file(&id, path, content).await;
    }
    let first = list_directory(world, &id, "/workspace").await;
    assert!(is_hash(first.content_hash.as_ref().unwrap()), "{first:?}");
    assert_eq!(list_directory(world, &id, "/workspace").await, first);
    world.write_file(&id, "/home/outside", "4").await;
    assert_eq!(list_directory(world, &id, "/workspace").await, first, "files outside of the directory do not count");
    world.write_file(&id, "/workspace/b", "longer").await;
    let changed = list_directory(world, &id, "/workspace").await;
    assert_ne!(changed.content_hash, first.content_hash);
    world.write_file(&id, "/workspace/c", "2").await;
    assert_ne!(list_directory(world, &id, "/workspace").await.content_hash, changed.content_hash);
}

async fn file_hashes_are_those_of_the_content(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    world.write_file(&id, "/workspace/empty", "").await;
    world.write_file(&id, "/home/file", "content").await;
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(
        hashes(world, &id, &["file", "empty", "/home/file", "/workspace/file", "file"]).await,
        [
            ("/home/file", CONTENT_SHA256),
            ("/workspace/file", CONTENT_SHA256),
            ("empty", empty),
            ("file", CONTENT_SHA256)
        ]
        .map(|(path, hash)| (path.to_owned(), hash.to_owned()))
    );
    assert_eq!(hashes(world, &id, &[]).await, []);
}

async fn paths_without_a_file_have_empty_hashes(world: &impl World) {
    let id = world.sandbox("agent");
    let files = ["/workspace", "/workspace/none/file", "link", "none"];
    assert!(hashes(world, &id, &files).await.into_iter().all(|(_, hash)| hash.is_empty()));
    assert_eq!(status_of(world, &id).await.status, Status::Healthy, "the call starts the container");
    world.create_symlink(&id, "/workspace/link").await;
    assert_eq!(hashes(world, &id, &files).await, files.map(|file| (file.to_owned(), String::new())));
}

async fn files_with_odd_names_have_hashes(world: &impl World) {
    let id = world.sandbox("agent");
    let names = ["it's", "\"quoted\" $(here) `x`", "-n", " ", "a\\nb", "a\nb", "*", "文件 🗂", "none", "~"];
    for name in names {
        world.write_file(&id, &format!("/workspace/{name}"), "content").await;
    }
    let absolute = names.map(|name| format!("/workspace/{name}"));
    let files: Vec<&str> = names.into_iter().chain(absolute.iter().map(String::as_str)).collect();
    let hashes = hashes(world, &id, &files).await;
    assert_eq!(hashes.len(), files.len());
    assert!(hashes.iter().all(|(_, hash)| hash == CONTENT_SHA256), "{hashes:?}");
}

async fn directory_without_a_repository_has_no_ignored_names(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/build/out", "1").await;
    assert_eq!(world.sandboxes().ignored_names(&id, &work_dir()).await, Ok(IgnoredNames::default()));
    let missing = Directory::parse("/workspace/missing").unwrap();
    assert_eq!(world.sandboxes().ignored_names(&id, &missing).await, Ok(IgnoredNames::default()));
}

async fn names_of_ignored_paths_are_listed(world: &impl World) {
    let id = world.sandbox("agent");
    for path in ["top", "kept/file", "kept/old", "build/out", "build/deep/x", "a/build/1", "src/lib/old"] {
        world.write_file(&id, &format!("/workspace/{path}"), "1").await;
    }
    let list = async || {
        let ignored = world.sandboxes().ignored_names(&id, &work_dir()).await.unwrap();
        let sorted = |mut texts: Vec<String>| {
            texts.sort();
            texts
        };
        (sorted(ignored.names), sorted(ignored.kept))
    };
    world.git_ignore(&id, &["top", "build", "a/build"]).await;
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(list().await, (names(&["build", "top"]), Vec::new()));
    world.git_ignore(&id, &["top", "build", "a/build", "src/lib/old"]).await;
    assert_eq!(list().await, (names(&["build", "old", "top"]), names(&["kept/old"])));
}

async fn kept_paths_are_limited_to_one_more_than_are_quoted(world: &impl World) {
    let id = world.sandbox("agent");
    for n in 0..MAX_QUOTED + 5 {
        world.write_file(&id, &format!("/workspace/{n}/build"), "1").await;
    }
    world.git_ignore(&id, &["0/build"]).await;
    assert_eq!(world.sandboxes().ignored_names(&id, &work_dir()).await.unwrap().kept.len(), MAX_QUOTED + 1);
}

async fn files_with_secrets_are_found(world: &impl World) {
    let id = world.sandbox("agent");
    let key = "-----BEGIN PRIVATE KEY-----";
    let files = [("kept", "1"), (".env", "1"), ("src/config", key), ("test/config", "1"), ("node_modules/a.pem", key)];
    for (path, content) in files {
        world.write_file(&id, &format!("/workspace/{path}"), content).await;
    }
    let omitted = Omitted { excludes: vec!["node_modules".into()], ignored: false };
    let mut search = SecretSearch { dir: work_dir(), omitted, lists_namesakes: true };
    let found = world.sandboxes().find_secrets(&id, &search, None).await.unwrap();
    let bytes = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>();
    assert_eq!((found.count, found.is_complete), (2, true));
    assert_eq!(found.files, bytes(&[".env", "src/config"]));
    assert_eq!((found.links, found.others), (Vec::new(), bytes(&["test/config"])));
    search.lists_namesakes = false;
    assert_eq!(world.sandboxes().find_secrets(&id, &search, None).await.unwrap().others, bytes(&[]));
    search.dir = Directory::parse("/workspace/missing").unwrap();
    assert_eq!(world.sandboxes().find_secrets(&id, &search, None).await.unwrap().count, 0);
}

async fn hook_returns_its_exit_code(world: &impl World) {
    let id = world.sandbox("agent");
    let marker = put_first_marker(world, &id).await;
    for (name, code) in [("afterStart", 0), ("beforeStop", 3), ("onTimeout", 124), ("it's", 137)] {
        let hook = hook(&format!("exit {code}"), 60);
        let run = world
            .sandboxes()
            .run_hook(&id, &marker, &work_dir(), name, &hook, &BTreeMap::new())
            .await
            .unwrap()
            .unwrap();
        let expected = HookRun {
            hook: name.into(),
            ok: code == 0,
            exit_code: Some(code),
            timed_out: false,
            output: String::new(),
        };
        assert_eq!(run, expected);
    }
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(marker), "it is the same container");
}

async fn hook_runs_only_in_the_container_with_the_marker(world: &impl World) {
    let id = world.sandbox("agent");
    let run = async |marker: &ContainerMarker| {
        let hook = hook("exit 1", 60);
        world
            .sandboxes()
            .run_hook(&id, marker, &work_dir(), "afterStart", &hook, &BTreeMap::new())
            .await
            .unwrap()
            .is_some()
    };
    assert!(!run(&ContainerMarker::Ready("k3f9x2ab".into())).await, "it has no marker");
    let marker = put_first_marker(world, &id).await;
    for other in [
        ContainerMarker::Ready("another".into()),
        ContainerMarker::Restoring("k3f9x2ab".into()),
        ContainerMarker::Restored("k3f9x2ab".into()),
    ] {
        assert!(!run(&other).await, "{other}");
    }
    assert!(run(&marker).await);
    world.sandboxes().destroy(&id).await.unwrap();
    probe(world, &id, "/workspace").await;
    assert!(!run(&marker).await, "it is another container");
}

/// A hook whose failure is only reported.
pub fn hook(command: &str, timeout_seconds: u32) -> Hook {
    Hook { command: command.into(), timeout_seconds, on_failure: OnFailure::Warn }
}

async fn list_directory(world: &impl World, id: &SandboxId, dir: &str) -> DirectoryListing {
    world.sandboxes().list_directory(id, &Directory::parse(dir).unwrap()).await.unwrap()
}

async fn hashes(world: &impl World, id: &SandboxId, files: &[&str]) -> Vec<(String, String)> {
    let files: Vec<String> = files.iter().map(ToString::to_string).collect();
    world.sandboxes().hash_files(id, &work_dir(), &files).await.unwrap().into_iter().collect()
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
