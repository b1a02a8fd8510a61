//! Names, tenants and addresses of workspaces.

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
fn name_is_kept_as_it_is_spelled() {
    for text in ["a", "A", "0", "_", "my-work", "my.work_2", "a-", "a.", "_.-", "www"] {
        assert_eq!(name(text).as_str(), text);
    }
}

#[test]
fn name_has_1_to_63_characters() {
    assert_all_refused(WorkspaceName::parse, Code::InvalidWorkspaceName, &["", &"x".repeat(64)]);
    assert!(WorkspaceName::parse(&"x".repeat(63)).is_ok());
}

#[test]
fn name_with_a_leading_dot_or_dash_is_refused() {
    assert_all_refused(WorkspaceName::parse, Code::InvalidWorkspaceName, &[".a", "-a", ".", "-", ".."]);
}

#[test]
fn name_with_other_characters_is_refused() {
    let invalid = ["a b", "a/b", "ä", "a\n", "a\0", "a:b", " a", "a ", "😀", "a\u{301}", "a,b", "a'b"];
    assert_all_refused(WorkspaceName::parse, Code::InvalidWorkspaceName, &invalid);
}

#[test]
fn tenant_follows_the_rule_of_names() {
    let invalid = ["", "a b", "a/b", "-a", ".a", &"x".repeat(64)];
    assert_all_refused(Tenant::parse, Code::InvalidWorkspaceName, &invalid);
    for text in ["default", "Team.A", "_", &"x".repeat(63)] {
        assert_eq!(Tenant::parse(text).unwrap().as_str(), text);
    }
    assert_eq!(Tenant::default_tenant().as_str(), Tenant::DEFAULT);
}

#[test]
fn refused_name_is_quoted_escaped_and_truncated() {
    let message = expect_error(WorkspaceName::parse(&"\u{1b}".repeat(10_000))).message().to_owned();
    assert!(message.len() < 1000 && !message.contains('\u{1b}'), "{message}");
}

#[test]
fn names_that_differ_in_case_are_different() {
    assert_ne!(name("Work"), name("work"));
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn address_round_trips(tenant in any_name(), name in any_name()) {
        let address = Address { tenant: Tenant::parse(tenant.as_str()).unwrap(), name };
        prop_assert_eq!(Address::parse(&address.to_string()).unwrap(), address);
    }

    #[test]
    fn sandbox_id_for_every_name_is_valid(name in any_name(), random in prop::array::uniform32(0..252_u8)) {
        let id = name.random_sandbox_id(&random).expect("all bytes are usable");
        prop_assert!(SandboxId::parse(id.as_str()).is_ok());
        prop_assert!(id.as_str().len() <= SandboxId::MAX);
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        prop_assert!(id.as_str().chars().all(is_plain), "{}", id.as_str());
    }

    #[test]
    fn sandbox_id_for_a_name_is_its_own_root(
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
    fn sandbox_id_ends_in_ten_random_characters(name in any_name(), random in prop::array::uniform32(0..252_u8)) {
        let id = name.random_sandbox_id(&random).unwrap();
        let (_, end) = id.as_str().rsplit_once('-').unwrap();
        prop_assert_eq!(end.len(), 10);
    }

    #[test]
    fn default_fork_name_exists_for_every_name(name in any_name(), random in prop::array::uniform32(0..252_u8)) {
        let short = ShortId::from_random(&random).unwrap();
        let fork = name.default_fork_name(short.as_str()).unwrap();
        let suffix = format!("-fork-{}", short.as_str());
        prop_assert!(fork.as_str().ends_with(&suffix));
    }
}

#[test]
fn too_few_usable_bytes_make_no_sandbox_id() {
    assert_eq!(name("work").random_sandbox_id(&[255; 32]), None);
    assert_eq!(name("work").random_sandbox_id(&[0; 9]), None);
}

#[test]
fn sandbox_id_has_at_most_52_characters_of_the_name() {
    for length in [1, 51, 52, 63] {
        let id = name(&"x".repeat(length)).random_sandbox_id(&[0; 32]).unwrap();
        assert_eq!(id.as_str(), format!("{}-aaaaaaaaaa", "x".repeat(length.min(52))));
    }
}

#[test]
fn default_fork_name_has_at_most_49_characters_of_the_name() {
    for length in [1, 49, 50, 63] {
        let fork = name(&"x".repeat(length)).default_fork_name("k3f9x2ab").unwrap();
        assert_eq!(fork.as_str(), format!("{}-fork-k3f9x2ab", "x".repeat(length.min(49))));
    }
}

#[test]
fn sandbox_id_for_a_name_without_usable_characters_begins_with_workspace() {
    assert!(name("_").random_sandbox_id(&[0; 32]).unwrap().as_str().starts_with("workspace-"));
}

#[test]
fn single_fork_has_the_requested_name_and_several_are_numbered() {
    assert_eq!(name("x").fork_name(1, 1).unwrap().as_str(), "x");
    let names: BTreeSet<_> = (1..=100).map(|number| name("x").fork_name(number, 100).unwrap().to_string()).collect();
    assert!(names.contains("x-1") && names.contains("x-100") && names.len() == 100);
}

#[test]
fn fork_name_without_room_for_a_number_is_refused() {
    let long = name(&"x".repeat(62));
    assert!(long.fork_name(1, 1).is_ok());
    assert_eq!(expect_error(long.fork_name(1, 2)).code(), Code::InvalidWorkspaceName);
}

#[test]
fn invalid_address_is_refused() {
    assert_all_refused(Address::parse, Code::InvalidWorkspaceName, &["", "a", "/", "a/", "/a", "a/b/c", "a b/c"]);
}
