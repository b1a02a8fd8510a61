//! The file of settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Environment, environment_text};
use crate::args::Global;
use crate::failure::{Failure, Result};
use crate::input;

/// The file of settings. A profile stands for itself: what it does not say is not taken from outside of it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    address: Option<String>,
    token: Option<String>,
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

/// One server in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Where it is.
    pub address: Option<String>,
    /// The token for its API.
    pub token: Option<String>,
}

/// What the file says, of the profile that is asked for. One that nobody named, and that nobody needs, may be unreadable.
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
                warn(format!("others on this machine can read the token in {shown}: `chmod 600` keeps it to you"));
            }
            select_profile(file, flags)
        }
        Err(Failure::Reported(told)) if !is_named && !is_needed && flags.profile.is_none() => {
            warn(format!("{} It is passed over.", told.message));
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
            let message = format!("The file of settings {shown} can't be read: {error}.");
            let remediation = "Give a file that is there with --config or SNAPSHOTTER_CONFIG.";
            return Err(Failure::invalid("SETTINGS_UNREADABLE", message, remediation));
        }
    };
    toml::from_str(&text).map_err(|error| {
        // Its `Display` would quote the line, and most messages a value: either may be the token.
        let line = error.span().map_or(0, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        let unknown = error.message().split(',').next().filter(|message| message.starts_with("unknown field"));
        let why = unknown.map_or_else(String::new, |unknown| format!(": {unknown}"));
        Failure::invalid(
            "SETTINGS_INVALID",
            format!("The file of settings {shown} can't be understood, at line {line}{why}."),
            "It is TOML with `address` and `token`, and the same under `[profiles.<name>]`.",
        )
    })
}

fn select_profile(mut file: File, flags: &Global) -> Result<Profile> {
    let Some(name) = &flags.profile else { return Ok(Profile { address: file.address, token: file.token }) };
    file.profiles.remove(name).ok_or_else(|| {
        Failure::invalid(
            "PROFILE_NOT_FOUND",
            format!("The file of settings has no profile {name:?}."),
            format!("Write `[profiles.{name}]` into it, with `address` and `token`."),
        )
    })
}

impl File {
    fn has_token(&self) -> bool {
        self.token.is_some() || self.profiles.values().any(|profile| profile.token.is_some())
    }
}

/// Where the file is, if nothing says otherwise.
fn default_path(environment: Environment<'_>) -> Option<PathBuf> {
    let set = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("snapshotter/config.toml"))
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
