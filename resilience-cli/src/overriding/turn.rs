//! One hand at a time: what one operator reads, changes and writes, no other may write in between.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};

/// Another one needs milliseconds; who takes longer is stopped, or stands on a disk that is gone.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// Held until it is dropped.
pub(super) struct Turn {
    _locked: Option<File>,
}

impl Turn {
    /// Waits for it.
    pub(super) fn take(policy: &Path, overrides: &Path) -> io::Result<Self> {
        let path = locked(policy, overrides);
        // The policy is there, and may be another's to write.
        let file = File::open(&path).or_else(|_| OpenOptions::new().append(true).create(true).open(&path))?;
        let patient_until = Instant::now() + PATIENCE;
        loop {
            match FileExt::try_lock(&file) {
                Ok(()) => return Ok(Self { _locked: Some(file) }),
                Err(TryLockError::WouldBlock) if Instant::now() < patient_until => sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let why = format!("another `resilience override` has held it for {} s", PATIENCE.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                // There are disks that know no locks, and an operator who is alone must not be stopped by one.
                Err(TryLockError::Error(_)) => return Ok(Self { _locked: None }),
            }
        }
    }
}

/// What is locked: the policy, so that nothing is left behind. Where a lock keeps readers out, a file of its own.
fn locked(policy: &Path, overrides: &Path) -> PathBuf {
    if cfg!(unix) {
        return policy.to_path_buf();
    }
    let mut beside = overrides.as_os_str().to_owned();
    beside.push(".lock");
    beside.into()
}
