//! The archives that benches run over: those of a folder, or rooms made for the run.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

use super::{Args, BenchError};
use crate::replay::generate::{self, Plan};

/// About as many lines as a year of a quiet help channel has, in a hundred rooms.
const PLAN: Plan = Plan { seed: 1, rooms: 100, lines: 700 };

/// Archives by the name of their set, and the folder that goes with the run if they were made for it.
pub(super) struct Archives {
    pub sets: Vec<(String, PathBuf)>,
    made: Option<PathBuf>,
}

impl Archives {
    pub(super) fn open(args: &Args) -> Result<Self, BenchError> {
        let Some(folder) = &args.archives else { return Self::make() };
        let mut sets = Vec::new();
        for entry in fs::read_dir(folder).map_err(BenchError::file(folder))? {
            let path = entry.map_err(BenchError::file(folder))?.path();
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            if let Some(set) = name.strip_suffix(".jsonl.gz").or_else(|| name.strip_suffix(".jsonl")) {
                sets.push((set.to_owned(), path.clone()));
            }
        }
        sets.sort();
        if sets.is_empty() { Err(BenchError::NoArchives(folder.clone())) } else { Ok(Self { sets, made: None }) }
    }

    fn make() -> Result<Self, BenchError> {
        let folder = scratch()?;
        let path = folder.join("generated.jsonl.gz");
        let write = || {
            let mut gz = GzEncoder::new(File::create(&path)?, Compression::default());
            gz.write_all(generate::archive(PLAN).as_bytes())?;
            gz.finish().map(drop)
        };
        write().map_err(BenchError::file(&path))?;
        Ok(Self { sets: vec![("generated".into(), path)], made: Some(folder) })
    }

    /// The set that the core is measured on: `dev` where there is one.
    pub(super) fn for_core(&self) -> Option<&Path> {
        self.sets.iter().find(|(set, _)| set == "dev").or(self.sets.first()).map(|(_, path)| path.as_path())
    }
}

impl Drop for Archives {
    fn drop(&mut self) {
        if let Some(folder) = &self.made {
            // It lies in the system's temporary folder; what cannot be removed now is removed there some day.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// A folder of this process in the system's temporary folder.
pub(super) fn scratch() -> Result<PathBuf, BenchError> {
    let folder = std::env::temp_dir().join(format!("parlor-bench-{}", uuid::Uuid::new_v4()));
    fs::create_dir_all(&folder).map_err(BenchError::file(&folder))?;
    Ok(folder)
}
