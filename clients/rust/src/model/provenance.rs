//! The provenance of a snapshot: what its container ran on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the container of a snapshot ran on, as far as it is known. What is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    /// The image, as the class for containers started it. Absent if the platform selected it, or if the container started from
    /// a platform snapshot; the SDK 0.12 does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// A hash of the release and of the packages of the image: 16 hexadecimal digits. A package that was installed in the
    /// running container changes it, and other files do not. Absent if the image lists no packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<String>,
    /// The version of the Sandbox SDK in the image. Absent if the image is not one of the SDK 0.12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdk_version: Option<String>,
    /// The version of the class for containers. Absent for the class of the SDK 0.12, which does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_version: Option<String>,
}

impl Provenance {
    /// The hash of an image without a release and without packages.
    const NOTHING_INSTALLED: &str = "e3b0c44298fc1c14";

    /// What the text has in place of a part that is not known.
    const UNKNOWN: &str = "unknown";

    /// The maximum length of a part, in characters. Each comes from the container or its class, and can be any text.
    const MAX_CHARS: usize = 255;

    /// Returns how a container differs from the one of a snapshot with this provenance. What is not known of both is no
    /// difference.
    pub fn changes(&self, now: &Self) -> Vec<String> {
        let parts = [
            ("image", &self.image, &now.image),
            ("package hash", &self.packages, &now.packages),
            ("SDK version", &self.sdk_version, &now.sdk_version),
            ("class version", &self.class_version, &now.class_version),
        ];
        let changed = parts.into_iter().filter_map(|(name, then, now)| match (then, now) {
            (Some(then), Some(now)) if then != now => {
                Some(format!("the sandbox's {name} is {now:?}, and was {then:?} at the snapshot"))
            }
            _ => None,
        });
        changed.collect()
    }

    /// Parses the text of a provenance: `<SDK version> <package hash>`, and perhaps `<class version> <image>`. Each may be
    /// `unknown`. Returns `None` if it tells nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ').map(Self::known);
        let mut next = || parts.next().flatten();
        let (sdk_version, packages, class_version, image) = (next(), next(), next(), next());
        let packages = packages.filter(|hash| hash != Self::NOTHING_INSTALLED);
        Self { image, packages, sdk_version, class_version }.if_known()
    }

    /// Returns the provenance with what the class of the container tells; `None` if nothing is known.
    pub fn with_class(known: Option<Self>, image: Option<&str>, class_version: Option<&str>) -> Option<Self> {
        let (image, class_version) = (image.and_then(Self::known), class_version.and_then(Self::known));
        Self { image, class_version, ..known.unwrap_or_default() }.if_known()
    }

    /// Returns the part that best tells people what the container ran on: its image, else the version of the SDK, else the
    /// package hash.
    pub fn summary(&self) -> String {
        let parts = [
            self.image.clone(),
            self.sdk_version.as_ref().map(|version| format!("SDK {version}")),
            self.packages.as_ref().map(|hash| format!("packages {hash}")),
            self.class_version.as_ref().map(|version| format!("class {version}")),
        ];
        parts.into_iter().flatten().next().unwrap_or_default()
    }

    /// Returns the parts that differ from those of `other`, as short texts for people. What is not known of both is no difference.
    pub fn differing_parts(&self, other: &Self) -> Vec<String> {
        let parts = [
            ("", &self.image, &other.image),
            ("SDK ", &self.sdk_version, &other.sdk_version),
            ("packages ", &self.packages, &other.packages),
            ("class ", &self.class_version, &other.class_version),
        ];
        let differing = parts.into_iter().filter_map(|(name, own, other)| match (own, other) {
            (Some(own), Some(other)) if own != other => Some(format!("{name}{own}")),
            _ => None,
        });
        differing.collect()
    }

    fn if_known(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    fn known(part: &str) -> Option<String> {
        let is_text = !part.is_empty() && part.chars().all(|char| !char.is_whitespace() && !char.is_control());
        (is_text && part != Self::UNKNOWN).then(|| part.chars().take(Self::MAX_CHARS).collect())
    }
}

impl fmt::Display for Provenance {
    /// Writes the text that [`parse`](Provenance::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |part: &Option<String>| part.clone().unwrap_or_else(|| Self::UNKNOWN.to_owned());
        write!(f, "{} {}", known(&self.sdk_version), known(&self.packages))?;
        if self.class_version.is_some() || self.image.is_some() {
            write!(f, " {} {}", known(&self.class_version), known(&self.image))?;
        }
        Ok(())
    }
}
