//! The address of the server and its token: from flags, else from the environment, else from the configuration file. If
//! a flag selects a profile, the environment is ignored.

mod address;
mod file;
mod token;

use std::ffi::OsString;
use std::time::Duration;

pub use address::Address;
pub use token::Token;

use crate::args::Global;
use crate::args::duration::DurationArg;
use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// The settings of a call.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address of the server.
    pub address: Address,
    /// The token for the API.
    pub token: Option<Token>,
    /// The time limit of a call; no limit if absent.
    pub timeout: Option<Duration>,
}

/// The environment: returns the value of a variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The default time limit: 15 minutes.
const DEFAULT_TIMEOUT: DurationArg = DurationArg(15 * 60);

/// The maximum time limit, in seconds: one day, which is longer than any call takes.
const MAX_TIMEOUT_SECONDS: u64 = 86_400;

/// The sources of settings.
pub struct Sources<'a> {
    flags: &'a Global,
    environment: Environment<'a>,
    file: file::Profile,
}

impl<'a> Sources<'a> {
    /// Reads the configuration file. Passes warnings to `warn`.
    pub fn read(flags: &'a Global, environment: Environment<'a>, warn: &mut dyn FnMut(String)) -> Result<Self> {
        let is_set = |name| environment(name).is_some_and(|value| !value.is_empty());
        let has_address = flags.address.is_some() || is_set("SNAPSHOTTER_ADDRESS");
        let has_token = flags.token.is_some() || flags.token_file.is_some() || is_set("SNAPSHOTTER_TOKEN");
        let file = file::read_profile(flags, environment, !has_address || !has_token, warn)?;
        Ok(Self { flags, environment, file })
    }

    /// Returns the settings of a call.
    pub fn settings(&self) -> Result<Settings> {
        let address = self.address()?;
        let token = self.token(&address)?.ok_or_else(|| {
            let remediation = match &self.flags.profile {
                Some(name) => format!("Pass `--token-file`, or add `token = \"…\"` under `[profiles.{name}]`."),
                None => "Pass `--token-file`, set SNAPSHOTTER_TOKEN, or add `token = \"…\"` to the configuration file."
                    .into(),
            };
            Failure::local(Exit::Denied, "TOKEN_MISSING", "No token is set.", remediation)
        })?;
        Ok(Settings { address, token: Some(token), timeout: self.timeout() })
    }

    /// Returns the address of the server.
    pub fn address(&self) -> Result<Address> {
        let variable = self.variable("SNAPSHOTTER_ADDRESS")?;
        let address = self.flags.address.as_ref().or(variable.as_ref()).or(self.file.address.as_ref());
        let address = address.ok_or_else(|| {
            Failure::invalid(
                "ADDRESS_MISSING",
                "No server address is set.",
                "Pass `--address`, set SNAPSHOTTER_ADDRESS, or add `address = \"https://…\"` to the configuration file. \
                 `npm run dev` prints the lines that set it and the token.",
            )
        })?;
        Address::parse(address)
    }

    /// Returns the token to send to an address.
    pub fn token(&self, address: &Address) -> Result<Option<Token>> {
        let given = match (&self.flags.token_file, &self.flags.token) {
            (Some(path), _) => Some(Token::read(path)?),
            (None, Some(token)) => Some(token.clone()),
            (None, None) => match self.variable("SNAPSHOTTER_TOKEN")? {
                Some(token) => Some(token),
                None => self.file_token(address)?,
            },
        };
        let token = given.as_deref().map(Token::parse).transpose()?;
        if token.is_some() && !address.is_encrypted() && !address.is_loopback() && !self.flags.allow_http {
            return Err(Failure::local(
                Exit::Denied,
                "TOKEN_IN_CLEAR",
                format!("The token would be sent to {address} without encryption."),
                "Use an address with https://. If the connection is safe, pass `--allow-http`.",
            ));
        }
        Ok(token)
    }

    /// Returns the token of the configuration file, which is sent only to the server of its address.
    fn file_token(&self, address: &Address) -> Result<Option<String>> {
        let Some(token) = &self.file.token else { return Ok(None) };
        let own = self.file.address.as_deref().map(Address::parse).transpose()?;
        match own.filter(|own| !own.is_same_origin(address)) {
            None => Ok(Some(token.clone())),
            Some(own) => Err(Failure::local(
                Exit::Denied,
                "TOKEN_MISSING",
                format!("No token is set for {address}: the token in the configuration file is for {own}."),
                "Pass `--token-file`, or add a profile for that address to the configuration file.",
            )),
        }
    }

    /// Returns a variable that is set and not empty. If a profile is selected, the environment is ignored.
    fn variable(&self, name: &str) -> Result<Option<String>> {
        if self.flags.profile.is_some() { Ok(None) } else { environment_text(self.environment, name) }
    }

    /// Returns the time limit of a call; `None` if there is no limit.
    pub fn timeout(&self) -> Option<Duration> {
        let DurationArg(seconds) = self.flags.timeout.unwrap_or(DEFAULT_TIMEOUT);
        (seconds > 0).then(|| Duration::from_secs(seconds.min(MAX_TIMEOUT_SECONDS)))
    }
}

/// Returns a variable that is set and not empty.
fn environment_text(environment: Environment<'_>, name: &str) -> Result<Option<String>> {
    let value = environment(name).filter(|value| !value.is_empty()).map(OsString::into_string);
    value.transpose().map_err(|_| {
        Failure::invalid(
            "SETTINGS_INVALID",
            format!("The environment variable {name} is not UTF-8."),
            "Set it to UTF-8 text.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;
    use tempfile::{NamedTempFile, TempDir};

    /// Writes a configuration file, which is removed on drop.
    fn config_file(text: &str) -> NamedTempFile {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Creates a configuration directory with a file, which is removed on drop.
    fn config_dir(text: &str) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("snapshotter")).unwrap();
        std::fs::write(dir.path().join("snapshotter/config.toml"), text).unwrap();
        dir
    }

    fn flag_of(file: &NamedTempFile) -> String {
        format!("--config={}", file.path().display())
    }

    const FILE: &str = "\
address = 'https://file'
token = 'of the file'
[profiles.staging]
address = 'https://staging'
[profiles.whole]
address = 'https://whole'
token = 'of the profile'
";

    /// Returns the address and the token for these flags and variables, or the code of the failure.
    fn resolve(flags: &[&str], variables: &[(&str, &str)]) -> Result<(String, String), String> {
        let flags = ["snapshotter", "doctor"].iter().chain(flags);
        let global = Cli::try_parse_from(flags).unwrap().global;
        let environment = |name: &str| {
            let variable = variables.iter().find(|(known, _)| *known == name);
            variable.map(|(_, value)| OsString::from(value))
        };
        let settings = Sources::read(&global, &environment, &mut |_| ()).and_then(|sources| sources.settings());
        let Settings { address, token, .. } = settings.map_err(|failure| failure.code().unwrap().to_owned())?;
        Ok((address.to_string(), token.unwrap().authorization().to_str().unwrap().to_owned()))
    }

    fn both(address: &str, token: &str) -> (String, String) {
        (address.to_owned(), format!("Bearer {token}"))
    }

    fn code<T>(code: &str) -> Result<T, String> {
        Err(code.to_owned())
    }

    #[test]
    fn flags_override_the_environment_and_the_environment_overrides_the_file() {
        let file = config_file(FILE);
        let environment = [("SNAPSHOTTER_ADDRESS", "https://variable"), ("SNAPSHOTTER_TOKEN", "of the variable")];
        let flags = [&flag_of(&file), "--address=https://flag", "--token=of the flag"];
        assert_eq!(resolve(&flags, &environment), Ok(both("https://flag", "of the flag")));
        assert_eq!(resolve(&flags[..1], &environment), Ok(both("https://variable", "of the variable")));
        assert_eq!(resolve(&flags[..1], &[]), Ok(both("https://file", "of the file")));
        assert_eq!(resolve(&flags[..1], &[("SNAPSHOTTER_ADDRESS", "")]), Ok(both("https://file", "of the file")));
    }

    #[test]
    fn the_path_of_the_file_comes_from_a_flag_the_environment_or_the_default() {
        let file = config_file(FILE);
        let path = file.path().display().to_string();
        assert_eq!(resolve(&[], &[("SNAPSHOTTER_CONFIG", &path)]), Ok(both("https://file", "of the file")));
        assert_eq!(resolve(&["--config=/nowhere"], &[("SNAPSHOTTER_CONFIG", &path)]), code("SETTINGS_UNREADABLE"));
        assert_eq!(resolve(&[], &[("HOME", "/nowhere")]), code("ADDRESS_MISSING"));

        let dir = config_dir(FILE);
        let resolved = resolve(&[], &[("XDG_CONFIG_HOME", dir.path().to_str().unwrap())]);
        assert_eq!(resolved, Ok(both("https://file", "of the file")));
    }

    #[test]
    fn a_profile_inherits_nothing() {
        let file = config_file(FILE);
        let staging = [&flag_of(&file), "--profile=staging"];
        let environment = [("SNAPSHOTTER_ADDRESS", "https://variable"), ("SNAPSHOTTER_TOKEN", "of the variable")];
        for environment in [&[][..], &environment[..], &environment[1..]] {
            assert_eq!(resolve(&staging, environment), code("TOKEN_MISSING"));
        }
        let whole = [&flag_of(&file), "--profile=whole"];
        assert_eq!(resolve(&whole, &environment), Ok(both("https://whole", "of the profile")));
        assert_eq!(resolve(&[&flag_of(&file), "--profile=other"], &environment), code("PROFILE_NOT_FOUND"));
    }

    #[test]
    fn the_token_of_the_file_is_sent_only_to_the_server_of_the_file() {
        let file = config_file(FILE);
        let to = |address: &str| resolve(&[&flag_of(&file), &format!("--address={address}")], &[]);
        assert_eq!(to("https://flag"), code("TOKEN_MISSING"));
        assert_eq!(to("https://file/v2"), Ok(both("https://file/v2", "of the file")));
        assert_eq!(resolve(&[&flag_of(&file)], &[("SNAPSHOTTER_ADDRESS", "https://variable")]), code("TOKEN_MISSING"));
        let profile = [&flag_of(&file), "--profile=whole", "--address=https://flag"];
        assert_eq!(resolve(&profile, &[]), code("TOKEN_MISSING"));
        let alone = config_file("token = 'x'");
        assert_eq!(resolve(&[&flag_of(&alone), "--address=https://flag"], &[]), Ok(both("https://flag", "x")));
    }

    #[test]
    fn an_invalid_file_at_the_default_path_is_ignored_if_it_is_not_needed() {
        let dir = config_dir("nonsense");
        let variable = ("XDG_CONFIG_HOME", dir.path().to_str().unwrap());
        let flags = ["--address=https://flag", "--token=x"];
        assert_eq!(resolve(&flags, &[variable]), Ok(both("https://flag", "x")));
        assert_eq!(resolve(&flags[..1], &[variable]), code("SETTINGS_INVALID"));
        let named = config_file("nonsense");
        assert_eq!(resolve(&[&flags[..], &[&flag_of(&named)]].concat(), &[]), code("SETTINGS_INVALID"));
    }

    #[test]
    fn an_unknown_field_is_reported_without_values() {
        let message = |text: &str| {
            let file = config_file(text);
            let global = Cli::try_parse_from(["snapshotter", "doctor", &flag_of(&file)]).unwrap().global;
            match Sources::read(&global, &|_| None, &mut |_| ()) {
                Err(Failure::Reported(report)) => report.message,
                _ => panic!("the file must be refused"),
            }
        };
        assert!(message("adress = 's3cret'").ends_with("at line 1: unknown field `adress`."));
        assert!(message("token = 537").ends_with("at line 1."));
    }

    #[test]
    fn an_invalid_file_is_reported_by_line_only() {
        let file = config_file("address = 'https://file'\ntoken = 'secret\n");
        let global = Cli::try_parse_from(["snapshotter", "doctor", &flag_of(&file)]).unwrap().global;
        let Err(Failure::Reported(report)) = Sources::read(&global, &|_| None, &mut |_| ()) else {
            panic!("the file must be refused")
        };
        assert!(report.message.ends_with("at line 2."), "{}", report.message);
        assert!(!report.message.contains("secret"));
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_can_read_causes_a_warning() {
        use std::os::unix::fs::PermissionsExt;
        let file = config_file(FILE);
        let global = Cli::try_parse_from(["snapshotter", "doctor", &flag_of(&file)]).unwrap().global;
        for (mode, count) in [(0o644, 1), (0o600, 0)] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let mut warnings = Vec::new();
            let mut warn = |text| warnings.push(text);
            Sources::read(&global, &|_| None, &mut warn).map(drop).unwrap();
            assert_eq!(warnings.len(), count, "{mode:o}");
        }
    }

    #[test]
    fn a_token_is_sent_over_plain_http_only_to_this_machine() {
        let with = |address: &str, more: &[&str]| {
            let address = format!("--address={address}");
            resolve(&[&[&address, "--token=x"], more].concat(), &[]).map(drop)
        };
        for address in
            ["http://127.0.0.1:8787", "http://127.8.0.1", "http://[::1]:1", "http://LOCALHOST", "https://far"]
        {
            assert_eq!(with(address, &[]), Ok(()), "{address}");
        }
        for address in ["http://far", "http://127.0.0.1.example", "http://localhost.example", "http://[2001:db8::1]"] {
            assert_eq!(with(address, &[]), code("TOKEN_IN_CLEAR"), "{address}");
            assert_eq!(with(address, &["--allow-http"]), Ok(()), "{address}");
        }
    }
}
