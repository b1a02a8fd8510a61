//! What is inside of a sandbox's container: whose it is, what was changed, and what runs there.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use sandbox_snapshotter::model::exclude::MAX_NAMED;
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::settings::{Hook, OnFailure};
use sandbox_snapshotter::model::named::standing::Survey;
use sandbox_snapshotter::model::{Arrival, Directory, Place, SandboxId, StampOutcome, Status};
use sandbox_snapshotter::ports::{Sandboxes, Visit};

use super::Case;
use super::sandboxes::{probe, state};
use super::world::{World, backup, options, workspace};

/// SHA-256 of `content`.
const CONTENT: &str = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";

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
        world.sandboxes().keep_awake(&id, seconds).await.unwrap();
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
    let [filling, filled, ready, another] =
        [Stamp::Filling("a".into()), Stamp::Filled("a".into()), Stamp::Ready("a".into()), Stamp::Ready("b".into())];
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
        assert_eq!(puts(world, &id, from, to).await, is_put, "{from:?} to {to:?}");
        assert_eq!(probe(world, &id, "/workspace").await.stamp.as_ref(), after, "{from:?} to {to:?}");
    }
}

async fn a_stamp_starts_the_container_and_goes_with_it(world: &impl World) {
    let id = world.sandbox("agent");
    let ready = stamped(world, &id).await;
    assert_eq!(state(world, &id).await.status, Status::Healthy);
    let first = probe(world, &id, "/workspace").await;
    assert_eq!((first.stamp, first.place), (Some(ready.clone()), Place::Empty), "it is nowhere near the files");
    world.sandboxes().destroy(&id).await.unwrap();
    assert_eq!(probe(world, &id, "/workspace").await.stamp, None);
    assert!(!puts(world, &id, Some(&ready), &ready).await);
}

async fn a_stamp_is_told_as_it_was_put(world: &impl World) {
    let id = world.sandbox("agent");
    let mut last = None;
    for nonce in ["k3f9x2ab", "it's \"quoted\" $(here) \\ %s", "-n", "文件 🗂"] {
        let next = Stamp::Ready(nonce.into());
        assert!(puts(world, &id, last.as_ref(), &next).await);
        let seen = probe(world, &id, "/workspace").await;
        assert_eq!((seen.stamp.as_ref(), seen.took_place), (Some(&next), false));
        last = Some(next);
    }
    world.sandboxes().note_took_place(&id, true).await.unwrap();
    let seen = probe(world, &id, "/workspace").await;
    assert_eq!((seen.stamp, seen.took_place), (last, true));
}

async fn of_two_who_put_a_stamp_at_once_one_does(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/workspace/file", "content").await;
    let nonces: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    let put = |nonce: &String| {
        let stamp = Stamp::Filling(nonce.clone());
        let id = &id;
        async move { puts(world, id, None, &stamp).await }
    };
    let is_put = join_all(nonces.iter().map(put)).await;
    let winners: Vec<_> = nonces.iter().zip(is_put).filter(|(_, is_put)| *is_put).map(|(nonce, _)| nonce).collect();
    assert_eq!(winners.len(), 1, "{winners:?}");
    assert_eq!(probe(world, &id, "/workspace").await.stamp, Some(Stamp::Filling(winners[0].clone())));
}

async fn a_stamp_for_an_older_container_is_not_put_on_a_younger_one(world: &impl World) {
    let id = world.sandbox("agent");
    let ready = Stamp::Ready("a".into());
    let outcome = async |millis| world.sandboxes().stamp(&id, None, &ready, Some(millis)).await.unwrap().outcome;
    assert_eq!(outcome(3_600_000).await, StampOutcome::TooYoung);
    assert_eq!(probe(world, &id, "/workspace").await.stamp, None);
    world.sandboxes().note_took_place(&id, true).await.unwrap();
    assert_eq!(outcome(0).await, StampOutcome::TooYoung, "it took the place of another one");
    world.sandboxes().note_took_place(&id, false).await.unwrap();
    assert_eq!(outcome(0).await, StampOutcome::Done);
}

async fn a_container_that_is_begun_is_stamped_and_tells_what_is_in_it(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/home/file", "content").await;
    let dir = Directory::parse("/workspace").unwrap();
    let (filling, files) = (Stamp::Filling("a".into()), ["/home/file".to_owned()]);
    let begun = world.sandboxes().begin(&id, None, &filling, &dir, &files).await.unwrap().unwrap();
    assert_eq!((begun.survey.listing, begun.hashes), (None, BTreeMap::from([("/home/file".into(), CONTENT.into())])));
    assert_eq!(probe(world, &id, "/workspace").await.stamp, Some(filling.clone()));
    let again = world.sandboxes().begin(&id, None, &Stamp::Filling("b".into()), &dir, &files).await;
    assert_eq!(again, Ok(None));
    assert_eq!(probe(world, &id, "/workspace").await.stamp, Some(filling));
}

async fn what_has_arrived_gets_the_next_stamp_in_its_container(world: &impl World) {
    let (from, id) = (world.sandbox("from"), world.sandbox("agent"));
    world.writes(&from, "/workspace/file", "content").await;
    let handle = world.sandboxes().visit(&from).create_backup(&options("/workspace"), None).await.unwrap();
    let [filling, ready, other] = ["a", "b", "c"].map(|nonce| Stamp::Ready(nonce.into()));
    let arrive = async |from: &Stamp, may_be_empty| {
        world.sandboxes().arrive(&id, &handle, from, &ready, may_be_empty).await.unwrap()
    };
    assert_eq!(arrive(&filling, false).await, Arrival::OtherContainer, "it carries no stamp");
    assert!(puts(world, &id, None, &filling).await);
    assert_eq!(arrive(&filling, false).await, Arrival::NotThere(Place::Empty));
    world.sandboxes().visit(&id).restore_backup(&handle, 4096).await.unwrap();
    assert_eq!(arrive(&other, false).await, Arrival::OtherContainer);
    assert_eq!(probe(world, &id, "/workspace").await.stamp, Some(filling.clone()));
    assert_eq!(arrive(&filling, false).await, Arrival::Done);
    assert_eq!(arrive(&filling, false).await, Arrival::Done, "it has arrived already");
    assert_eq!(probe(world, &id, "/workspace").await.stamp, Some(ready.clone()));
}

async fn changes_count_from_the_time_on_at_which_they_are_watched(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/workspace/file", "before").await;
    world.sandboxes().watch(&id).await.unwrap();
    assert!(!stirred(world, &id).await);
    world.writes(&id, "/workspace/file", "after").await;
    assert!(stirred(world, &id).await);
}

async fn a_survey_finds_nothing_where_nothing_is(world: &impl World) {
    let (id, other) = (world.sandbox("agent"), world.sandbox("other"));
    let first = survey(world, &id, "/workspace").await;
    assert_eq!(first.listing, None);
    assert_eq!(state(world, &id).await.status, Status::Healthy, "it is started");
    assert!(first.image.contains("0.12.10 "), "{first:?}");
    assert_eq!(survey(world, &id, "/workspace/nothing").await, first);
    assert_eq!(survey(world, &other, "/home").await, first, "the image is the same one");
    world.writes(&id, "/workspace/file", "content").await;
    assert_eq!(survey(world, &id, "/workspace/file").await, first, "a file is no directory");
}

async fn a_survey_makes_a_directory_that_is_not_there(world: &impl World) {
    let id = world.sandbox("agent");
    let dir = Directory::parse("/home/agent/it's here").unwrap();
    assert_eq!(world.sandboxes().probe(&id, &dir).await.unwrap().place, Place::Missing);
    world.sandboxes().survey(&id, &dir).await.unwrap();
    assert_eq!(world.sandboxes().probe(&id, &dir).await.unwrap().place, Place::Empty);
}

async fn a_survey_tells_what_is_in_the_directory(world: &impl World) {
    let id = world.sandbox("agent");
    for (path, content) in [("/workspace/b", "2"), ("/workspace/it's\n\"odd\" $x", ""), ("/workspace/-n", "3")] {
        world.writes(&id, path, content).await;
    }
    let first = survey(world, &id, "/workspace").await;
    assert!(is_hash(first.listing.as_ref().unwrap()), "{first:?}");
    assert_eq!(survey(world, &id, "/workspace").await, first);
    world.writes(&id, "/home/outside", "4").await;
    assert_eq!(survey(world, &id, "/workspace").await, first, "what is outside does not count");
    world.writes(&id, "/workspace/b", "longer").await;
    let changed = survey(world, &id, "/workspace").await;
    assert_ne!(changed.listing, first.listing);
    world.writes(&id, "/workspace/c", "2").await;
    assert_ne!(survey(world, &id, "/workspace").await.listing, changed.listing);
}

async fn hashes_are_those_of_what_is_in_the_files(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/workspace/file", "content").await;
    world.writes(&id, "/workspace/empty", "").await;
    world.writes(&id, "/home/file", "content").await;
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(
        hashes(world, &id, &["file", "empty", "/home/file", "/workspace/file", "file"]).await,
        [("/home/file", CONTENT), ("/workspace/file", CONTENT), ("empty", empty), ("file", CONTENT)]
            .map(|(path, hash)| (path.to_owned(), hash.to_owned()))
    );
    assert_eq!(hashes(world, &id, &[]).await, []);
}

async fn hashes_of_what_is_no_file_are_empty(world: &impl World) {
    let id = world.sandbox("agent");
    let files = ["/workspace", "/workspace/none/file", "link", "none"];
    assert!(hashes(world, &id, &files).await.into_iter().all(|(_, hash)| hash.is_empty()));
    assert_eq!(state(world, &id).await.status, Status::Healthy, "it is started");
    world.links(&id, "/workspace/link").await;
    assert_eq!(hashes(world, &id, &files).await, files.map(|file| (file.to_owned(), String::new())));
}

async fn files_with_odd_names_have_hashes(world: &impl World) {
    let id = world.sandbox("agent");
    let names = ["it's", "\"quoted\" $(here) `x`", "-n", " ", "a\\nb", "a\nb", "*", "文件 🗂", "none", "~"];
    for name in names {
        world.writes(&id, &format!("/workspace/{name}"), "content").await;
    }
    let absolute = names.map(|name| format!("/workspace/{name}"));
    let files: Vec<&str> = names.into_iter().chain(absolute.iter().map(String::as_str)).collect();
    let hashes = hashes(world, &id, &files).await;
    assert_eq!(hashes.len(), files.len());
    assert!(hashes.iter().all(|(_, hash)| hash == CONTENT), "{hashes:?}");
}

async fn without_a_repository_git_ignores_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/workspace/build/out", "1").await;
    assert_eq!(world.sandboxes().ignored_below(&id, &workspace()).await, Ok(Vec::new()));
    let missing = Directory::parse("/workspace/missing").unwrap();
    assert_eq!(world.sandboxes().ignored_below(&id, &missing).await, Ok(Vec::new()));
}

async fn ignored_paths_are_listed_where_they_contain_a_slash(world: &impl World) {
    let id = world.sandbox("agent");
    for path in ["top", "kept/file", "build/out", "build/deep/x y", "src/lib/old"] {
        world.writes(&id, &format!("/workspace/{path}"), "1").await;
    }
    world.ignores(&id, &["top"]).await;
    assert_eq!(world.sandboxes().ignored_below(&id, &workspace()).await, Ok(Vec::new()));
    world.ignores(&id, &["top", "build", "src/lib/old"]).await;
    let ignored = world.sandboxes().ignored_below(&id, &workspace()).await.unwrap();
    assert_eq!(ignored, ["build/deep/x y", "build/out", "src/lib/old"]);
}

async fn no_more_ignored_paths_are_listed_than_are_named(world: &impl World) {
    let id = world.sandbox("agent");
    for n in 0..MAX_NAMED + 5 {
        world.writes(&id, &format!("/workspace/build/{n}"), "1").await;
    }
    world.ignores(&id, &["build"]).await;
    assert_eq!(world.sandboxes().ignored_below(&id, &workspace()).await.unwrap().len(), MAX_NAMED + 1);
}

async fn a_change_is_noticed_once(world: &impl World) {
    let id = world.sandbox("agent");
    stamped(world, &id).await;
    assert!(!stirred(world, &id).await);
    for (path, content) in [("/workspace/file", "first"), ("/workspace/file", "second"), ("/workspace/it's", "")] {
        world.writes(&id, path, content).await;
        assert!(stirred(world, &id).await, "{path}");
        assert!(!stirred(world, &id).await, "{path}");
    }
    world.writes(&id, "/home/file", "outside").await;
    assert!(!stirred(world, &id).await);
    assert_eq!(world.sandboxes().stirred(&id, &Directory::parse("/workspace/none").unwrap()).await, Ok(false));
}

async fn a_stamp_is_a_look_for_changes_too(world: &impl World) {
    let id = world.sandbox("agent");
    for _ in 0..10 {
        world.writes(&id, "/workspace/file", "before").await;
        let stamp = probe(world, &id, "/workspace").await.stamp;
        let next = Stamp::Ready("k3f9x2ab".into());
        assert!(puts(world, &id, stamp.as_ref(), &next).await);
        assert!(!stirred(world, &id).await);
    }
    world.writes(&id, "/workspace/file", "after").await;
    assert!(!puts(world, &id, None, &Stamp::Ready("other".into())).await);
    assert!(stirred(world, &id).await, "one that was not put changes nothing");
}

async fn no_change_is_missed_however_soon_it_comes(world: &impl World) {
    let id = world.sandbox("agent");
    stamped(world, &id).await;
    for number in 0..20 {
        world.writes(&id, "/workspace/file", "content").await;
        assert!(stirred(world, &id).await, "the change {number}");
    }
}

async fn a_restore_is_a_change(world: &impl World) {
    let copy = world.sandbox("copy");
    let handle = backup(world, "agent", "content").await;
    stamped(world, &copy).await;
    world.sandboxes().visit(&copy).restore_backup(&handle, 0).await.unwrap();
    assert!(stirred(world, &copy).await);
    world.sandboxes().visit(&copy).create_backup(&options("copy"), None).await.unwrap();
    assert!(!stirred(world, &copy).await, "a backup is none");
}

async fn of_another_container_anything_may_have_changed(world: &impl World) {
    let id = world.sandbox("agent");
    assert!(stirred(world, &id).await);
    assert!(!stirred(world, &id).await);
    world.sandboxes().destroy(&id).await.unwrap();
    probe(world, &id, "/workspace").await;
    assert!(stirred(world, &id).await);
    assert!(!stirred(world, &id).await);
}

async fn a_hook_tells_its_exit_code(world: &impl World) {
    let id = world.sandbox("agent");
    let stamp = stamped(world, &id).await;
    for (name, code) in [("afterStart", 0), ("beforeStop", 3), ("onTimeout", 124), ("it's", 137)] {
        let hook = hook(&format!("exit {code}"), 60);
        let run = world
            .sandboxes()
            .run_hook(&id, &stamp, &workspace(), name, &hook, &BTreeMap::new())
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
    assert_eq!(probe(world, &id, "/workspace").await.stamp, Some(stamp), "it is the same container");
}

async fn a_hook_runs_in_the_container_that_is_meant_and_in_no_other(world: &impl World) {
    let id = world.sandbox("agent");
    let run = async |stamp: &Stamp| {
        let hook = hook("exit 1", 60);
        world
            .sandboxes()
            .run_hook(&id, stamp, &workspace(), "afterStart", &hook, &BTreeMap::new())
            .await
            .unwrap()
            .is_some()
    };
    assert!(!run(&Stamp::Ready("k3f9x2ab".into())).await, "it has none");
    let stamp = stamped(world, &id).await;
    for other in [Stamp::Ready("another".into()), Stamp::Filling("k3f9x2ab".into()), Stamp::Filled("k3f9x2ab".into())] {
        assert!(!run(&other).await, "{other}");
    }
    assert!(run(&stamp).await);
    world.sandboxes().destroy(&id).await.unwrap();
    probe(world, &id, "/workspace").await;
    assert!(!run(&stamp).await, "it is another container");
}

/// Puts a stamp on the container of a sandbox; says whether that carried the one to be replaced.
pub async fn puts(world: &impl World, id: &SandboxId, from: Option<&Stamp>, to: &Stamp) -> bool {
    let stamping = world.sandboxes().stamp(id, from, to, None).await.unwrap();
    assert!(stamping.age_millis >= 0 && stamping.took_millis >= 0, "{stamping:?}");
    match stamping.outcome {
        StampOutcome::Done => true,
        StampOutcome::Other(stamp) => {
            assert_ne!(stamp.as_ref(), from);
            false
        }
        StampOutcome::TooYoung => panic!("no age was asked for"),
    }
}

/// Puts a stamp on the container of a sandbox that has none.
pub async fn stamped(world: &impl World, id: &SandboxId) -> Stamp {
    let stamp = Stamp::Ready("k3f9x2ab".into());
    assert!(puts(world, id, None, &stamp).await);
    stamp
}

/// A hook whose failure is told.
pub fn hook(command: &str, timeout_seconds: u32) -> Hook {
    Hook { command: command.into(), timeout_seconds, on_failure: OnFailure::Warn }
}

async fn survey(world: &impl World, id: &SandboxId, dir: &str) -> Survey {
    world.sandboxes().survey(id, &Directory::parse(dir).unwrap()).await.unwrap()
}

async fn hashes(world: &impl World, id: &SandboxId, files: &[&str]) -> Vec<(String, String)> {
    let files: Vec<String> = files.iter().map(ToString::to_string).collect();
    world.sandboxes().hashes(id, &workspace(), &files).await.unwrap().into_iter().collect()
}

async fn stirred(world: &impl World, id: &SandboxId) -> bool {
    world.sandboxes().stirred(id, &workspace()).await.unwrap()
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
