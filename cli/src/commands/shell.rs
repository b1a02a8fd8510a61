//! The commands for shell completions and manual pages.

use std::path::Path;

use clap_mangen::Man;

use crate::args::help;
use crate::args::shell::Completions;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::print_plain;

/// `completions`
pub fn completions(command: &Completions) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut help::command(), "snapshotter", &mut script);
    print_plain(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// `man`
pub fn man(dir: Option<&Path>) -> Result<Exit> {
    let write_failure = |error: std::io::Error| {
        let target = dir.map_or_else(String::new, |dir| format!(" to {}", dir.display()));
        let message = format!("The manual could not be written{target}: {error}.");
        Failure::local(Exit::Failed, "OUTPUT_FAILED", message, "Pass a writable directory.")
    };
    if let Some(dir) = dir {
        std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(help::command(), dir))
            .map_err(write_failure)?;
        return Ok(Exit::Done);
    }
    let mut page = Vec::new();
    Man::new(help::command()).render(&mut page).map_err(write_failure)?;
    print_plain(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done)
}
