//! The settings of a named workspace, from the options of a command.

use std::collections::BTreeMap;
use std::env::VarError;
use std::path::Path;

use sandbox_snapshotter_client::model::Policy;
use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::named::settings::{DependsOn, Expiry, Hook, Hooks, OnFailure, OnMismatch};
use sandbox_snapshotter_client::model::named::{self, Autosave, ImageChoice, StoragePolicy};
use sandbox_snapshotter_client::model::request::SettingsUpdate;
use serde::{Deserialize, Deserializer};

use super::documents;
use crate::args::settings::{HookFailure, MismatchAction, Settings, StorageChoice};
use crate::failure::{Failure, Result};

/// The settings in a file, in the format of the API.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    persistent: Option<bool>,
    storage: Option<StoragePolicy>,
    durable: Option<bool>,
    incremental: Option<bool>,
    /// `null` is the default of the class.
    #[serde(default, deserialize_with = "some")]
    image: Option<ImageChoice>,
    retention: Option<Policy>,
    hooks: Option<Hooks>,
    expiry: Option<Expiry>,
    autosave: Option<Autosave>,
    depends_on: Option<DependsOn>,
    env: Option<BTreeMap<String, String>>,
}

/// Returns the settings to change. The parts of a setting that no option changes are those of a file, or else those of the workspace
/// `present`.
pub fn settings_update(given: &Settings, present: Option<&WorkspaceDescription>) -> Result<SettingsUpdate> {
    let file: File = given.file.as_deref().map(documents::json).transpose()?.unwrap_or_default();
    Ok(SettingsUpdate {
        persistent: given.persistent.or(file.persistent),
        storage: given.storage.map(storage).or(file.storage),
        durable: given.durable.or(file.durable),
        incremental: given.incremental.or(file.incremental),
        image: if given.default_image { Some(ImageChoice(None)) } else { image(given).or(file.image) },
        retention: retention(given, file.retention, present.map(|present| &present.retention)),
        hooks: hooks(given, file.hooks, present.map(|present| &present.hooks))?,
        expiry: expiry(given, file.expiry, present.map(|present| &present.expiry)),
        autosave: autosave(given, file.autosave, present.map(|present| &present.autosave)),
        depends_on: depends_on(given, file.depends_on, present.map(|present| &present.depends_on)),
        env: env(given, file.env)?,
    })
}

/// Decodes a value that is present, also if it is `null`.
fn some<'de, D: Deserializer<'de>>(value: D) -> std::result::Result<Option<ImageChoice>, D::Error> {
    ImageChoice::deserialize(value).map(Some)
}

fn image(given: &Settings) -> Option<ImageChoice> {
    given.image.clone().map(|name| ImageChoice(Some(name)))
}

fn storage(choice: StorageChoice) -> StoragePolicy {
    match choice {
        StorageChoice::Archive => StoragePolicy::Archive,
        StorageChoice::Both => StoragePolicy::Both,
        StorageChoice::Platform => StoragePolicy::Platform,
    }
}

fn retention(given: &Settings, file: Option<Policy>, present: Option<&Policy>) -> Option<Policy> {
    if !given.policy.is_given() {
        return file;
    }
    Some(given.policy.to_policy(&file.or(present.cloned()).unwrap_or_default()))
}

fn hooks(given: &Settings, file: Option<Hooks>, present: Option<&Hooks>) -> Result<Option<Hooks>> {
    if given.no_hooks {
        return Ok(Some(Hooks::default()));
    }
    let commands = [&given.before_stop, &given.after_start, &given.on_timeout];
    if commands.iter().any(|command| command.as_ref().is_some_and(|command| command.trim().is_empty())) {
        let remediation = "Pass a command. `--no-hooks` removes all hooks of the workspace.";
        return Err(Failure::invalid("INVALID_USAGE", "A hook has no command.", remediation));
    }
    if commands.iter().all(|command| command.is_none()) {
        if given.hook_timeout.is_some() || given.hook_failure.is_some() {
            let message = "`--hook-timeout` and `--hook-failure` require a hook.";
            let remediation =
                "Pass `--before-stop`, `--after-start` or `--on-timeout`; the hooks of a file have their own options.";
            return Err(Failure::invalid("INVALID_USAGE", message, remediation));
        }
        return Ok(file);
    }
    let seconds = given.hook_timeout.map_or(60, |duration| duration.0);
    let timeout_seconds = u32::try_from(seconds).map_err(|_| {
        let message = format!("`--hook-timeout` must be at most 10m, got {seconds}s.");
        Failure::invalid("INVALID_USAGE", message, "Pass a shorter time limit.")
    })?;
    let on_failure = match given.hook_failure {
        Some(HookFailure::Warn) => OnFailure::Warn,
        Some(HookFailure::Fail) | None => OnFailure::Fail,
    };
    let hook = |command: &Option<String>| command.clone().map(|command| Hook { command, timeout_seconds, on_failure });
    let base = file.or(present.cloned()).unwrap_or_default();
    Ok(Some(Hooks {
        before_stop: hook(&given.before_stop).or(base.before_stop),
        after_start: hook(&given.after_start).or(base.after_start),
        on_timeout: hook(&given.on_timeout).or(base.on_timeout),
    }))
}

fn expiry(given: &Settings, file: Option<Expiry>, present: Option<&Expiry>) -> Option<Expiry> {
    if given.idle.is_none() && given.max_age.is_none() {
        return file;
    }
    let base = file.or(present.copied()).unwrap_or_default();
    Some(Expiry {
        idle_seconds: given.idle.map_or(base.idle_seconds, |duration| duration.0),
        max_seconds: given.max_age.map_or(base.max_seconds, |duration| duration.0),
    })
}

fn autosave(given: &Settings, file: Option<Autosave>, present: Option<&Autosave>) -> Option<Autosave> {
    let Settings { autosave_every, autosave_after_turn, autosave_keep, .. } = given;
    if autosave_every.is_none() && autosave_after_turn.is_none() && autosave_keep.is_none() {
        return file;
    }
    let base = file.or(present.copied()).unwrap_or_default();
    Some(Autosave {
        every_seconds: autosave_every.map_or(base.every_seconds, |duration| duration.0),
        after_turn: autosave_after_turn.unwrap_or(base.after_turn),
        keep_last: autosave_keep.unwrap_or(base.keep_last),
        only_if_changed: base.only_if_changed,
    })
}

fn depends_on(given: &Settings, file: Option<DependsOn>, present: Option<&DependsOn>) -> Option<DependsOn> {
    let is_given = given.fingerprint.is_some() || given.on_mismatch.is_some() || given.on_image_change.is_some();
    if given.depends_on.is_empty() && !is_given {
        return file;
    }
    let base = file.or(present.cloned()).unwrap_or_default();
    Some(DependsOn {
        files: if given.depends_on.is_empty() { base.files } else { given.depends_on.clone() },
        fingerprint: given.fingerprint.clone().or(base.fingerprint),
        on_mismatch: given.on_mismatch.map_or(base.on_mismatch, |change| match change {
            MismatchAction::Fail => OnMismatch::Fail,
            MismatchAction::Report => OnMismatch::Report,
        }),
        on_image_change: given.on_image_change.map_or(base.on_image_change, Into::into),
    })
}

fn env(given: &Settings, file: Option<BTreeMap<String, String>>) -> Result<Option<BTreeMap<String, String>>> {
    if given.no_env {
        return Ok(Some(BTreeMap::new()));
    }
    if given.env.is_empty() && given.env_file.is_none() {
        return Ok(file);
    }
    let mut env = file.unwrap_or_default();
    if let Some(path) = &given.env_file {
        env.extend(parse_env_file(&documents::text(path)?, path)?);
    }
    for variable in &given.env {
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (variable.as_str(), own_environment(variable)?),
        };
        check_variable(name, &value).map_err(|why| {
            let message = format!("A variable of `--env` {why}.");
            Failure::invalid("INVALID_USAGE", message, "Pass `--env NAME=VALUE`.")
        })?;
        env.insert(name.to_owned(), value);
    }
    Ok(Some(env))
}

/// Verifies a variable as the server does, which names neither the variable nor the line.
fn check_variable(name: &str, value: &str) -> std::result::Result<(), String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_word) {
        let why = "has letters, digits and _ only, and does not begin with a digit";
        return Err(format!("has the invalid name {name:?}: a name {why}"));
    }
    if value.contains('\0') { Err(format!("sets {name} to a value with a null byte")) } else { Ok(()) }
}

/// Returns the value of a variable in this program's environment.
pub(super) fn own_environment(name: &str) -> Result<String> {
    std::env::var(name).map_err(|error| {
        let why = match error {
            VarError::NotPresent => "is not set",
            VarError::NotUnicode(_) => "is not UTF-8",
        };
        let remediation = "Set it to UTF-8 text, or pass `--env NAME=VALUE`.";
        Failure::invalid("INVALID_USAGE", format!("The environment variable {name:?} {why}."), remediation)
    })
}

/// Parses a file of variables: one `NAME=VALUE` per line. Empty lines and lines that start with `#` are ignored.
fn parse_env_file(text: &str, path: &Path) -> Result<Vec<(String, String)>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(index, line)| {
            // The error must not contain the value, which may be a secret, or a line without a name.
            let refuse = |why: &str| {
                let message = format!("Line {} of {} {why}.", index + 1, path.display());
                Failure::invalid("INPUT_INVALID", message, "Write each variable on its own line, as NAME=VALUE.")
            };
            let (name, value) = line.split_once('=').ok_or_else(|| refuse("is not NAME=VALUE"))?;
            check_variable(name.trim(), value).map_err(|why| refuse(&why))?;
            Ok((name.trim().to_owned(), value.to_owned()))
        })
        .collect()
}

/// Returns whether an existing workspace has other settings than the given ones. Of its environment, only the names are known.
pub(super) fn keeps_other_settings(given: SettingsUpdate, described: &WorkspaceDescription) -> bool {
    let described = described.clone();
    let present = named::Settings {
        persistent: described.persistent,
        storage: described.storage,
        incremental: described.incremental,
        image: described.image,
        retention: described.retention,
        hooks: described.hooks,
        expiry: described.expiry,
        autosave: described.autosave,
        depends_on: described.depends_on,
        ..named::Settings::new(described.dir)
    };
    let has_other_names = given.env.as_ref().is_some_and(|env| env.keys().ne(&described.env_names));
    let given = SettingsUpdate { env: None, durable: None, ..given };
    has_other_names || given.apply(present.clone()) != present
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command, workspace::Workspace};
    use clap::Parser;
    use serde_json::json;

    fn settings(options: &[&str]) -> Settings {
        let command = ["snapshotter", "workspace", "create", "notebook"];
        match Cli::try_parse_from(command.iter().chain(options)).unwrap().command {
            Command::Workspace(command) => match *command {
                Workspace::Create(create) => create.settings,
                _ => unreachable!(),
            },
            _ => unreachable!(),
        }
    }

    fn update(options: &[&str]) -> serde_json::Value {
        json!(settings_update(&settings(options), None).unwrap())
    }

    #[test]
    fn settings_without_options_stay_unchanged() {
        assert_eq!(settings_update(&settings(&[]), None).unwrap(), SettingsUpdate::default());
    }

    #[test]
    fn options_are_converted_to_settings() {
        let changes = update(&[
            "--persistent=false",
            "--storage=platform",
            "--durable=false",
            "--incremental=false",
            "--image=python",
            "--idle=30m",
            "--autosave-every=5m",
            "--autosave-after-turn=true",
            "--autosave-keep=3",
            "--after-start=npm start",
            "--hook-failure=warn",
            "--hook-timeout=2m",
            "--depends-on=package.json",
            "--fingerprint=abc",
            "--on-mismatch=report",
            "--env=A=1=2",
            "--keep-last=3",
            "--expires=never",
        ]);
        assert_eq!(changes["persistent"], false);
        assert_eq!((&changes["storage"], &changes["durable"]), (&json!("platform"), &json!(false)));
        assert_eq!((&changes["incremental"], &changes["image"]), (&json!(false), &json!("python")));
        assert_eq!(changes["expiry"], json!({ "idleSeconds": 1800, "maxSeconds": 0 }));
        let autosave = json!({ "everySeconds": 300, "onlyIfChanged": true, "afterTurn": true, "keepLast": 3 });
        assert_eq!(changes["autosave"], autosave);
        let hook = json!({ "command": "npm start", "timeoutSeconds": 120, "onFailure": "warn" });
        assert_eq!(changes["hooks"], json!({ "afterStart": hook }));
        assert_eq!(changes["dependsOn"]["files"], json!(["package.json"]));
        assert_eq!(changes["dependsOn"]["onMismatch"], "report");
        assert_eq!(changes["env"], json!({ "A": "1=2" }));
        assert_eq!(changes["retention"]["expirationSeconds"], 0);
        assert_eq!(changes["retention"]["keepLast"]["count"], 3);
    }

    #[test]
    fn default_image_is_null_and_differs_from_no_image() {
        assert_eq!(update(&["--default-image"]).get("image"), Some(&json!(null)));
        assert_eq!(update(&[]).get("image"), None);
        assert!(
            Cli::try_parse_from(["snapshotter", "workspace", "update", "a", "--image=b", "--default-image"]).is_err()
        );
        let file: File = serde_json::from_value(json!({ "image": null })).unwrap();
        assert_eq!((file.image, File::default().image), (Some(ImageChoice(None)), None));
    }

    #[test]
    fn hook_options_require_a_hook() {
        for option in ["--hook-timeout=2m", "--hook-failure=warn"] {
            let refused = settings_update(&settings(&[option]), None).err();
            assert_eq!(refused.as_ref().and_then(Failure::code), Some("INVALID_USAGE"), "{option}");
        }
    }

    #[test]
    fn hooks_and_variables_are_removed_by_options() {
        assert_eq!(update(&["--no-hooks"])["hooks"], json!({}));
        assert_eq!(update(&["--no-env"])["env"], json!({}));
        for options in
            [["--no-hooks", "--after-start=x"], ["--no-hooks", "--hook-failure=warn"], ["--no-env", "--env=A=1"]]
        {
            let words = ["snapshotter", "workspace", "update", "notebook"];
            assert!(Cli::try_parse_from(words.iter().chain(&options)).is_err(), "{options:?}");
        }
        let Err(Failure::Reported(report)) = settings_update(&settings(&["--after-start", ""]), None) else { panic!() };
        assert!(report.remediation.contains("`--no-hooks`"), "{report:?}");
    }

    #[test]
    fn an_invalid_variable_is_named_without_its_value() {
        let text = |failure: Failure| match failure {
            Failure::Reported(report) => report.message,
            Failure::OutputClosed => String::new(),
        };
        let of_file = |content| text(parse_env_file(content, Path::new("vars")).unwrap_err());
        assert!(
            of_file("A=1\nexport B=s3cret").starts_with("Line 2 of vars has the invalid name \"export B\": a name has")
        );
        assert_eq!(of_file("A=s3cret\0"), "Line 1 of vars sets A to a value with a null byte.");
        let given = text(settings_update(&settings(&["--env", "1A=s3cret"]), None).unwrap_err());
        assert!(given.starts_with("A variable of `--env` has the invalid name \"1A\"") && !given.contains("s3cret"));
    }

    #[test]
    fn a_variables_file_has_one_variable_per_line() {
        let read = parse_env_file("# comment\nA=1\n\nB = x=y \r\n", Path::new("env")).unwrap();
        assert_eq!(read, [("A".into(), "1".into()), ("B".into(), " x=y ".into())]);
    }

    #[test]
    fn an_invalid_line_of_a_variables_file_is_reported_by_number_only() {
        let Err(Failure::Reported(report)) = parse_env_file("A=1\nsecret", Path::new("env")) else {
            panic!("the line must be refused")
        };
        assert_eq!(
            (report.code.as_str(), report.message.as_str()),
            ("INPUT_INVALID", "Line 2 of env is not NAME=VALUE.")
        );
    }
}
