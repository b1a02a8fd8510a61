//! The option about files with secrets.

use clap::ValueEnum;
use sandbox_snapshotter_client::model::SecretsMode;

/// What to do with files that seem to contain secrets.
#[derive(Clone, Copy, ValueEnum)]
pub enum Secrets {
    /// Store them, and list them
    Keep,
    /// Leave them out, and list them
    Exclude,
    /// Store nothing if there are any
    Refuse,
}

impl From<Secrets> for SecretsMode {
    fn from(secrets: Secrets) -> Self {
        match secrets {
            Secrets::Keep => Self::Keep,
            Secrets::Exclude => Self::Exclude,
            Secrets::Refuse => Self::Refuse,
        }
    }
}
