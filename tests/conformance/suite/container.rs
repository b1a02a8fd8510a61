//! What is inside of a sandbox's container: whose it is, what was changed, and what runs there.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use sandbox_snapshotter::model::exclude::MAX_QUOTED;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::binding::DirectoryListing;
use sandbox_snapshotter::model::named::settings::{Hook, OnFailure};
use sandbox_snapshotter::model::{Arrival, Directory, DirectoryContent, MarkerOutcome, SandboxId, Status};
use sandbox_snapshotter::ports::{SandboxSession, Sandboxes};

use super::Case;
use super::sandboxes::{probe, state};
use super::world::{World, backup_options, create_backup, work_dir};

/// SHA-256 of `content`.
const CONTENT_SHA256: &str = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async being_told_how_long_it_may_be_idle_starts_nothing),
        case!(async being_given_variables_starts_nothing),
        case!(async a_stamp_is_put_in_the_place_of_the_one_that_is_meant_and_of_no_other),
        case!(async a_stamp_starts_the_container_and_goes_with_it),
        case!(async a_stamp_is_told_as_it_was_put),
        case!(async of_two_who_put_a_stamp_at_once_one_does),
        case!(async a_stamp_for_an_older_container_is_not_put_on_a_younger_one),
        case!(async a_container_that_is_begun_is_stamped_and_tells_what_is_in_it),
        case!(async what_has_arrived_gets_the_next_stamp_in_its_container),
        case!(async changes_count_from_the_time_on_at_which_they_are_watched),
        case!(async a_survey_finds_nothing_where_nothing_is),
        case!(async a_survey_makes_a_directory_that_is_not_there),
        case!(async a_survey_tells_what_is_in_the_directory),
        case!(async hashes_are_those_of_what_is_in_the_files),
        case!(async hashes_of_what_is_no_file_are_empty),
        case!(async files_with_odd_names_have_hashes),
        case!(async without_a_repository_git_ignores_nothing),
        case!(async ignored_paths_are_listed_where_they_contain_a_slash),
        case!(async no_more_ignored_paths_are_listed_than_are_named),
        case!(async a_change_is_noticed_once),
        case!(async a_stamp_is_a_look_for_changes_too),
        case!(async no_change_is_missed_however_soon_it_comes),
        case!(async a_restore_is_a_change),
        case!(async of_another_container_anything_may_have_changed),
        case!(async a_hook_tells_its_exit_code),
        case!(async a_hook_runs_in_the_container_that_is_meant_and_in_no_other),
    ]
}

async fn being_told_how_long_it_may_be_idle_starts_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    for seconds in [Some(600), Some(600), None, Some(3600)] {
        world.sandboxes().set_idle_timeout(&id, seconds).await.unwrap();
        assert_eq!(state(world, &id).await.status, Status::Down);
    }
}

async fn being_given_variables_starts_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    for value in [Some("1"), Some("it's \"2\"\n"), Some(""), None] {
        let env = BTreeMap::from([("NAME".to_owned(), value.map(str::to_owned))]);
        world.sandboxes().set_env(&id, &env).await.unwrap();
        world.sandboxes().set_env(&id, &BTreeMap::new()).await.unwrap();
        assert_eq!(state(world, &id).await.status, Status::Down);
    }
}

async fn a_stamp_is_put_in_the_place_of_the_one_that_is_meant_and_of_no_other(world: &impl World) {
    let id = world.sandbox("agent");
    let [filling, filled, ready, another] = [
        ContainerMarker::Restoring("a".into()),
        ContainerMarker::Restored("a".into()),
        ContainerMarker::Ready("a".into()),
        ContainerMarker::Ready("b".into()),
    ];
    for (from, to, is_put, after) in [
        (Some(&filling), &filled, false, None),
        (None, &filling, true, Some(&filling)),
        (None, &filling, false, Some(&filling)),
        (None, &another, false, Some(&filling)),
        (Some(&filled), &another, false, Some(&filling)),
        (Some(&filling), &filled, true, Some(&filled)),
        (Some(&filling), &filled, false, Some(&filled)),
        (Some(&filled), &ready, true, Some(&ready)),
        (Some(&another), &filling, false, Some(&ready)),
        (Some(&ready), &ready, true, Some(&ready)),
    ] {
        assert_eq!(put_marker(world, &id, from, to).await, is_put, "{from:?} to {to:?}");
        assert_eq!(probe(world, &id, "/workspace").await.marker.as_ref(), after, "{from:?} to {to:?}");
    }
}

async fn a_stamp_starts_the_container_and_goes_with_it(world: &impl World) {
    let id = world.sandbox("agent");
    let ready = put_first_marker(world, &id).await;
    assert_eq!(state(world, &id).await.status, Status::Healthy);
    let first = probe(world, &id, "/workspace").await;
    assert_eq!(
        (first.marker, first.directory_content),
        (Some(ready.clone()), DirectoryContent::Empty),
        "it is nowhere near the files"
    );
    world.sandboxes().destroy(&id).await.unwrap();
    assert_eq!(probe(world, &id, "/workspace").await.marker, None);
    assert!(!put_marker(world, &id, Some(&ready), &ready).await);
}

async fn a_stamp_is_told_as_it_was_put(world: &impl World) {
    let id = world.sandbox("agent");
    let mut last = None;
    for nonce in ["k3f9x2ab", "it's \"quoted\" $(here) \\ %s", "-n", "文件 🗂"] {
        let next = ContainerMarker::Ready(nonce.into());
        assert!(put_marker(world, &id, last.as_ref(), &next).await);
        let seen = probe(world, &id, "/workspace").await;
        assert_eq!((seen.marker.as_ref(), seen.is_replacement), (Some(&next), false));
        last = Some(next);
    }
    world.sandboxes().set_replaced_note(&id, true).await.unwrap();
    let seen = probe(world, &id, "/workspace").await;
    assert_eq!((seen.marker, seen.is_replacement), (last, true));
}

async fn of_two_who_put_a_stamp_at_once_one_does(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    let nonces: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    let put = |nonce: &String| {
        let stamp = ContainerMarker::Restoring(nonce.clone());
        let id = &id;
        async move { put_marker(world, id, None, &stamp).await }
    };
    let is_put = join_all(nonces.iter().map(put)).await;
    let winners: Vec<_> = nonces.iter().zip(is_put).filter(|(_, is_put)| *is_put).map(|(nonce, _)| nonce).collect();
    assert_eq!(winners.len(), 1, "{winners:?}");
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(ContainerMarker::Restoring(winners[0].clone())));
}

async fn a_stamp_for_an_older_container_is_not_put_on_a_younger_one(world: &impl World) {
    let id = world.sandbox("agent");
    let ready = ContainerMarker::Ready("a".into());
    let outcome =
        async |millis| world.sandboxes().update_marker(&id, None, &ready, Some(millis)).await.unwrap().outcome;
    assert_eq!(outcome(3_600_000).await, MarkerOutcome::TooYoung);
    assert_eq!(probe(world, &id, "/workspace").await.marker, None);
    world.sandboxes().set_replaced_note(&id, true).await.unwrap();
    assert_eq!(outcome(0).await, MarkerOutcome::TooYoung, "it took the place of another one");
    world.sandboxes().set_replaced_note(&id, false).await.unwrap();
    assert_eq!(outcome(0).await, MarkerOutcome::Updated);
}

async fn a_container_that_is_begun_is_stamped_and_tells_what_is_in_it(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/home/file", "content").await;
    let dir = Directory::parse("/workspace").unwrap();
    let (filling, files) = (ContainerMarker::Restoring("a".into()), ["/home/file".to_owned()]);
    let begun = world.sandboxes().begin_restore(&id, None, &filling, &dir, &files).await.unwrap().unwrap();
    assert_eq!(
        (begun.listing.content_hash, begun.hashes),
        (None, BTreeMap::from([("/home/file".into(), CONTENT_SHA256.into())]))
    );
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(filling.clone()));
    let again = world.sandboxes().begin_restore(&id, None, &ContainerMarker::Restoring("b".into()), &dir, &files).await;
    assert_eq!(again, Ok(None));
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(filling));
}

async fn what_has_arrived_gets_the_next_stamp_in_its_container(world: &impl World) {
    let (from, id) = (world.sandbox("from"), world.sandbox("agent"));
    world.write_file(&from, "/workspace/file", "content").await;
    let handle =
        world.sandboxes().open_session(&from).create_backup(&backup_options("/workspace"), None).await.unwrap();
    let [filling, ready, other] = ["a", "b", "c"].map(|nonce| ContainerMarker::Ready(nonce.into()));
    let arrive = async |from: &ContainerMarker, may_be_empty| {
        world.sandboxes().complete_restore(&id, &handle, from, &ready, may_be_empty).await.unwrap()
    };
    assert_eq!(arrive(&filling, false).await, Arrival::OtherContainer, "it carries no stamp");
    assert!(put_marker(world, &id, None, &filling).await);
    assert_eq!(arrive(&filling, false).await, Arrival::FilesMissing(DirectoryContent::Empty));
    world.sandboxes().open_session(&id).restore_backup(&handle, 4096).await.unwrap();
    assert_eq!(arrive(&other, false).await, Arrival::OtherContainer);
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(filling.clone()));
    assert_eq!(arrive(&filling, false).await, Arrival::Complete);
    assert_eq!(arrive(&filling, false).await, Arrival::Complete, "it has arrived already");
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(ready.clone()));
}

async fn changes_count_from_the_time_on_at_which_they_are_watched(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "before").await;
    world.sandboxes().watch_changes(&id).await.unwrap();
    assert!(!changed_since_watch(world, &id).await);
    world.write_file(&id, "/workspace/file", "after").await;
    assert!(changed_since_watch(world, &id).await);
}

async fn a_survey_finds_nothing_where_nothing_is(world: &impl World) {
    let (id, other) = (world.sandbox("agent"), world.sandbox("other"));
    let first = list_directory(world, &id, "/workspace").await;
    assert_eq!(first.content_hash, None);
    assert_eq!(state(world, &id).await.status, Status::Healthy, "it is started");
    assert!(first.image.contains("0.12.10 "), "{first:?}");
    assert_eq!(list_directory(world, &id, "/workspace/nothing").await, first);
    assert_eq!(list_directory(world, &other, "/home").await, first, "the image is the same one");
    world.write_file(&id, "/workspace/file", "content").await;
    assert_eq!(list_directory(world, &id, "/workspace/file").await, first, "a file is no directory");
}

async fn a_survey_makes_a_directory_that_is_not_there(world: &impl World) {
    let id = world.sandbox("agent");
    let dir = Directory::parse("/home/agent/it's here").unwrap();
    assert_eq!(world.sandboxes().probe(&id, &dir).await.unwrap().directory_content, DirectoryContent::Missing);
    world.sandboxes().list_directory(&id, &dir).await.unwrap();
    assert_eq!(world.sandboxes().probe(&id, &dir).await.unwrap().directory_content, DirectoryContent::Empty);
}

async fn a_survey_tells_what_is_in_the_directory(world: &impl World) {
    let id = world.sandbox("agent");
    for (path, content) in [("/workspace/b", "2"), ("/workspace/it's\n\"odd\" $x", ""), ("/workspace/-n", "3")] {
        world.write_file(&id, path, content).await;
    }
    let first = list_directory(world, &id, "/workspace").await;
    assert!(is_hash(first.content_hash.as_ref().unwrap()), "{first:?}");
    assert_eq!(list_directory(world, &id, "/workspace").await, first);
    world.write_file(&id, "/home/outside", "4").await;
    assert_eq!(list_directory(world, &id, "/workspace").await, first, "what is outside does not count");
    world.write_file(&id, "/workspace/b", "longer").await;
    let changed = list_directory(world, &id, "/workspace").await;
    assert_ne!(changed.content_hash, first.content_hash);
    world.write_file(&id, "/workspace/c", "2").await;
    assert_ne!(list_directory(world, &id, "/workspace").await.content_hash, changed.content_hash);
}

async fn hashes_are_those_of_what_is_in_the_files(world: &impl World) {
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

async fn hashes_of_what_is_no_file_are_empty(world: &impl World) {
    let id = world.sandbox("agent");
    let files = ["/workspace", "/workspace/none/file", "link", "none"];
    assert!(hashes(world, &id, &files).await.into_iter().all(|(_, hash)| hash.is_empty()));
    assert_eq!(state(world, &id).await.status, Status::Healthy, "it is started");
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

async fn without_a_repository_git_ignores_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/build/out", "1").await;
    assert_eq!(world.sandboxes().ignored_paths(&id, &work_dir()).await, Ok(Vec::new()));
    let missing = Directory::parse("/workspace/missing").unwrap();
    assert_eq!(world.sandboxes().ignored_paths(&id, &missing).await, Ok(Vec::new()));
}

async fn ignored_paths_are_listed_where_they_contain_a_slash(world: &impl World) {
    let id = world.sandbox("agent");
    for path in ["top", "kept/file", "build/out", "build/deep/x y", "src/lib/old"] {
        world.write_file(&id, &format!("/workspace/{path}"), "1").await;
    }
    world.git_ignore(&id, &["top"]).await;
    assert_eq!(world.sandboxes().ignored_paths(&id, &work_dir()).await, Ok(Vec::new()));
    world.git_ignore(&id, &["top", "build", "src/lib/old"]).await;
    let ignored = world.sandboxes().ignored_paths(&id, &work_dir()).await.unwrap();
    assert_eq!(ignored, ["build/deep/x y", "build/out", "src/lib/old"]);
}

async fn no_more_ignored_paths_are_listed_than_are_named(world: &impl World) {
    let id = world.sandbox("agent");
    for n in 0..MAX_QUOTED + 5 {
        world.write_file(&id, &format!("/workspace/build/{n}"), "1").await;
    }
    world.git_ignore(&id, &["build"]).await;
    assert_eq!(world.sandboxes().ignored_paths(&id, &work_dir()).await.unwrap().len(), MAX_QUOTED + 1);
}

async fn a_change_is_noticed_once(world: &impl World) {
    let id = world.sandbox("agent");
    put_first_marker(world, &id).await;
    assert!(!changed_since_watch(world, &id).await);
    for (path, content) in [("/workspace/file", "first"), ("/workspace/file", "second"), ("/workspace/it's", "")] {
        world.write_file(&id, path, content).await;
        assert!(changed_since_watch(world, &id).await, "{path}");
        assert!(!changed_since_watch(world, &id).await, "{path}");
    }
    world.write_file(&id, "/home/file", "outside").await;
    assert!(!changed_since_watch(world, &id).await);
    assert_eq!(
        world.sandboxes().changed_since_watch(&id, &Directory::parse("/workspace/none").unwrap()).await,
        Ok(false)
    );
}

async fn a_stamp_is_a_look_for_changes_too(world: &impl World) {
    let id = world.sandbox("agent");
    for _ in 0..10 {
        world.write_file(&id, "/workspace/file", "before").await;
        let stamp = probe(world, &id, "/workspace").await.marker;
        let next = ContainerMarker::Ready("k3f9x2ab".into());
        assert!(put_marker(world, &id, stamp.as_ref(), &next).await);
        assert!(!changed_since_watch(world, &id).await);
    }
    world.write_file(&id, "/workspace/file", "after").await;
    assert!(!put_marker(world, &id, None, &ContainerMarker::Ready("other".into())).await);
    assert!(changed_since_watch(world, &id).await, "one that was not put changes nothing");
}

async fn no_change_is_missed_however_soon_it_comes(world: &impl World) {
    let id = world.sandbox("agent");
    put_first_marker(world, &id).await;
    for number in 0..20 {
        world.write_file(&id, "/workspace/file", "content").await;
        assert!(changed_since_watch(world, &id).await, "the change {number}");
    }
}

async fn a_restore_is_a_change(world: &impl World) {
    let copy = world.sandbox("copy");
    let handle = create_backup(world, "agent", "content").await;
    put_first_marker(world, &copy).await;
    world.sandboxes().open_session(&copy).restore_backup(&handle, 0).await.unwrap();
    assert!(changed_since_watch(world, &copy).await);
    world.sandboxes().open_session(&copy).create_backup(&backup_options("copy"), None).await.unwrap();
    assert!(!changed_since_watch(world, &copy).await, "a backup is none");
}

async fn of_another_container_anything_may_have_changed(world: &impl World) {
    let id = world.sandbox("agent");
    assert!(changed_since_watch(world, &id).await);
    assert!(!changed_since_watch(world, &id).await);
    world.sandboxes().destroy(&id).await.unwrap();
    probe(world, &id, "/workspace").await;
    assert!(changed_since_watch(world, &id).await);
    assert!(!changed_since_watch(world, &id).await);
}

async fn a_hook_tells_its_exit_code(world: &impl World) {
    let id = world.sandbox("agent");
    let stamp = put_first_marker(world, &id).await;
    for (name, code) in [("afterStart", 0), ("beforeStop", 3), ("onTimeout", 124), ("it's", 137)] {
        let hook = hook(&format!("exit {code}"), 60);
        let run =
            world.sandboxes().run_hook(&id, &stamp, &work_dir(), name, &hook, &BTreeMap::new()).await.unwrap().unwrap();
        let expected = HookRun {
            hook: name.into(),
            ok: code == 0,
            exit_code: Some(code),
            timed_out: false,
            output: String::new(),
        };
        assert_eq!(run, expected);
    }
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(stamp), "it is the same container");
}

async fn a_hook_runs_in_the_container_that_is_meant_and_in_no_other(world: &impl World) {
    let id = world.sandbox("agent");
    let run = async |stamp: &ContainerMarker| {
        let hook = hook("exit 1", 60);
        world
            .sandboxes()
            .run_hook(&id, stamp, &work_dir(), "afterStart", &hook, &BTreeMap::new())
            .await
            .unwrap()
            .is_some()
    };
    assert!(!run(&ContainerMarker::Ready("k3f9x2ab".into())).await, "it has none");
    let stamp = put_first_marker(world, &id).await;
    for other in [
        ContainerMarker::Ready("another".into()),
        ContainerMarker::Restoring("k3f9x2ab".into()),
        ContainerMarker::Restored("k3f9x2ab".into()),
    ] {
        assert!(!run(&other).await, "{other}");
    }
    assert!(run(&stamp).await);
    world.sandboxes().destroy(&id).await.unwrap();
    probe(world, &id, "/workspace").await;
    assert!(!run(&stamp).await, "it is another container");
}

/// Puts a stamp on the container of a sandbox; says whether that carried the one to be replaced.
pub async fn put_marker(
    world: &impl World,
    id: &SandboxId,
    from: Option<&ContainerMarker>,
    to: &ContainerMarker,
) -> bool {
    let stamping = world.sandboxes().update_marker(id, from, to, None).await.unwrap();
    assert!(stamping.age_millis >= 0 && stamping.elapsed_millis >= 0, "{stamping:?}");
    match stamping.outcome {
        MarkerOutcome::Updated => true,
        MarkerOutcome::OtherMarker(stamp) => {
            assert_ne!(stamp.as_ref(), from);
            false
        }
        MarkerOutcome::TooYoung => panic!("no age was asked for"),
    }
}

/// Puts a stamp on the container of a sandbox that has none.
pub async fn put_first_marker(world: &impl World, id: &SandboxId) -> ContainerMarker {
    let stamp = ContainerMarker::Ready("k3f9x2ab".into());
    assert!(put_marker(world, id, None, &stamp).await);
    stamp
}

/// A hook whose failure is told.
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

async fn changed_since_watch(world: &impl World, id: &SandboxId) -> bool {
    world.sandboxes().changed_since_watch(id, &work_dir()).await.unwrap()
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
