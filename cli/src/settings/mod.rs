//! Which server is called, and with which token: by flags, else by the environment, else by the file of settings. A profile
//! that is asked for by a flag stands above the environment.

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

/// What a call needs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the server is.
    pub address: Address,
    /// The token for its API.
    pub token: Option<Token>,
    /// How long a call may take; for ever where absent.
    pub timeout: Option<Duration>,
}

/// The environment: a variable by its name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The longest time limit, in seconds: a day, which no call takes.
const MAX_TIMEOUT_SECONDS: u64 = 86_400;

/// Where settings are looked for.
pub struct Sources<'a> {
    flags: &'a Global,
    environment: Environment<'a>,
    file: file::Profile,
}

impl<'a> Sources<'a> {
    /// Reads the file. What people should know of it is given to `warn`.
    pub fn read(flags: &'a Global, environment: Environment<'a>, warn: &mut dyn FnMut(String)) -> Result<Self> {
        let try_set = |name| environment(name).is_some_and(|value| !value.is_empty());
        let has_address = flags.address.is_some() || try_set("SNAPSHOTTER_ADDRESS");
        let has_token = flags.token.is_some() || flags.token_file.is_some() || try_set("SNAPSHOTTER_TOKEN");
        let file = file::read_profile(flags, environment, !has_address || !has_token, warn)?;
        Ok(Self { flags, environment, file })
    }

    /// Everything that a call needs.
    pub fn settings(&self) -> Result<Settings> {
        let address = self.address()?;
        let token = self.token(&address)?.ok_or_else(|| {
            let remediation = match &self.flags.profile {
                Some(name) => format!("Give --token-file, or write `token = \"…\"` under `[profiles.{name}]`."),
                None => "Give --token-file, set SNAPSHOTTER_TOKEN, or write `token = \"…\"` into the file of settings."
                    .into(),
            };
            Failure::local(Exit::Denied, "TOKEN_MISSING", "Nothing says which token to use.", remediation)
        })?;
        Ok(Settings { address, token: Some(token), timeout: self.timeout() })
    }

    /// Where the server is.
    pub fn address(&self) -> Result<Address> {
        let variable = self.variable("SNAPSHOTTER_ADDRESS")?;
        let address = self.flags.address.as_ref().or(variable.as_ref()).or(self.file.address.as_ref());
        let address = address.ok_or_else(|| {
            Failure::invalid(
                "ADDRESS_MISSING",
                "Nothing says where the server is.",
                "Give --address, set SNAPSHOTTER_ADDRESS, or write `address = \"https://…\"` into the file of settings.",
            )
        })?;
        Address::parse(address)
    }

    /// The token that may be sent to an address.
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
                format!("The token would go to {address} without encryption, where others can read it."),
                "Use an address with https://. Where the way there is safe, give --allow-http.",
            ));
        }
        Ok(token)
    }

    /// The file's token, which goes to no other server than the file's.
    fn file_token(&self, address: &Address) -> Result<Option<String>> {
        let Some(token) = &self.file.token else { return Ok(None) };
        let own = self.file.address.as_deref().map(Address::parse).transpose()?;
        match own.filter(|own| !own.is_same_origin(address)) {
            None => Ok(Some(token.clone())),
            Some(own) => Err(Failure::local(
                Exit::Denied,
                "TOKEN_MISSING",
                format!("Nothing says which token to use for {address}: that of the file of settings is for {own}."),
                "Give --token-file, or write a profile for that address into the file of settings.",
            )),
        }
    }

    /// A variable that is set and not empty. A profile that is asked for stands above all of them.
    fn variable(&self, name: &str) -> Result<Option<String>> {
        if self.flags.profile.is_some() { Ok(None) } else { environment_text(self.environment, name) }
    }

    /// How long a call may take; for ever where absent.
    pub fn timeout(&self) -> Option<Duration> {
        let DurationArg(seconds) = self.flags.timeout;
        (seconds > 0).then(|| Duration::from_secs(seconds.min(MAX_TIMEOUT_SECONDS)))
    }
}

/// A variable that is set and not empty.
fn environment_text(environment: Environment<'_>, name: &str) -> Result<Option<String>> {
    let value = environment(name).filter(|value| !value.is_empty()).map(OsString::into_string);
    value.transpose().map_err(|_| {
        Failure::invalid("SETTINGS_INVALID", format!("The variable {name} is not UTF-8."), "Set it to plain text.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;
    use std::path::PathBuf;

    /// A file of settings that is gone when this is dropped.
    struct Kept(PathBuf);

    /// A place that nothing else has.
    fn place() -> PathBuf {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        std::env::temp_dir().join(format!("snapshotter-{}-{count}", std::process::id()))
    }

    impl Kept {
        fn with(text: &str) -> Self {
            let path = place();
            std::fs::write(&path, text).unwrap();
            Self(path)
        }

        fn flag(&self) -> String {
            format!("--config={}", self.0.display())
        }
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// A folder of settings that is gone when this is dropped.
    struct Home(PathBuf);

    impl Home {
        fn with(text: &str) -> Self {
            let home = place();
            std::fs::create_dir_all(home.join("snapshotter")).unwrap();
            std::fs::write(home.join("snapshotter/config.toml"), text).unwrap();
            Self(home)
        }
    }

    impl Drop for Home {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
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

    /// The address and the header that these flags and variables come to, or the code of the failure.
    fn found(flags: &[&str], variables: &[(&str, &str)]) -> Result<(String, String), String> {
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
    fn flags_go_before_the_environment_and_that_before_the_file() {
        let file = Kept::with(FILE);
        let environment = [("SNAPSHOTTER_ADDRESS", "https://variable"), ("SNAPSHOTTER_TOKEN", "of the variable")];
        let flags = [&file.flag(), "--address=https://flag", "--token=of the flag"];
        assert_eq!(found(&flags, &environment), Ok(both("https://flag", "of the flag")));
        assert_eq!(found(&flags[..1], &environment), Ok(both("https://variable", "of the variable")));
        assert_eq!(found(&flags[..1], &[]), Ok(both("https://file", "of the file")));
        assert_eq!(found(&flags[..1], &[("SNAPSHOTTER_ADDRESS", "")]), Ok(both("https://file", "of the file")));
    }

    #[test]
    fn the_file_is_where_flags_or_the_environment_say_or_at_home() {
        let file = Kept::with(FILE);
        let path = file.0.display().to_string();
        assert_eq!(found(&[], &[("SNAPSHOTTER_CONFIG", &path)]), Ok(both("https://file", "of the file")));
        assert_eq!(found(&["--config=/nowhere"], &[("SNAPSHOTTER_CONFIG", &path)]), code("SETTINGS_UNREADABLE"));
        assert_eq!(found(&[], &[("HOME", "/nowhere")]), code("ADDRESS_MISSING"));

        let home = Home::with(FILE);
        let at_home = found(&[], &[("XDG_CONFIG_HOME", home.0.to_str().unwrap())]);
        assert_eq!(at_home, Ok(both("https://file", "of the file")));
    }

    #[test]
    fn a_profile_takes_nothing_from_outside_of_it() {
        let file = Kept::with(FILE);
        let staging = [&file.flag(), "--profile=staging"];
        let environment = [("SNAPSHOTTER_ADDRESS", "https://variable"), ("SNAPSHOTTER_TOKEN", "of the variable")];
        for environment in [&[][..], &environment[..], &environment[1..]] {
            assert_eq!(found(&staging, environment), code("TOKEN_MISSING"));
        }
        let whole = [&file.flag(), "--profile=whole"];
        assert_eq!(found(&whole, &environment), Ok(both("https://whole", "of the profile")));
        assert_eq!(found(&[&file.flag(), "--profile=other"], &environment), code("PROFILE_NOT_FOUND"));
    }

    #[test]
    fn the_token_of_the_file_goes_to_no_other_server_than_the_files() {
        let file = Kept::with(FILE);
        let to = |address: &str| found(&[&file.flag(), &format!("--address={address}")], &[]);
        assert_eq!(to("https://flag"), code("TOKEN_MISSING"));
        assert_eq!(to("https://file/v2"), Ok(both("https://file/v2", "of the file")));
        assert_eq!(found(&[&file.flag()], &[("SNAPSHOTTER_ADDRESS", "https://variable")]), code("TOKEN_MISSING"));
        let profile = [&file.flag(), "--profile=whole", "--address=https://flag"];
        assert_eq!(found(&profile, &[]), code("TOKEN_MISSING"));
        let alone = Kept::with("token = 'x'");
        assert_eq!(found(&[&alone.flag(), "--address=https://flag"], &[]), Ok(both("https://flag", "x")));
    }

    #[test]
    fn a_file_at_home_that_can_not_be_read_is_passed_over_where_nobody_needs_it() {
        let home = Home::with("nonsense");
        let place = ("XDG_CONFIG_HOME", home.0.to_str().unwrap());
        let flags = ["--address=https://flag", "--token=x"];
        assert_eq!(found(&flags, &[place]), Ok(both("https://flag", "x")));
        assert_eq!(found(&flags[..1], &[place]), code("SETTINGS_INVALID"));
        let named = Kept::with("nonsense");
        assert_eq!(found(&[&flags[..], &[&named.flag()]].concat(), &[]), code("SETTINGS_INVALID"));
    }

    #[test]
    fn a_field_that_nobody_knows_is_named_and_no_value_is() {
        let message = |text: &str| {
            let file = Kept::with(text);
            let global = Cli::try_parse_from(["snapshotter", "doctor", &file.flag()]).unwrap().global;
            match Sources::read(&global, &|_| None, &mut |_| ()) {
                Err(Failure::Reported(told)) => told.message,
                _ => panic!("it is refused"),
            }
        };
        assert!(message("adress = 's3cret'").ends_with("at line 1: unknown field `adress`."));
        assert!(message("token = 537").ends_with("at line 1."));
    }

    #[test]
    fn a_broken_file_is_told_by_its_line_alone() {
        let file = Kept::with("address = 'https://file'\ntoken = 'secret\n");
        let global = Cli::try_parse_from(["snapshotter", "doctor", &file.flag()]).unwrap().global;
        let Err(Failure::Reported(told)) = Sources::read(&global, &|_| None, &mut |_| ()) else {
            panic!("it is refused")
        };
        assert!(told.message.ends_with("at line 2."), "{}", told.message);
        assert!(!told.message.contains("secret"));
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_can_read_is_warned_about() {
        use std::os::unix::fs::PermissionsExt;
        let file = Kept::with(FILE);
        let global = Cli::try_parse_from(["snapshotter", "doctor", &file.flag()]).unwrap().global;
        for (mode, count) in [(0o644, 1), (0o600, 0)] {
            std::fs::set_permissions(&file.0, std::fs::Permissions::from_mode(mode)).unwrap();
            let mut warnings = Vec::new();
            let mut warn = |text| warnings.push(text);
            Sources::read(&global, &|_| None, &mut warn).map(drop).unwrap();
            assert_eq!(warnings.len(), count, "{mode:o}");
        }
    }

    #[test]
    fn a_token_goes_over_plain_http_to_this_machine_alone() {
        let with = |address: &str, more: &[&str]| {
            let address = format!("--address={address}");
            found(&[&[&address, "--token=x"], more].concat(), &[]).map(drop)
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
