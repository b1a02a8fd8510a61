//! The check of the container at the begin of each call of a caller.

use super::{READ_AGE, READ_MARKER, shell_quote};
use crate::model::named::ContainerMarker;
use crate::model::required_container::{ContainerRefusal, RequiredContainer};

/// Returns the commands, for a subshell with the [file names](super::FILE_NAMES), that print why the container is not the
/// required one: `other`, or `young` and its age in hundredths of a second.
pub(in crate::cloudflare) fn check_container(required: &RequiredContainer) -> String {
    match required {
        RequiredContainer::Identified(_) => String::new(),
        RequiredContainer::Ready => format!("{READ_MARKER}[[ $now == 'ready '* ]] || echo other\n"),
        RequiredContainer::Marked(nonce) => {
            let marker = ContainerMarker::Ready(nonce.clone());
            format!("{READ_MARKER}[ \"$now\" = {} ] || echo other\n", shell_quote(&marker.to_string()))
        }
        RequiredContainer::OlderThan { millis } => format!(
            r#"if [ -e "$replaced_note" ]; then echo other; exit; fi
{READ_AGE}age=$((10#${{up/./}} - start)); [ "$age" -ge {} ] || echo young "$age"
"#,
            millis.max(&0) / 10
        ),
    }
}

/// Parses what the check printed.
pub(in crate::cloudflare) fn read_container_refusal(text: &str) -> Option<ContainerRefusal> {
    match text.split(' ').collect::<Vec<_>>().as_slice() {
        ["young", age] => Some(ContainerRefusal::TooYoung { age_millis: age.parse::<i64>().ok()?.checked_mul(10)? }),
        ["other"] => Some(ContainerRefusal::OtherContainer),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_is_a_word_and_the_age() {
        let young = ContainerRefusal::TooYoung { age_millis: 1230 };
        assert_eq!(read_container_refusal("young 123"), Some(young));
        assert_eq!(read_container_refusal("other"), Some(ContainerRefusal::OtherContainer));
        for odd in ["young x", "young", "other 1", "", "young 9223372036854775807"] {
            assert_eq!(read_container_refusal(odd), None, "{odd:?}");
        }
    }
}
