//! A directory that the scripts use as a container.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use sandbox_snapshotter::fuzzing::delta;
use sandbox_snapshotter::model::delta::{
    CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase,
};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{BackupId, Directory, FullReason, SnapshotId};

use crate::Mistake;

/// A captured base: what the ledger records, and its archive.
pub struct Base {
    pub traced: TracedBase,
    pub archive: Packed,
}

/// The archives of a directory.
pub struct Packed {
    pub squashfs: PathBuf,
    /// The same as a tar, and compressed: for cases in which the reader reads them.
    pub tars: Option<[PathBuf; 2]>,
}

impl Packed {
    /// Archives a directory in files whose names begin with `archive`.
    fn new(dir: &Path, archive: &Path, is_read: bool) -> Self {
        let squashfs = archive.with_extension("sqsh");
        squash(dir, &squashfs);
        let tar = |(end, option)| {
            let archive = archive.with_extension(end);
            let mut command = Command::new("tar");
            command.arg("-C").arg(dir).arg("--numeric-owner").arg(option).arg("-cf").arg(&archive).arg(".");
            run(&mut command);
            archive
        };
        Self { squashfs, tars: is_read.then(|| [("tar", "-S"), ("tar.gz", "-zS")].map(tar)) }
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        for archive in self.tars.iter().flatten().chain([&self.squashfs]) {
            drop(fs::remove_file(archive));
        }
    }
}

/// The outcome of a restore.
pub enum Outcome {
    /// The files are verified. `traced` is whether the base was recognized.
    Restored { traced: bool },
    /// The files are not those of the capture.
    Failed(String),
}

/// The number of containers that were created: tests of the same process run at the same time.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The root of a container, which is deleted with it.
pub struct Container {
    root: PathBuf,
    mistake: Option<Mistake>,
    /// Where the programs of the image are, if it lacks some.
    programs: Option<PathBuf>,
    is_mounted: bool,
    /// A file system that is mounted in the directory.
    inner_mount: Option<PathBuf>,
}

impl Drop for Container {
    fn drop(&mut self) {
        if let Some(mount) = &self.inner_mount {
            run(Command::new("fusermount3").arg("-uz").arg(mount));
        }
        if self.is_mounted {
            for mount in [self.dir(), self.mounts().join("lower")] {
                run(Command::new("fusermount3").arg("-uz").arg(mount));
            }
        }
        drop(fs::remove_dir_all(&self.root));
    }
}

/// The id of the backup of a base.
const BACKUP: &str = "6b1f0c1e-0000-4000-8000-000000000001";

fn snapshot_id(number: usize) -> SnapshotId {
    SnapshotId::parse(&format!("snap-{number:016}")).unwrap()
}

fn backup() -> BackupId {
    BackupId::parse(BACKUP).unwrap()
}

fn directory() -> Directory {
    Directory::parse("/workspace").unwrap()
}

fn marker() -> ContainerMarker {
    ContainerMarker::Restoring("nonce".into())
}

impl Container {
    /// Creates a container with an empty directory.
    pub fn new(name: &str, mistake: Option<Mistake>) -> Self {
        let parent = env::var_os("DELTA_DIR").unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = PathBuf::from(parent).join(format!("delta-{}-{number}-{name}", process::id()));
        drop(fs::remove_dir_all(&root));
        fs::create_dir_all(root.join("workspace")).unwrap();
        fs::create_dir_all(root.join("tmp")).unwrap();
        fs::write(root.join("run.stamp"), format!("{}\n", marker())).unwrap();
        Self { root, mistake, programs: None, is_mounted: false, inner_mount: None }
    }

    /// Creates a container whose image lacks a program.
    pub fn without(program: &str) -> Self {
        let mut container = Self::new(&format!("without-{program}"), None);
        let programs = container.root.join("programs");
        fs::create_dir(&programs).unwrap();
        for found in ["/bin", "/usr/bin"].into_iter().flat_map(|dir| fs::read_dir(dir).unwrap()) {
            let found = found.unwrap();
            if found.file_name() != program {
                // Both directories may be the same.
                drop(symlink(found.path(), programs.join(found.file_name())));
            }
        }
        container.programs = Some(programs);
        container
    }

    /// Returns whether this machine can mount an overlay.
    pub fn can_mount() -> bool {
        let has = |program: &str| Path::new("/usr/bin").join(program).exists();
        Path::new("/dev/fuse").exists() && has("squashfuse") && has("fuse-overlayfs") && has("fusermount3")
    }

    /// Creates a container in which the archive of a base is mounted below an overlay, as the SDK does it.
    pub fn mounted(name: &str, base: &Base) -> Self {
        let mut container = Self::new(name, None);
        container.is_mounted = true;
        let mounts = container.mounts();
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| mounts.join(name));
        for dir in [&lower, &upper, &work] {
            fs::create_dir_all(dir).unwrap();
        }
        run(Command::new("squashfuse").arg(&base.archive.squashfs).arg(&lower));
        let [lower, upper, work] = [lower, upper, work].map(|dir| dir.display().to_string());
        let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        run(Command::new("fuse-overlayfs").arg("-o").arg(layers).arg(container.dir()));
        container
    }

    /// Mounts another file system in the directory, and returns where.
    pub fn mount_in_directory(&mut self) -> PathBuf {
        let mount = self.dir().join("mount");
        let [lower, upper, work] = ["inner/lower", "inner/upper", "inner/work"].map(|name| self.root.join(name));
        for dir in [&mount, &lower, &upper, &work] {
            fs::create_dir_all(dir).unwrap();
        }
        let [lower, upper, work] = [lower, upper, work].map(|dir| dir.display().to_string());
        let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        run(Command::new("fuse-overlayfs").arg("-o").arg(layers).arg(&mount));
        self.inner_mount = Some(mount.clone());
        mount
    }

    fn mounts(&self) -> PathBuf {
        self.root.join(format!("backups/mounts/{BACKUP}_1_a"))
    }

    /// Returns the directory.
    pub fn dir(&self) -> PathBuf {
        self.root.join("workspace")
    }

    fn carrier_dir(&self, carrier: &Carrier) -> PathBuf {
        let name = carrier.dir.as_str().rsplit('/').next().unwrap();
        self.root.join("tmp").join(name)
    }

    /// Runs a script with the paths of this container, and returns its output.
    fn run(&self, script: &str) -> String {
        let root = self.root.to_str().unwrap();
        let mut script = script
            .replace("{/var,}/tmp/", &format!("{root}/tmp/"))
            .replace("/var/tmp/", &format!("{root}/tmp/"))
            .replace("run=/run/sandbox-snapshotter;", &format!("run={root}/run;"))
            .replace("'/workspace'", &format!("'{root}/workspace'"));
        if let Some((from, to)) = self.mistake {
            let quoted = |text: &str| text.replace('\'', r"'\''");
            script = script.replace(&quoted(from), &quoted(to));
        }
        let mut command = Command::new("/bin/bash");
        if let Some(programs) = &self.programs {
            command.env("PATH", programs);
        }
        let output = command.arg("-c").arg(script).stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Begins a full capture, where a base has at least `min_base_bytes`.
    pub fn begin_full(&self, min_base_bytes: u64) -> CaptureBegun {
        let begin = CaptureBegin { dir: directory(), snapshot_id: snapshot_id(0), base: None, min_base_bytes };
        self.begin(&begin, &delta::begin_capture(&begin))
    }

    /// Begins a capture. Repeats it where it took so long between two clocks that one of them seemed to be set: on a machine
    /// that does much else.
    fn begin(&self, begin: &CaptureBegin, script: &str) -> CaptureBegun {
        loop {
            let printed = self.run(script);
            let found = delta::read_capture_begun(&printed, begin).unwrap_or_else(|| panic!("{printed:?}"));
            let CaptureBegun::Full { reason, untraced } = &found else { return found };
            if ![reason, untraced].contains(&&Some(FullReason::Clock)) {
                return found;
            }
        }
    }

    /// Captures a base.
    pub fn capture_base(&self, is_read: bool) -> Result<Base, String> {
        self.capture_base_during(is_read, |_| (), |_| ())
    }

    /// Captures a base. `before` and `after` change the directory before and after it is archived.
    pub fn capture_base_during(&self, is_read: bool, before: fn(&Path), after: fn(&Path)) -> Result<Base, String> {
        match self.begin_full(0) {
            CaptureBegun::Full { untraced: None, .. } => {}
            other => return Err(format!("{other:?}")),
        }
        // The base outlives its container.
        let parent = self.root.parent().unwrap();
        let name = self.root.file_name().unwrap().to_str().unwrap();
        before(&self.dir());
        let archive = Packed::new(&self.dir(), &parent.join(format!("base-{name}")), is_read);
        after(&self.dir());
        let printed = self.run(&delta::finish_inventory(&directory(), &snapshot_id(0)));
        let traced: Option<Result<TracedBase, FullReason>> = delta::read_inventory(&printed, &snapshot_id(0));
        match traced {
            Some(Ok(traced)) => Ok(Base { traced, archive }),
            other => Err(format!("{other:?} {printed:?}")),
        }
    }

    /// Begins the capture of a delta.
    pub fn begin_delta(&self, base: &Base, number: usize) -> CaptureBegun {
        let mut traced = base.traced.clone();
        if self.is_mounted {
            let tree_bytes = fs::metadata(&base.archive.squashfs).unwrap().len();
            let (inventory, listing) = (String::new(), String::new());
            traced = TracedBase { inventory, listing, tree_bytes, mounted: Some(backup()), ..traced };
        }
        let base = Some(traced);
        let begin = CaptureBegin { dir: directory(), snapshot_id: snapshot_id(number + 1), base, min_base_bytes: 0 };
        // Small trees change by more than the limit.
        let script = delta::begin_capture(&begin).replace("percent='25'", "percent='1000000'");
        self.begin(&begin, &script)
    }

    /// Archives a carrier, which must be intact.
    pub fn archive(&self, carrier: &Carrier, is_read: bool) -> Packed {
        let archive = Packed::new(&self.carrier_dir(carrier), &self.root.join("tmp/carrier"), is_read);
        let printed = self.run(&delta::release_carrier(carrier));
        assert_eq!(delta::read_carrier_released(&printed), Some(true), "{printed:?}");
        archive
    }

    /// Restores a base and a delta.
    pub fn restore(&self, base: &Base, archive: &Packed, carrier: &Carrier) -> Outcome {
        if !self.is_mounted {
            unsquash(&base.archive.squashfs, &self.dir());
        }
        unsquash(&archive.squashfs, &self.carrier_dir(carrier));
        let finish = RestoreFinish {
            dir: directory(),
            base_id: snapshot_id(0),
            traced: (!self.is_mounted).then(|| base.traced.listing.clone()),
            mounted: self.is_mounted.then(backup),
            carrier: Some((carrier.dir.clone(), carrier.head.clone())),
        };
        let printed = self.run(&delta::finish_restore(&finish, &marker()));
        match delta::read_restore_finished(&printed, &snapshot_id(0)) {
            // The inventory of this container has another hash.
            Some(RestoreFinished::Complete(traced)) => {
                let traced = traced.inspect(|traced| assert_eq!(traced.listing, base.traced.listing));
                Outcome::Restored { traced: traced.is_some() }
            }
            other => Outcome::Failed(format!("{other:?} {printed:?}")),
        }
    }
}

fn run(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}");
}

fn squash(dir: &Path, archive: &Path) {
    drop(fs::remove_file(archive));
    let mut command = Command::new("mksquashfs");
    command.arg(dir).arg(archive).args(["-comp", "lz4", "-no-progress", "-noappend", "-processors", "1"]);
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
}

fn unsquash(archive: &PathBuf, dir: &PathBuf) {
    let mut command = Command::new("unsquashfs");
    command.args(["-f", "-no-progress", "-processors", "1", "-d"]).arg(dir).arg(archive);
    assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
}
