//! The commands for shell completions and manual pages.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// `completions`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter completions bash \\
    > ~/.local/share/bash-completion/completions/snapshotter
  snapshotter completions zsh > ~/.zfunc/_snapshotter
  snapshotter completions fish > ~/.config/fish/completions/snapshotter.fish")]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// `man`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter man | man -l -
  snapshotter man --dir ~/.local/share/man/man1")]
pub struct Man {
    /// Write one page per command to this directory
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
