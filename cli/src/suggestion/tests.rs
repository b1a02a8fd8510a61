mod habits;

use super::add;
use crate::args::help;

fn suggested(line: &str) -> String {
    let error = help::command().try_get_matches_from(line.split(' ')).unwrap_err();
    let arguments: Vec<_> = line.split(' ').skip(1).map(str::to_owned).collect();
    add(error, &arguments).render().to_string()
}

#[test]
fn a_command_without_its_group_suggests_the_group() {
    assert!(suggested("snapshotter fork notebook").contains("exists: 'workspace fork'"));
    let listed = suggested("snapshotter list");
    for command in ["'snapshot list'", "'workspace list'", "'checkpoint list'"] {
        assert!(listed.contains(command), "{listed}");
    }
}

#[test]
fn an_unknown_option_suggests_the_longer_one() {
    let fork = suggested("snapshotter workspace fork notebook --name attempt");
    assert!(fork.contains("exists: '--new-name'"), "{fork}");
    assert!(!fork.contains("as a value"), "{fork}");
}

#[test]
fn what_a_command_does_not_do_is_said_with_what_does() {
    for (line, expected) in [
        ("exec -it @notebook bash", "tip: a command has no terminal."),
        ("exec --stdin @notebook bash", "tip: a command has no terminal."),
        ("restore agent-42 before --as agent-43", "tip: the new sandbox has a generated id"),
        ("branch agent-42 before --count 3", "`snapshotter workspace fork NAME --count N`"),
        ("snapshot create agent-42 --pin", "`snapshotter snapshot pin agent-42 ID|LABEL`"),
        ("snapshot create agent-42 -m text", "exists: '--label'"),
        ("snapshot create agent-42 --name text", "exists: '--label'"),
        ("commands stop @notebook x", "exists: 'commands end'"),
        ("commands show @notebook x", "exists: 'commands output'"),
        ("checkout before", "'workspace rollback', 'branch'"),
        ("config", "exists: 'doctor'"),
        ("workspace exec notebook ls", ": `snapshotter exec @notebook ls`"),
        ("workspace update notebook --name other", "a workspace can't be renamed."),
        ("ls @notebook -la", "tip: the list has modes, sizes and times, and hidden files, without an option"),
        ("ls @notebook before src -l", "tip: the list has modes, sizes and times, and hidden files, without an option"),
        ("ls @notebook -R", "`snapshotter exec @notebook ls -R`; for a snapshot, `snapshotter export"),
        ("ls @notebook --recursive", "`snapshotter exec @notebook ls -R`; for a snapshot, `snapshotter export"),
        ("workspace list -a", "tip: the list has all workspaces of a tenant, also those that are stopped"),
        ("workspace list --all", "tip: the list has all workspaces of a tenant, also those that are stopped"),
        ("snapshot list @notebook --all", "tip: the list is complete without an option"),
        ("commands list @notebook -a", "tip: the list is complete without an option"),
        (
            "workspace stop notebook --no-snapshot",
            "`snapshotter workspace update notebook --persistent false`, then stop it",
        ),
        (
            "workspace stop notebook --discard",
            "`snapshotter workspace update notebook --persistent false`, then stop it",
        ),
        ("commands output @notebook x --tail 5", "tip: append `| tail -n N`"),
        ("commands output @notebook x -n 5", "tip: append `| tail -n N`"),
        ("commands output @notebook x --tail=5", "tip: append `| tail -n N`"),
        ("workspace delete notebook --dry-run", "`snapshotter snapshot list @notebook` lists the snapshots"),
        ("snapshot delete @notebook b --dry-run", "`snapshotter snapshot show @notebook b` shows what needs it"),
        ("checkpoint delete @notebook c --dry-run", "`snapshotter checkpoint list @notebook` lists the checkpoints"),
        ("workspace rollback notebook b --dry-run", "`snapshotter diff @notebook b` lists the files that differ"),
        ("workspace promote notebook --from @t --dry-run", "`snapshotter workspace show notebook`"),
        ("checkpoint restore @notebook c --dry-run", "`snapshotter checkpoint diff @notebook c` shows"),
        ("restore-files @notebook b a --dry-run", "`snapshotter diff @notebook b` lists the files that differ"),
        ("retention apply @notebook --dry-run", "`snapshotter retention plan @notebook`"),
        ("checkpoint rollback @notebook cp1", "exists: 'checkpoint restore'"),
        ("tokens delete ci", "exists: 'tokens revoke'"),
        ("workspace delete notebook --force", "exists: '--yes'"),
        ("workspace list -o json", "exists: '--json'"),
        ("workspace update notebook --keep 3", "exists: '--keep-last'"),
        ("workspace create n --from @lab b2", "'--from-snapshot @lab b2'"),
        ("workspace rollback notebook --to b2", "pass the snapshot without an option"),
        ("restore agent-42 --latest", "the word `latest` is the newest one of the present files"),
        ("exec -w src @notebook ls", "exists: '--cwd'"),
        ("ws list", "exists: 'workspace'"),
        ("ws", "exists: 'workspace'"),
        ("images", "exists: 'snapshot list'"),
        ("clone notebook", "'workspace fork', 'branch'"),
        ("rename notebook other", "'workspace fork', 'snapshot label'"),
        ("version", "`snapshotter --version`"),
        ("tools grant --workspace web", "pass SANDBOX|@NAME without '--workspace'"),
        ("exec @notebook --env-file x ls", "exists: '--env'"),
        ("checkpoint create @notebook --name c1", "pass NAME without '--name'"),
        ("workspace fork notebook 3", "you may mean '--count 3'"),
        ("cat @notebook:a -o out", "append `> FILE`"),
        ("restore agent-42 before -o dir", "`snapshotter cp agent-42 before PATH LOCAL`"),
        ("snapshot create agent-42 --label -x", "write '--label=-x'"),
        ("snapshot create agent-42 --expires -1d", "write '--expires=-1d'"),
        ("retention set agent-42 --dry-run", "`snapshotter retention plan agent-42`"),
        ("snapshot list @notebook -n 5", "exists: '--limit'"),
        ("key list", "the commands of 'key': rotate"),
        ("workspace create notebook -e A=1", "exists: '--env'"),
        ("rm @notebook:a.txt", "to run a program in a sandbox: `snapshotter exec @notebook rm …`"),
        ("rm @notebook:a.txt", "'workspace delete'"),
        ("npm test", "`snapshotter exec @NAME npm …`"),
        ("snapshot restore agent-42 before", "exists: 'restore'"),
        ("workspace snapshot notebook", "`snapshotter snapshot create @notebook`"),
        ("restore-files @notebook before a --force", "exists: '--overwrite'"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(expected) && !text.contains("as a value"), "{line}: {text}");
    }
    assert!(suggested("snapshotter nonsense").starts_with("error: unrecognized subcommand 'nonsense'\n\nUsage"));
}

#[test]
fn an_id_without_its_sandbox_says_what_is_missing() {
    for (line, expected) in [
        ("snapshot show snap-9rbk8d2dduhnwf6u", "snapshot show SANDBOX|@NAME snap-9rbk8d2dduhnwf6u"),
        ("restore snap-9rbk8d2dduhnwf6u", "restore SANDBOX|@NAME snap-9rbk8d2dduhnwf6u"),
        ("diff snap-9rbk8d2dduhnwf6u", "diff SANDBOX|@NAME snap-9rbk8d2dduhnwf6u"),
        ("commands output c1", "commands output SANDBOX|@NAME c1"),
        ("snapshot pin @notebook:before", "snapshot pin @notebook before"),
        ("workspace rollback @notebook/before", "workspace rollback @notebook before"),
        ("restore snap_9rbk8d2dduhnwf6u", "restore --ref snap_9rbk8d2dduhnwf6u"),
        ("commands output @notebook", ""),
        ("snapshot show agent-42", ""),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        let has_tip = text.contains(&format!("`snapshotter {expected}`"));
        assert_eq!(has_tip, !expected.is_empty(), "{line}: {text}");
    }
}

#[test]
fn a_name_without_its_option_suggests_the_option() {
    for (line, option) in [
        ("workspace list acme", "'--tenant acme'"),
        ("workspace fork notebook try-1", "'--new-name try-1'"),
        ("snapshot label @notebook snap-9rbk8d2dduhnwf6u keep", "'--to keep'"),
        ("snapshot create @notebook before", "'--label before'"),
        ("workspace promote notebook @try-1", "'--from @try-1'"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(&format!("tip: you may mean {option}")), "{line}: {text}");
    }
    let delete = suggested("snapshotter snapshot delete agent-42 before after");
    assert!(!delete.contains("tip"), "{delete}");
}

#[test]
fn an_option_with_the_name_of_an_argument_suggests_the_argument() {
    let create = suggested("snapshotter workspace create --name notebook");
    assert!(create.contains("tip: pass NAME without '--name'"), "{create}");
    assert!(!create.contains("as a value"), "{create}");
}

#[test]
fn an_unknown_option_is_not_suggested_as_a_value() {
    let restore = suggested("snapshotter restore agent-42 before --lable x");
    assert!(restore.contains("'--lable'") && !restore.contains("as a value"), "{restore}");
    let create = suggested("snapshotter snapshot create agent-42 --lable x");
    assert!(create.contains("'--label'") && !create.contains("as a value"), "{create}");
}

#[test]
fn a_command_of_another_program_suggests_the_one_here() {
    for (line, expected) in [
        ("snapshotter rollback", "'workspace rollback'"),
        ("snapshotter undo", "'workspace rollback'"),
        ("snapshotter workspace undo", "'workspace rollback'"),
        ("snapshotter logs", "'commands output'"),
        ("snapshotter ps", "'commands list'"),
        ("snapshotter run @proj ls", "'exec'"),
        ("snapshotter ssh @proj", "'exec'"),
        ("snapshotter health", "'doctor'"),
        ("snapshotter write @proj:x", "'cp'"),
        ("snapshotter status", "'doctor', 'workspace show'"),
        ("snapshotter save @proj", "'snapshot create'"),
        ("snapshotter rm proj", "'workspace delete', 'snapshot delete', 'checkpoint delete'"),
        ("snapshotter workspace rm proj", "exists: 'workspace delete'"),
        ("snapshotter snapshot rm proj", "exists: 'snapshot delete'"),
        ("snapshotter checkpoint rm proj", "exists: 'checkpoint delete'"),
        ("snapshotter tokens rm x", "exists: 'tokens revoke'"),
        ("snapshotter commands rm x", "exists: 'commands end'"),
    ] {
        let text = suggested(line);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn an_option_of_another_program_suggests_the_one_here() {
    for (line, expected) in [
        ("checkpoint create @proj a --description x", "'--message'"),
        ("snapshot create @proj --description x", "'--label'"),
        ("snapshot create @proj --tag x", "'--label'"),
        ("snapshot create @proj --ttl 1d", "'--expires'"),
        ("exec @proj --background ls", "'--detach'"),
        ("snapshot list @proj --adress x", "'--address'"),
        ("snapshot create @proj --frsh", "'--fresh'"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(&format!("tip: a similar argument exists: {expected}")), "{line}: {text}");
    }
}

#[test]
fn an_option_that_is_hardly_similar_is_not_suggested() {
    for line in ["checkpoint create @proj a --incision x", "snapshot create @proj --tap x", "doctor --versio"] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(!text.contains("tip:"), "{line}: {text}");
    }
}

#[test]
fn a_tenant_is_a_part_of_the_name_where_the_command_has_no_option_for_it() {
    for (line, expected) in [
        ("exec @proj --tenant acme ls", "write @TENANT/NAME in place of @NAME, without '--tenant'"),
        ("snapshot list @proj --tenant acme", "write @TENANT/NAME in place of @NAME, without '--tenant'"),
        ("workspace show proj --tenant acme", "write TENANT/NAME in place of NAME, without '--tenant'"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(&format!("tip: {expected}")) && !text.contains("--token"), "{line}: {text}");
    }
}

#[test]
fn a_unit_after_its_number_suggests_one_word() {
    for (line, expected) in [
        ("workspace create own --idle 2 hours", Some("'--idle 2h'")),
        ("workspace update own --idle 2 min", Some("'--idle 2m'")),
        ("snapshot create @own --expires 14 Days --label x", Some("'--expires 14d'")),
        ("workspace update own --autosave-keep 3 snapshots", None),
        ("workspace update own --idle 2 moons", None),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(expected.is_none_or(|expected| text.contains(&format!("tip: write {expected}"))), "{line}: {text}");
        assert!(expected.is_some() || !text.contains("tip:"), "{line}: {text}");
    }
}

#[test]
fn a_second_workspace_is_no_label() {
    for (line, expected) in [
        (
            "workspace stop notebook before",
            "you may mean '--label before'; for another workspace, run `snapshotter workspace stop before`",
        ),
        (
            "workspace start notebook before",
            "you may mean '--from before'; for another workspace, run `snapshotter workspace start before`",
        ),
        (
            "workspace stop notebook @other",
            "the command takes one workspace; for another, run `snapshotter workspace stop @other`",
        ),
        (
            "snapshot create @notebook @other",
            "the command takes one workspace; for another, run `snapshotter snapshot create @other`",
        ),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(&format!("tip: {expected}\n")), "{line}: {text}");
    }
}

#[test]
fn other_errors_stay_as_they_are() {
    assert!(suggested("snapshotter workspace strat").contains("'workspace start'"));
    assert!(!suggested("snapshotter nonsense").contains("tip"));
}

#[test]
fn a_missing_argument_says_how_to_find_it() {
    for (line, expected) in [
        ("workspace stop", "`snapshotter workspace list` lists the workspaces"),
        ("workspace show", "`snapshotter workspace list` lists the workspaces"),
        ("workspace create", "`snapshotter workspace create notebook`"),
        ("commands list", "`snapshotter workspace list` lists the workspaces"),
        ("snapshot list", "`snapshotter workspace list` lists the workspaces"),
        ("commands output @n", "`snapshotter commands list @n` lists the commands"),
        ("diff @n", "`snapshotter snapshot list @n` lists the snapshots"),
        ("restore @n", "`snapshotter snapshot list @n` lists the snapshots"),
        ("workspace rollback n", "`snapshotter snapshot list @n` lists the snapshots"),
        (
            "snapshot show before",
            "the workspace comes first, then the snapshot: `snapshotter snapshot list SANDBOX|@NAME`",
        ),
        ("checkpoint diff @n", "`snapshotter checkpoint list @n` lists the checkpoints"),
        ("checkpoint create @n", "`snapshotter checkpoint create @n tests-pass`"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains("tip: ") && text.contains(expected), "{line}: {text}");
    }
}

#[test]
fn habits_of_other_programs_have_tips() {
    for (line, expected) in [
        // A deletion would remove the snapshots, too.
        ("workspace kill n", "exists: 'workspace stop'"),
        ("commands kill @n x", "exists: 'commands end'"),
        ("workspace rollback n before --yes", "the command asks nothing"),
        ("diff -u @n a", "`--patch` prints the changed lines"),
        ("diff --stat @n a b", "sizes of each file without an option"),
        ("diff --name-only @n a b", "`--quiet` prints the paths only"),
        ("snapshot label @n a --label X", "exists: '--to'"),
        ("checkpoint create @n --label x", "the name is an argument without an option"),
        ("--hlp", "exists: '--help'"),
        ("workspace show a b", "for another, run `snapshotter workspace show b`"),
        ("workspace fork A b c d", "'--count 3' makes 3 forks"),
        ("workspace promote A B", "`snapshotter workspace promote B --from @A`"),
        ("tokens create ci", "you may mean '--label ci'"),
        ("tokens create read", "you may mean '--permission read'"),
        ("tokens create --permission exec", "exists: 'work'"),
        ("import x.tar", "`snapshotter exec @NAME tar x < FILE.tar`"),
        ("login", "there is no login"),
        ("config", "`snapshotter doctor`"),
        ("rename a b", "`snapshotter workspace fork NAME --new-name OTHER`"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(expected) && !text.contains("as a value"), "{line}: {text}");
    }
}

#[test]
fn a_tip_has_the_names_of_the_user() {
    for (line, expected) in [
        ("exec -it @web bash", "`echo ls | snapshotter exec @web bash`"),
        ("ls @web -R", "`snapshotter exec @web ls -R`"),
        ("ls @web:src -R", "`snapshotter exec @web ls -R`"),
        ("ls @web before -R", "`snapshotter export @web before | tar t`"),
        ("workspace stop web --discard", "`snapshotter workspace update web --persistent false`"),
        ("workspace stop --timeout 1m @web --discard", "`snapshotter workspace update web --persistent false`"),
        ("workspace delete team/web --dry-run", "`snapshotter snapshot list @team/web`"),
        ("workspace rollback web b --dry-run", "`snapshotter diff @web b`"),
        ("checkpoint restore @web c --dry-run", "`snapshotter checkpoint diff @web c`"),
        ("snapshot create agent-42 --pin", "`snapshotter snapshot pin agent-42 ID|LABEL`"),
        ("restore @web b --count 3", "`snapshotter workspace fork web --count N`"),
        ("restore agent-42 b --count 3", "`snapshotter workspace fork NAME --count N`"),
        ("rm @web:a.txt", "`snapshotter exec @web rm …`"),
        ("rename @web other", "`snapshotter workspace fork web --new-name OTHER`"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(expected), "{line}: {text}");
    }
}

#[test]
fn a_missing_argument_is_answered_with_what_it_can_be() {
    for (line, expected) in [
        ("tokens revoke", "`snapshotter tokens list` lists the tokens"),
        ("exec @web", "as in `snapshotter exec @web ls -l`"),
        ("cp", "as in `snapshotter cp notes.txt @notebook:notes.txt`"),
        ("revive", "`snapshotter workspace start NAME`"),
        ("workspace promote web", "`snapshotter snapshot list @web`"),
        ("workspace migrate web", "'--runtime sdk-0.12' or '--runtime container'"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains("tip: ") && text.contains(expected), "{line}: {text}");
    }
}
