//! The calls of callers about the files of containers.

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::archive::{Attributes, EntryKind, Name, NamedAttributes};
use sandbox_snapshotter::model::exec_call::{CommandInput, ContainerCommand, Program};
use sandbox_snapshotter::model::file_call::{
    FileAction, FileCall, FileInput, FileOutcome, FileRefusal, ListingBytes, ListingPosition, Omitted,
};
use sandbox_snapshotter::model::required_container::{Refusal, RequiredContainer};
use sandbox_snapshotter::model::{Failure, SandboxId};

use super::containers::{is_under, sha256};
use super::{Container, Files, Scheduler, World};

impl<S: Scheduler> World<S> {
    /// Carries out a call, unless the script refuses to run.
    pub(super) async fn run_file_call(
        self: &Rc<Self>,
        id: &SandboxId,
        required: &RequiredContainer,
        call: &FileCall,
    ) -> Result<Result<FileOutcome, Refusal<FileRefusal>>, Failure> {
        self.enter_required_container(id, required).await?;
        let command = ContainerCommand {
            id: call.id.clone(),
            program: Program::Argv(Vec::new()),
            dir: call.dir.clone(),
            cwd: Some("/".to_owned()),
            env: BTreeMap::new(),
            stdin: CommandInput::Text(String::new()),
            timeout_seconds: 1,
        };
        if let Err(refusal) = self.check_command(id, required, &command) {
            return Ok(Err(refusal.map(FileRefusal::Command)));
        }
        Ok(self.with_container(id, |container, now| container.call_files(call, now)).map_err(Refusal::Call))
    }
}

impl<S: Scheduler> Container<S> {
    fn call_files(&mut self, call: &FileCall, now: i64) -> Result<FileOutcome, FileRefusal> {
        let dir = call.dir.as_str();
        let place = |path: &str| if path.is_empty() { dir.to_owned() } else { format!("{dir}/{path}") };
        let path = place(call.path.as_str());
        if self.marker_below_mount.is_some() {
            return Err(FileRefusal::Hidden);
        }
        let creates = matches!(call.action, FileAction::Write { if_match: None, .. } | FileAction::MakeDirectory);
        if creates && call.has_dir && self.kind_of(dir).is_none() {
            return Err(FileRefusal::NoDirectory);
        }
        self.check_above(dir, &path)?;
        let entry = |this: &Self, path: &str| this.kind_of(path).map(|kind| this.attributes(path, kind, now));
        match &call.action {
            FileAction::List { after, limit } => match self.kind_of(&path) {
                Some(EntryKind::Directory) => Ok(self.page(&path, after.as_deref(), *limit as usize, now)),
                Some(_) => Err(FileRefusal::NotADirectory),
                None => Err(FileRefusal::NotFound),
            },
            FileAction::Stat => Ok(FileOutcome::Entry(entry(self, &path).ok_or(FileRefusal::NotFound)?, None)),
            FileAction::Read { offset, length } => {
                let attributes = entry(self, &path).ok_or(FileRefusal::NotFound)?;
                let content = self.files.get(&path).ok_or(FileRefusal::NotAFile)?;
                let bytes = content.bytes().skip(usize::try_from(*offset).unwrap()).take(*length as usize).collect();
                Ok(FileOutcome::Content(attributes, Some(sha256(content)), bytes))
            }
            FileAction::Write { content, if_match, .. } => {
                if !matches!(self.kind_of(&path), None | Some(EntryKind::File)) {
                    return Err(FileRefusal::NotAFile);
                }
                if if_match.is_some() && self.files.get(&path).map(sha256) != *if_match {
                    return Err(FileRefusal::Changed);
                }
                let content = match content {
                    FileInput::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
                    FileInput::File(input) => self.files.remove(input).unwrap(),
                };
                let etag = sha256(&content);
                self.write_files(Files::from([(path.clone(), content)]));
                Ok(FileOutcome::Entry(self.attributes(&path, EntryKind::File, now), Some(etag)))
            }
            FileAction::MakeDirectory => {
                if !matches!(self.kind_of(&path), None | Some(EntryKind::Directory)) {
                    return Err(FileRefusal::NotADirectory);
                }
                self.directories.insert(path.clone());
                Ok(FileOutcome::Entry(self.attributes(&path, EntryKind::Directory, now), None))
            }
            FileAction::Move { to, overwrite } => {
                let kind = self.kind_of(&path).ok_or(FileRefusal::NotFound)?;
                let to = place(to.as_str());
                self.check_above(dir, &to).map_err(|_| FileRefusal::NewPathBlocked)?;
                let replaces = *overwrite && kind == EntryKind::File && self.kind_of(&to) == Some(EntryKind::File);
                if self.kind_of(&to).is_some() && !replaces {
                    return Err(FileRefusal::Exists);
                }
                let moved = |own: &String| own.strip_prefix(&path).map(|rest| format!("{to}{rest}"));
                let files = self.take_files(&path).into_iter().map(|(own, content)| (moved(&own).unwrap(), content));
                let files = files.collect();
                self.write_files(files);
                if kind == EntryKind::Directory {
                    self.directories.insert(to.clone());
                }
                Ok(FileOutcome::Entry(self.attributes(&to, kind, now), None))
            }
            FileAction::Walk { position, omitted } => {
                let list =
                    position.as_ref().map_or_else(|| self.listing(dir, omitted, now), |_| self.list_of_files.clone());
                self.list_of_files.clone_from(&list);
                let position = position.clone().unwrap_or_else(|| ListingPosition { id: call.id.clone(), offset: 0 });
                let bytes = list.iter().skip(usize::try_from(position.offset).unwrap()).copied();
                let bytes = bytes.take(self.listing_part).collect();
                Ok(FileOutcome::Listing(ListingBytes { position, size: list.len() as u64, bytes }))
            }
            FileAction::Hash { paths, .. } => {
                let path = |path: &Vec<u8>| place(std::str::from_utf8(path).unwrap());
                Ok(FileOutcome::Hashes(paths.iter().map(|own| self.files.get(&path(own)).map(sha256)).collect()))
            }
            FileAction::Remove { recursive } => {
                let Some(kind) = self.kind_of(&path) else { return Ok(FileOutcome::Removed(false)) };
                if kind == EntryKind::Directory && !recursive && !self.names_in(&path).is_empty() {
                    return Err(FileRefusal::NotEmpty);
                }
                self.take_files(&path);
                self.symlinks.remove(&path);
                Ok(FileOutcome::Removed(true))
            }
        }
    }

    /// Returns the list of all files in a directory, as the script makes it. Their times are those in archives in memory.
    fn listing(&self, dir: &str, omitted: &Omitted, now: i64) -> Vec<u8> {
        let mut records = Vec::new();
        let mut pending = vec![String::new()];
        while let Some(parent) = pending.pop() {
            for name in self.names_in(&format!("{dir}{parent}")) {
                if omitted.excludes.contains(&name) {
                    continue;
                }
                let path = format!("{parent}/{name}");
                let attributes =
                    self.attributes(&format!("{dir}{path}"), self.kind_of(&format!("{dir}{path}")).unwrap(), now);
                let letter = match attributes.kind {
                    EntryKind::File => "f",
                    EntryKind::Directory => "d",
                    _ => "l elsewhere",
                };
                let Attributes { mode, uid, gid, size, .. } = attributes;
                let target = letter.get(2..).unwrap_or_default();
                let text = format!("{}//{} {mode:o} {uid} {gid} {size} 0 {target}", &path[1..], &letter[..1]);
                records.push(text.replace('/', "\x01\x01") + "\0");
                pending.push(path);
            }
        }
        records.sort();
        records.concat().into_bytes()
    }

    /// Removes and returns everything at a path.
    fn take_files(&mut self, path: &str) -> Files {
        let is_in = |own: &str| own == path || is_under(own, path);
        let taken = self.files.iter().filter(|(own, _)| is_in(own)).map(|(own, file)| (own.clone(), file.clone()));
        let taken = taken.collect();
        self.retain_files(|own| !is_in(own));
        self.directories.retain(|own| !is_in(own));
        taken
    }

    /// Refuses a path that leads through something other than a directory.
    fn check_above(&self, dir: &str, path: &str) -> Result<(), FileRefusal> {
        let is_above = |own: &&String| is_under(path, own) && own.len() >= dir.len();
        match self.files.keys().chain(&self.symlinks).find(is_above) {
            Some(_) => Err(FileRefusal::NotADirectory),
            None => Ok(()),
        }
    }

    pub(super) fn kind_of(&self, path: &str) -> Option<EntryKind> {
        if self.symlinks.contains(path) {
            Some(EntryKind::Symlink)
        } else if self.files.contains_key(path) {
            Some(EntryKind::File)
        } else if self.directories.contains(path) || !self.names_in(path).is_empty() || path == "/workspace" {
            Some(EntryKind::Directory)
        } else {
            None
        }
    }

    /// Returns the names in a directory, sorted.
    fn names_in(&self, path: &str) -> Vec<String> {
        let own = self.files.keys().chain(&self.symlinks).chain(&self.directories);
        let names = own.filter(|own| is_under(own, path)).filter_map(|own| own[path.len() + 1..].split('/').next());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }

    fn page(&self, path: &str, after: Option<&[u8]>, limit: usize, now: i64) -> FileOutcome {
        let names = self.names_in(path).into_iter().filter(|name| after.is_none_or(|after| name.as_bytes() > after));
        let names: Vec<String> = names.collect();
        let entry = |name: &String| {
            let own = format!("{path}/{name}");
            let attributes = self.attributes(&own, self.kind_of(&own).unwrap(), now);
            NamedAttributes { name: Name::from(name.as_bytes()), attributes }
        };
        let entries: Vec<_> = names.iter().take(limit).map(entry).collect();
        let next = entries.last().filter(|_| names.len() > limit).map(|last| last.name.clone());
        FileOutcome::Page { entries, next }
    }

    fn attributes(&self, path: &str, kind: EntryKind, now: i64) -> Attributes {
        Attributes {
            kind,
            mode: if kind == EntryKind::File { 0o644 } else { 0o755 },
            uid: 0,
            gid: 0,
            mtime: now / 1000,
            size: self.files.get(path).map_or(0, |content| content.len() as u64),
            target: (kind == EntryKind::Symlink).then(|| Name::from(&b"elsewhere"[..])),
        }
    }
}
