//! The configuration file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sandbox_snapshotter_client::model::similar::most_similar;
use serde::Deserialize;

use super::{Environment, environment_text};
use crate::args::Global;
use crate::failure::{Failure, Result};
use crate::input;

/// The configuration file. A profile inherits nothing: fields that it omits are absent.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    address: Option<String>,
    token: Option<String>,
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

/// The settings for one server.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The address of the server.
    pub address: Option<String>,
    /// The token for the API.
    pub token: Option<String>,
}

/// Reads the selected profile of the configuration file. A file at the default path that cannot be read is ignored with
/// a warning, unless `is_needed` or a profile is selected.
pub fn read_profile(
    flags: &Global,
    environment: Environment<'_>,
    is_needed: bool,
    warn: &mut dyn FnMut(String),
) -> Result<Profile> {
    let named = flags.config.clone().or(environment_text(environment, "SNAPSHOTTER_CONFIG")?.map(PathBuf::from));
    let is_named = named.is_some();
    let Some(path) = named.or_else(|| default_path(environment)) else { return select_profile(File::default(), flags) };
    match read_file(&path, is_named) {
        Ok(file) => {
            if file.has_token() && others_can_read(&path) {
                let shown = path.display();
                warn(format!("others on this machine can read the token in {shown}: run `chmod 600` on the file"));
            }
            select_profile(file, flags)
        }
        Err(Failure::Reported(report)) if !is_named && !is_needed && flags.profile.is_none() => {
            warn(format!("{} The file is ignored.", report.message));
            Ok(Profile::default())
        }
        Err(failure) => Err(failure),
    }
}

fn read_file(path: &Path, is_named: bool) -> Result<File> {
    let shown = path.display();
    let text = match input::read_file(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named => return Ok(File::default()),
        Err(error) => {
            let message = format!("The configuration file {shown} can't be read: {error}.");
            let remediation = "Pass the path of an existing file with `--config` or SNAPSHOTTER_CONFIG.";
            return Err(Failure::invalid("SETTINGS_UNREADABLE", message, remediation));
        }
    };
    toml::from_str(&text).map_err(|error| {
        // `Display` quotes the line, and most messages quote a value. Either may be the token.
        let line = error.span().map_or(0, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        let unknown = error.message().split(',').next().filter(|message| message.starts_with("unknown field"));
        let why = unknown.map_or_else(String::new, |unknown| format!(": {unknown}"));
        Failure::invalid(
            "SETTINGS_INVALID",
            format!("The configuration file {shown} is invalid at line {line}{why}."),
            "Write TOML with `address` and `token`, and the same fields under `[profiles.<name>]`.",
        )
    })
}

fn select_profile(mut file: File, flags: &Global) -> Result<Profile> {
    let Some(name) = &flags.profile else { return Ok(Profile { address: file.address, token: file.token }) };
    let similar = most_similar(name, file.profiles.keys().map(String::as_str));
    let remediation = match similar {
        Some(similar) => format!("Did you mean the profile {similar:?}?"),
        None => format!("Add `[profiles.{name}]` with `address` and `token` to the file."),
    };
    file.profiles.remove(name).ok_or_else(|| {
        Failure::invalid("PROFILE_NOT_FOUND", format!("The configuration file has no profile {name:?}."), remediation)
    })
}

impl File {
    fn has_token(&self) -> bool {
        self.token.is_some() || self.profiles.values().any(|profile| profile.token.is_some())
    }
}

/// Returns the default path of the file.
fn default_path(environment: Environment<'_>) -> Option<PathBuf> {
    let path = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let dir = path("XDG_CONFIG_HOME").or_else(|| Some(path("HOME")?.join(".config")))?;
    Some(dir.join("snapshotter/config.toml"))
}

#[cfg(unix)]
fn others_can_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn others_can_read(_: &Path) -> bool {
    false
}
