//! Commands and options that people know from docker, git and kubectl.

use super::suggested;

#[test]
fn unknown_commands_of_a_group_suggest_what_does_the_same() {
    for (line, expected) in [
        ("workspace restart web", "`snapshotter workspace stop web`, then `snapshotter workspace start web`"),
        (
            "workspace rename web site",
            "`snapshotter workspace fork web --new-name NEW`, then `snapshotter workspace delete web`",
        ),
        ("workspace mv web site", "`snapshotter workspace fork web --new-name NEW`"),
        ("workspace restore web b", "`snapshotter workspace rollback web ID|LABEL`"),
        ("workspace exec web ls -l", "`snapshotter exec @web ls -l`"),
        ("workspace run @web ls", "`snapshotter exec @web ls`"),
        ("workspace exec team/web ls", "`snapshotter exec @team/web ls`"),
        ("workspace exec", "`snapshotter exec @NAME …`"),
        ("workspace cp web:a .", "`snapshotter cp @web:a .`"),
        ("workspace snapshot web", "`snapshotter snapshot create @web`"),
        ("push", "`snapshotter snapshot create @NAME`"),
        ("workspace ls web", "`snapshotter ls @web`"),
        ("pull", "`snapshotter export"),
        ("restart web", "`snapshotter workspace stop NAME`"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(expected), "{line}: {text}");
    }
    let exec = suggested("snapshotter workspace exec web ls");
    assert!(!exec.contains("similar") && !exec.contains("exists: 'exec'"), "{exec}");
}

#[test]
fn unknown_options_have_tips() {
    for (line, expected) in [
        ("workspace fork web -n 3", "exists: '--count'"),
        ("workspace fork web --number 3", "exists: '--count'"),
        ("workspace delete --all", "`snapshotter workspace list --quiet` lists those of all"),
        ("workspace stop --all", "`snapshotter workspace list --quiet` lists those of all"),
        ("exec --user root @web ls", "`snapshotter exec @web su USER -c COMMAND`"),
        ("exec -u root @web ls", "`snapshotter exec @web su USER -c COMMAND`"),
        ("exec --rm @web ls", "the workspace stays: `snapshotter workspace delete web`"),
        ("workspace create web --rm", "`--idle`"),
        ("snapshot list @web --last", "the newest snapshot is the first: '--limit 1'"),
        ("snapshot list @web --last 3", "the newest snapshot is the first: '--limit 1'"),
        ("workspace list --filter web", "exists: '--prefix'"),
        ("snapshot list @web --filter web", "append `| grep TEXT`"),
        ("workspace list --watch", "`watch` in front of the command"),
        ("workspace list -w", "`watch` in front of the command"),
        ("snapshot list @web --watch", "the list is printed once"),
        ("exec @web --verbose ls", "`--json` prints all details"),
        ("workspace start web --verbose", "`--json` prints all details"),
        ("workspace start web -v", "`--json` prints all details"),
        ("snapshot list @web -v", "`--json` prints all details"),
    ] {
        let text = suggested(&format!("snapshotter {line}"));
        assert!(text.contains(expected) && !text.contains("as a value"), "{line}: {text}");
    }
}

#[test]
fn a_background_command_takes_the_option_for_no_standard_input() {
    use clap::Parser;
    for line in ["exec -d -n @web npm start", "exec -dn @web npm start", "exec --detach --no-stdin @web npm start"] {
        let parsed = crate::args::Cli::try_parse_from(format!("snapshotter {line}").split(' '));
        assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
    }
}
