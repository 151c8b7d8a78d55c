//! A file that is only appended to, and replaced as a whole.
//!
//! Eight bytes of header, then frames: the length of the payload and a check of it, the payload, a checksum. Both
//! checks cover the checksum before, so that no frame can be missing. A frame is written and synced before the next
//! one: only the last can be torn.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::memory::{SHARDS, Table};
use super::error::OpenProblem;
use super::lock::beside;
use super::record::{self, Replay};

const MAGIC: &[u8; 7] = b"tgtaint";
const VERSION: u8 = 1;
const HEADER: u64 = 8;

/// What the name of the next file ends in.
const NEW: &str = ".new";

/// How many words of a filter go into a frame.
const WORDS: usize = 1 << 16;

/// What the writer writes to: apart from it, so that tests can have disks that fail.
pub(super) trait Disk: Send + 'static {
    /// Appends records, so that they stay.
    fn append(&mut self, records: &[u8]) -> io::Result<()>;
    /// Writes all of a table in the place of what there is. After a failure there is what there was, or all.
    fn replace(&mut self, table: &Table) -> io::Result<()>;
    /// In bytes.
    fn length(&self) -> u64;
}

#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    frames: Frames<File>,
    /// The directory does not say for certain yet which file has the name.
    renamed: bool,
}

impl Journal {
    /// Where there is no file yet.
    pub(super) fn create(path: &Path, table: &Table) -> io::Result<Self> {
        let frames = write_new(path, table)?;
        fs::rename(beside(path, NEW), path)?;
        let mut journal = Self { path: path.into(), frames, renamed: true };
        journal.sync_directory()?;
        Ok(journal)
    }

    /// Reads a file into an empty table, and cuts a torn end off.
    pub(super) fn open(path: &Path, table: &mut Table) -> Result<Self, OpenProblem> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        let mut frames = Frames { file: BufReader::new(file), chain: [0; 8], length: 0 };
        frames.read_header()?;
        frames.replay(length, table)?;
        let mut file = frames.file.into_inner();
        if frames.length < length {
            file.set_len(frames.length)?;
        }
        // What is read may never have been synced.
        file.sync_all()?;
        file.seek(SeekFrom::End(0))?;
        let frames = Frames { file, chain: frames.chain, length: frames.length };
        let mut journal = Self { path: path.into(), frames, renamed: true };
        journal.sync_directory()?;
        Ok(journal)
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        if self.renamed && cfg!(unix) {
            let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        self.renamed = false;
        Ok(())
    }
}

#[cfg(test)]
impl Journal {
    /// Half a write.
    pub(super) fn tear(&mut self, records: &[u8]) {
        let mut frames = Frames { file: Vec::new(), chain: self.frames.chain, length: 0 };
        frames.append(records).unwrap();
        self.frames.file.write_all(&frames.file[..frames.file.len() / 2]).unwrap();
    }
}

impl Disk for Journal {
    fn append(&mut self, records: &[u8]) -> io::Result<()> {
        self.sync_directory()?;
        self.frames.append(records)?;
        self.frames.file.sync_data()
    }

    fn replace(&mut self, table: &Table) -> io::Result<()> {
        let frames = write_new(&self.path, table)?;
        fs::rename(beside(&self.path, NEW), &self.path)?;
        (self.frames, self.renamed) = (frames, true);
        self.sync_directory()
    }

    fn length(&self) -> u64 {
        self.frames.length
    }
}

/// The next file, with all of a table. One that cannot be finished must not fill the disk.
fn write_new(path: &Path, table: &Table) -> io::Result<Frames<File>> {
    let written = new_file(path).and_then(|file| Frames::write(file, table));
    if written.is_err() {
        _ = fs::remove_file(beside(path, NEW));
    }
    written
}

/// The file that is to be the next: for its owner alone.
fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(beside(path, NEW))
}

/// Frames of a file, up to somewhere.
#[derive(Debug)]
struct Frames<F> {
    file: F,
    /// The last checksum.
    chain: [u8; 8],
    /// Where the last frame ends.
    length: u64,
}

impl<F> Frames<F> {
    fn check<const N: usize>(&self, parts: [&[u8]; 2]) -> [u8; N] {
        let hash = Sha256::new_with_prefix(self.chain);
        let hash = parts.into_iter().fold(hash, Digest::chain_update).finalize();
        let mut short = [0; N];
        short.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        short
    }
}

impl<F: Write> Frames<F> {
    fn append(&mut self, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(|_| io::ErrorKind::FileTooLarge)?.to_le_bytes();
        let head: [u8; 4] = self.check([&length, &[]]);
        let sum = self.check([&length, payload]);
        self.file.write_all(&[&length, &head, payload, &sum].concat())?;
        self.chain = sum;
        self.length += payload.len() as u64 + 16;
        Ok(())
    }
}

impl Frames<File> {
    /// All of a table. The filter comes first: what is joined later must find the one that was.
    fn write(file: File, table: &Table) -> io::Result<Self> {
        let mut frames = Frames { file: BufWriter::new(file), chain: [0; 8], length: HEADER };
        frames.file.write_all(MAGIC)?;
        frames.file.write_all(&[VERSION])?;
        let words: Vec<_> = if table.filter().is_empty() { Vec::new() } else { table.filter().words().collect() };
        let mut payload = Vec::new();
        for (at, part) in words.chunks(WORDS).enumerate() {
            record::filter(&mut payload, part, words.len() - at * WORDS - part.len());
            frames.append(&payload)?;
            payload.clear();
        }
        for shard in 0..SHARDS {
            table.each(shard, |key, taint| record::join(&mut payload, key, &taint));
            if !payload.is_empty() {
                frames.append(&payload)?;
            }
            payload.clear();
        }
        let file = frames.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(Self { file, chain: frames.chain, length: frames.length })
    }
}

impl<F: Read> Frames<F> {
    fn read_header(&mut self) -> Result<(), OpenProblem> {
        let header = self.up_to(HEADER)?;
        self.length = HEADER;
        match header.strip_prefix(MAGIC) {
            Some([VERSION]) => Ok(()),
            Some([version]) => Err(OpenProblem::Version(*version)),
            Some(_) | None => Err(OpenProblem::NoJournal),
        }
    }

    /// All payloads up to a torn end.
    fn replay(&mut self, end: u64, table: &mut Table) -> Result<(), OpenProblem> {
        let mut replay = Replay::default();
        loop {
            let at = self.length;
            let Some(payload) = self.read(end)? else { return Ok(()) };
            replay.payload(&payload, table).ok_or(OpenProblem::Damaged(at))?;
        }
    }

    /// The next payload, unless the rest is nothing or torn.
    fn read(&mut self, end: u64) -> Result<Option<Vec<u8>>, OpenProblem> {
        let head = self.up_to(8)?;
        let Some((length, check)) = head.split_first_chunk::<4>().filter(|_| head.len() == 8) else { return Ok(None) };
        if head == [0; 8] {
            return self.only_zeros(end);
        }
        if self.check::<4>([length, &[]]) != check {
            return Err(OpenProblem::Damaged(self.length));
        }
        let payload_length = u64::from(u32::from_le_bytes(*length));
        let frame_end = self.length + payload_length + 16;
        if frame_end > end {
            return Ok(None);
        }
        let (payload, sum) = (self.up_to(payload_length)?, self.up_to(8)?);
        if self.check::<8>([length, &payload]) != *sum {
            return Err(OpenProblem::Damaged(self.length));
        }
        self.chain.copy_from_slice(&sum);
        self.length = frame_end;
        Ok(Some(payload))
    }

    /// Some filesystems make a file longer before they write to it: a crash between leaves zeros.
    fn only_zeros(&mut self, end: u64) -> Result<Option<Vec<u8>>, OpenProblem> {
        let rest = self.up_to(end)?;
        if rest.iter().all(|byte| *byte == 0) { Ok(None) } else { Err(OpenProblem::Damaged(self.length)) }
    }

    fn up_to(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.by_ref().take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
