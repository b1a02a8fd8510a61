//! The commands about this program itself.

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
    /// For which shell
    pub shell: Shell,
}

/// `man`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter man | man -l -
  snapshotter man --dir ~/.local/share/man/man1")]
pub struct Man {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}
