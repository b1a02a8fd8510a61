//! What the workspace of one sandbox keeps when the sandbox stands for a name, and what it finds in its container.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Address;
use crate::model::record::LooseEnd;
use crate::model::{Directory, Timestamp};

/// What is kept with a sandbox that stands for a name.
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// For which.
    pub address: Address,
    /// The directory that persists.
    pub dir: Directory,
    /// Somebody is at work on its container, or was when they died: it is looked after, and until that is settled nothing is
    /// captured but what is put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filling: Option<LooseEnd>,
    /// A backup was being applied to it, and nobody saw the end of that: it may go on in another container.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restoring: bool,
    /// The end of its container was asked for and not answered in time: it may come whenever it will, also to a container that is
    /// started after that. So none is handed out any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_unanswered: bool,
    /// A call was not answered in time, or its Worker died: it may come late, and start a container of which no start or stop would know.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The nonce of the stamp that a start last put on a container to fill it, and was answered. What carries another one was
    /// never filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
    /// The workspace goes on in another sandbox: whatever runs in this one is captured, and ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub former: bool,
    /// When it was first handed out. What was handed out once is never begun anew unasked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Timestamp>,
    /// When files were last kept that had been written into a container without the workspace's. A capture that began before that
    /// shows the container as it was while it was not the workspace's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_at: Option<Timestamp>,
    /// What the image of its container is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// A hash of what the image has in the directory; absent where that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Files whose hashes are taken with each snapshot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What each snapshot is marked with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The version of the workspace's record for which it was last started or ended. What was asked for before comes too late.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
    /// The names of the environment variables that may be set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

/// What a snapshot depends on, as it was when it was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependencies {
    /// SHA-256 of each file, in hexadecimal, by its path as it was named; empty where there was none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// What the world was like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What the sandbox's image was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// What is found in a container before anything is put into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// What its image is: the version of the SDK's server, and a hash of what is installed.
    pub image: String,
    /// A hash of what is in the directory; `None` where that is nothing.
    pub listing: Option<String>,
}

/// The listing of a directory that could not be listed in time: it is like no other, and not like itself.
pub const UNKNOWN_LISTING: &str = "unknown";

impl Survey {
    /// Whether the directory is as an image has it, of which this is the listing.
    pub fn is_as(&self, baseline: Option<&String>) -> bool {
        self.listing.as_ref() == baseline && self.listing.as_deref() != Some(UNKNOWN_LISTING)
    }
}

/// What is found in a container when it is begun to fill it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// What is in it.
    pub survey: Survey,
    /// SHA-256 of files, as they were asked for.
    pub hashes: BTreeMap<String, String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes it so.
pub(super) const fn is_zero(version: &u64) -> bool {
    *version == 0
}

impl Standing {
    /// Of a sandbox that has not been made yet.
    pub fn of(address: Address, dir: Directory) -> Self {
        Self {
            address,
            dir,
            filling: None,
            restoring: false,
            end_unanswered: false,
            late: false,
            begun: None,
            former: false,
            opened_at: None,
            kept_at: None,
            image: None,
            baseline: None,
            files: Vec::new(),
            fingerprint: None,
            version: 0,
            variables: Vec::new(),
        }
    }
}

impl Dependencies {
    /// In what the world differs from what it was at the snapshot: `files`, `fingerprint` and `image` as they are now, and
    /// as `expect` wants them to have been. The second list is about the image.
    pub fn compare(&self, now: &Self, expect: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
        let mut stale = Vec::new();
        for (path, expected) in expect {
            let then = self.files.get(path).map_or("", String::as_str);
            if !then.eq_ignore_ascii_case(expected) {
                stale.push(format!("{path:?} is not what was expected at the snapshot"));
            }
        }
        for (path, hash) in &now.files {
            if self.files.get(path).is_some_and(|then| then != hash) {
                stale.push(format!("{path:?} has changed since the snapshot"));
            }
        }
        if let (Some(then), Some(now)) = (&self.fingerprint, &now.fingerprint)
            && then != now
        {
            stale.push(format!("the fingerprint is {now:?}, and was {then:?} at the snapshot"));
        }
        let image = match (&self.image, &now.image) {
            (Some(then), Some(now)) if then != now => {
                vec![format!("the sandbox's image is {now:?}, and was {then:?} at the snapshot")]
            }
            _ => Vec::new(),
        };
        (stale, image)
    }
}
