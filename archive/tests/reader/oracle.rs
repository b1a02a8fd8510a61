//! Archives of random trees, compared with what the crate `backhand` reads.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use backhand::{FilesystemReader, InnerNode};
use futures_executor::block_on;
use snapshot_archive::Kind;

use crate::support::{Folder, open, path, random};

/// The attributes and the content of an entry.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    kind: &'static str,
    mode: u16,
    owner: (u32, u32),
    mtime: i64,
    content: Vec<u8>,
}

/// A tree from a seed: some hundred files in directories, most of them small.
fn tree(seed: u64) -> Folder {
    let folder = Folder::new();
    let mut directory = String::new();
    for number in 0..300_u64 {
        let bytes = random(seed * 1000 + number, 8);
        match bytes[0] % 8 {
            0 => directory = format!("{directory}d{number}/"),
            1 => directory = directory.split_inclusive('/').take(usize::from(bytes[1] % 3)).collect(),
            2 => {
                let target = "t".repeat(usize::from(bytes[2].max(1))); // backhand reads at most 255 bytes.
                folder.write(format!("{directory}beside-{number}"), "");
                std::os::unix::fs::symlink(target, folder.tree().join(format!("{directory}link-{number}"))).unwrap();
            }
            _ => {
                let size = usize::from(u16::from_le_bytes([bytes[3], bytes[4] & 0x3f]));
                let size = if bytes[5] < 10 { size * 20 } else { size };
                let unit = if bytes[6] < 128 { random(number, size) } else { vec![bytes[7]; size] };
                folder.write(format!("{directory}{}-{number}", bytes[7]), unit);
            }
        }
    }
    folder
}

fn read_with_oracle(archive: &Path) -> BTreeMap<Vec<u8>, Seen> {
    let reader = FilesystemReader::from_reader(BufReader::new(fs::File::open(archive).unwrap())).unwrap();
    let seen = reader.files().map(|node| {
        let (kind, content) = match &node.inner {
            InnerNode::File(file) => {
                let mut content = Vec::new();
                reader.file(file).reader().read_to_end(&mut content).unwrap();
                ("file", content)
            }
            InnerNode::Symlink(link) => ("link", link.link.as_os_str().as_bytes().to_vec()),
            InnerNode::Dir(_) => ("directory", Vec::new()),
            _ => ("other", Vec::new()),
        };
        let header = node.header;
        let owner = (header.uid, header.gid);
        let seen = Seen { kind, mode: header.permissions & 0o7777, owner, mtime: i64::from(header.mtime), content };
        (node.fullpath.as_os_str().as_bytes()[1..].to_vec(), seen)
    });
    seen.filter(|(path, _)| !path.is_empty()).collect()
}

fn read(archive: &Path) -> BTreeMap<Vec<u8>, Seen> {
    let mut archive = open(archive);
    block_on(async {
        let mut walk = archive.walk(&path("")).await.unwrap();
        let mut all = BTreeMap::new();
        while let Some((path, entry)) = archive.next_entry(&mut walk).await.unwrap() {
            let (kind, mut content) = match entry.kind {
                Kind::File => ("file", Vec::new()),
                Kind::Symlink { target } => ("link", target.to_vec()),
                Kind::Directory => ("directory", Vec::new()),
                _ => ("other", Vec::new()),
            };
            while let Some(bytes) = archive.next_entry_bytes(&mut walk).await.unwrap() {
                content.extend_from_slice(&bytes);
            }
            let seen = Seen { kind, mode: entry.mode, owner: (entry.uid, entry.gid), mtime: entry.mtime, content };
            all.insert(path.to_vec(), seen);
        }
        all
    })
}

#[test]
fn random_trees_are_read_as_by_another_reader() {
    for seed in 0..8 {
        let folder = tree(seed);
        for options in ["-comp gzip", "-comp lz4 -b 4096", "-comp zstd -Xcompression-level 3 -b 16384"] {
            let archive = folder.squashfs(options);
            println!("{seed} {options}");
            let (seen, expected) = (read(&archive), read_with_oracle(&archive));
            assert!(seen.len() > 100);
            assert!(seen == expected, "{seed} {options}");
        }
    }
}
