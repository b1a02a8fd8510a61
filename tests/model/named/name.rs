//! What workspaces are called, and by whom.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sandbox_snapshotter::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter::model::{Code, SandboxId, ShortId, root_of};

use crate::support::{assert_all_refused, cases, expect_error};

fn any_name() -> impl Strategy<Value = WorkspaceName> {
    "[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}".prop_map(|text| WorkspaceName::parse(&text).unwrap())
}

fn name(text: &str) -> WorkspaceName {
    WorkspaceName::parse(text).unwrap()
}

#[test]
fn a_name_is_kept_exactly_as_it_is_spelt() {
    for text in ["a", "A", "0", "_", "my-work", "my.work_2", "a-", "a.", "_.-", "www"] {
        assert_eq!(name(text).as_str(), text);
    }
}

#[test]
fn a_name_has_1_to_63_characters() {
    assert_all_refused(WorkspaceName::parse, Code::InvalidWorkspaceName, &["", &"x".repeat(64)]);
    assert!(WorkspaceName::parse(&"x".repeat(63)).is_ok());
}

#[test]
fn a_name_begins_with_neither_a_dot_nor_a_dash() {
    assert_all_refused(WorkspaceName::parse, Code::InvalidWorkspaceName, &[".a", "-a", ".", "-", ".."]);
}

#[test]
fn a_name_has_no_other_characters() {
    let odd = ["a b", "a/b", "ä", "a\n", "a\0", "a:b", " a", "a ", "😀", "a\u{301}", "a,b", "a'b"];
    assert_all_refused(WorkspaceName::parse, Code::InvalidWorkspaceName, &odd);
}

#[test]
fn a_tenant_follows_the_same_rule() {
    let odd = ["", "a b", "a/b", "-a", ".a", &"x".repeat(64)];
    assert_all_refused(Tenant::parse, Code::InvalidWorkspaceName, &odd);
    for text in ["default", "Team.A", "_", &"x".repeat(63)] {
        assert_eq!(Tenant::parse(text).unwrap().as_str(), text);
    }
    assert_eq!(Tenant::default_tenant().as_str(), Tenant::DEFAULT);
}

#[test]
fn a_refused_name_is_shown_escaped_and_not_at_full_length() {
    let message = expect_error(WorkspaceName::parse(&"\u{1b}".repeat(10_000))).message().to_owned();
    assert!(message.len() < 1000 && !message.contains('\u{1b}'), "{message}");
}

#[test]
fn names_that_differ_in_case_are_two() {
    assert_ne!(name("Work"), name("work"));
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn an_address_reads_what_it_writes(tenant in any_name(), name in any_name()) {
        let address = Address { tenant: Tenant::parse(tenant.as_str()).unwrap(), name };
        prop_assert_eq!(Address::parse(&address.to_string()).unwrap(), address);
    }

    #[test]
    fn a_sandbox_can_be_made_for_every_name(name in any_name(), random in prop::array::uniform32(0..252_u8)) {
        let id = name.random_sandbox_id(&random).expect("all of the bytes can be used");
        prop_assert!(SandboxId::parse(id.as_str()).is_ok());
        prop_assert!(id.as_str().len() <= SandboxId::MAX);
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        prop_assert!(id.as_str().chars().all(is_plain), "{}", id.as_str());
    }

    #[test]
    fn no_sandbox_of_a_name_looks_like_one_that_was_made_from_a_snapshot(
        prefix in any_name(),
        word in prop::sample::select(vec!["restored", "branch"]),
        random in prop::array::uniform32(0..252_u8),
    ) {
        let stem: String = prefix.as_str().chars().take(40).collect();
        for text in [stem.clone(), format!("{stem}-{word}"), format!("{stem}-{word}-k3f9x2ab"), word.to_owned()] {
            let id = name(&text).random_sandbox_id(&random).unwrap();
            prop_assert_eq!(root_of(&id), id);
        }
    }

    #[test]
    fn the_random_end_of_an_id_is_always_whole(name in any_name(), random in prop::array::uniform32(0..252_u8)) {
        let id = name.random_sandbox_id(&random).unwrap();
        let (_, end) = id.as_str().rsplit_once('-').unwrap();
        prop_assert_eq!(end.len(), 10);
    }

    #[test]
    fn every_workspace_can_be_forked(name in any_name(), random in prop::array::uniform32(0..252_u8)) {
        let short = ShortId::from_random(&random).unwrap();
        let fork = name.default_fork_name(short.as_str()).unwrap();
        let suffix = format!("-fork-{}", short.as_str());
        prop_assert!(fork.as_str().ends_with(&suffix));
    }
}

#[test]
fn bytes_of_which_too_few_can_be_used_make_no_id() {
    assert_eq!(name("work").random_sandbox_id(&[255; 32]), None);
    assert_eq!(name("work").random_sandbox_id(&[0; 9]), None);
}

#[test]
fn a_sandbox_is_called_by_as_much_of_the_name_as_its_id_has_room_for() {
    for length in [1, 51, 52, 63] {
        let id = name(&"x".repeat(length)).random_sandbox_id(&[0; 32]).unwrap();
        assert_eq!(id.as_str(), format!("{}-aaaaaaaaaa", "x".repeat(length.min(52))));
    }
}

#[test]
fn a_fork_is_called_by_as_much_of_the_name_as_there_is_room_for() {
    for length in [1, 49, 50, 63] {
        let fork = name(&"x".repeat(length)).default_fork_name("k3f9x2ab").unwrap();
        assert_eq!(fork.as_str(), format!("{}-fork-k3f9x2ab", "x".repeat(length.min(49))));
    }
}

#[test]
fn a_name_of_which_nothing_is_left_gives_its_sandbox_a_usual_one() {
    assert!(name("_").random_sandbox_id(&[0; 32]).unwrap().as_str().starts_with("workspace-"));
}

#[test]
fn one_fork_is_called_as_asked_and_several_are_numbered() {
    assert_eq!(name("x").fork_name(1, 1).unwrap().as_str(), "x");
    let names: BTreeSet<_> = (1..=100).map(|number| name("x").fork_name(number, 100).unwrap().to_string()).collect();
    assert!(names.contains("x-1") && names.contains("x-100") && names.len() == 100);
}

#[test]
fn a_name_that_leaves_no_room_for_numbers_is_refused() {
    let long = name(&"x".repeat(62));
    assert!(long.fork_name(1, 1).is_ok());
    assert_eq!(expect_error(long.fork_name(1, 2)).code(), Code::InvalidWorkspaceName);
}

#[test]
fn a_text_that_is_no_address_is_refused() {
    assert_all_refused(Address::parse, Code::InvalidWorkspaceName, &["", "a", "/", "a/", "/a", "a/b/c", "a b/c"]);
}
