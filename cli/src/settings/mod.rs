//! Which server is called, and with which token: by flags, else by the environment, else by the file of settings.

mod address;
mod file;
mod token;

use std::ffi::OsString;
use std::time::Duration;

pub use address::Address;
pub use token::Token;

use crate::args::Global;
use crate::args::span::Span;
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
const LONGEST: u64 = 86_400;

/// Where settings are looked for.
pub struct Sources<'a> {
    flags: &'a Global,
    environment: Environment<'a>,
    file: file::Profile,
}

impl<'a> Sources<'a> {
    /// Reads the file. What people should know of it is given to `warn`.
    pub fn read(flags: &'a Global, environment: Environment<'a>, warn: &mut dyn FnMut(String)) -> Result<Self> {
        Ok(Self { flags, environment, file: file::read(flags, environment, warn)? })
    }

    /// Everything that a call needs.
    pub fn settings(&self) -> Result<Settings> {
        let address = self.address()?;
        let token = self.token(&address)?.ok_or_else(|| {
            Failure::own(
                Exit::Denied,
                "TOKEN_MISSING",
                "Nothing says which token to use.",
                "Give --token-file, set SNAPSHOTTER_TOKEN, or write `token = \"…\"` into the file of settings.",
            )
        })?;
        Ok(Settings { address, token: Some(token), timeout: self.timeout() })
    }

    /// Where the server is.
    pub fn address(&self) -> Result<Address> {
        let variable = text_of(self.environment, "SNAPSHOTTER_ADDRESS")?;
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
            (None, None) => text_of(self.environment, "SNAPSHOTTER_TOKEN")?.or_else(|| self.file.token.clone()),
        };
        let token = given.as_deref().map(Token::parse).transpose()?;
        if token.is_some() && !address.is_encrypted() && !address.is_loopback() && !self.flags.allow_http {
            return Err(Failure::own(
                Exit::Denied,
                "TOKEN_IN_CLEAR",
                format!("The token would go to {address} without encryption, where others can read it."),
                "Use an address with https://. Where the way there is safe, give --allow-http.",
            ));
        }
        Ok(token)
    }

    /// How long a call may take; for ever where absent.
    pub fn timeout(&self) -> Option<Duration> {
        let Span(seconds) = self.flags.timeout;
        (seconds > 0).then(|| Duration::from_secs(seconds.min(LONGEST)))
    }
}

/// A variable that is set and not empty.
fn text_of(environment: Environment<'_>, name: &str) -> Result<Option<String>> {
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

    impl Kept {
        fn with(text: &str) -> Self {
            static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
            let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("snapshotter-{}-{count}.toml", std::process::id()));
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

    const FILE: &str = "\
address = 'https://file'
token = 'of the file'
[profiles.staging]
address = 'https://staging'
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

        let home = std::env::temp_dir().join(format!("snapshotter-home-{}", std::process::id()));
        std::fs::create_dir_all(home.join("snapshotter")).unwrap();
        std::fs::write(home.join("snapshotter/config.toml"), FILE).unwrap();
        let at_home = found(&[], &[("XDG_CONFIG_HOME", &home.display().to_string())]);
        std::fs::remove_dir_all(home).unwrap();
        assert_eq!(at_home, Ok(both("https://file", "of the file")));
    }

    #[test]
    fn a_profile_takes_nothing_from_outside_of_it() {
        let file = Kept::with(FILE);
        let flags = [&file.flag(), "--profile=staging"];
        assert_eq!(found(&flags, &[]), code("TOKEN_MISSING"));
        assert_eq!(found(&flags, &[("SNAPSHOTTER_TOKEN", "x")]), Ok(both("https://staging", "x")));
        assert_eq!(found(&[&file.flag(), "--profile=other"], &[]), code("PROFILE_NOT_FOUND"));
    }

    #[test]
    fn a_broken_file_is_told_by_its_line_alone() {
        let file = Kept::with("address = 'https://file'\ntoken = 'secret\n");
        let global = Cli::try_parse_from(["snapshotter", "doctor", &file.flag()]).unwrap().global;
        let Err(Failure::Told(told)) = Sources::read(&global, &|_| None, &mut |_| ()) else { panic!("it is refused") };
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
