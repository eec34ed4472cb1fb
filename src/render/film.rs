//! Films: MP4 and WebM through the program ffmpeg, GIF without it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use image::codecs::gif::{GifEncoder, Repeat};
use image::{Delay, Frame, ImageResult, RgbaImage};

/// A film in progress.
pub struct Film {
    path: PathBuf,
    /// The writer; `None` once the film is finished.
    writer: Option<Writer>,
}

enum Writer {
    /// The program, which reads pictures from a pipe.
    Ffmpeg(Box<Child>),
    Gif(Box<Gif>),
}

/// A GIF in progress. Its pictures last whole hundredths of a second.
struct Gif {
    encoder: GifEncoder<File>,
    /// Pictures a second.
    rate: f64,
    /// Number of pictures so far.
    count: u32,
}

/// The reason why a film cannot be written; its text is a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum FilmError {
    /// The file's ending names no known format.
    #[error("found the file {0}, expected a name that ends in .mp4, .webm or .gif")]
    Format(PathBuf),
    /// ffmpeg is not installed.
    #[error(
        "MP4 and WebM films need the program ffmpeg, which cannot be started: {0}; install it (on Debian and Ubuntu: apt-get install ffmpeg) and make sure that it is on the path, or write a .gif, or pictures with --out"
    )]
    NoProgram(io::Error),
    /// The film could not be written.
    #[error("the film {path} cannot be written: {reason}")]
    Failed {
        /// The film.
        path: PathBuf,
        /// Message of ffmpeg or of the system.
        reason: String,
    },
}

impl Film {
    /// Starts a film of pictures of `size` (width and height, pixels), `rate` of them a second.
    ///
    /// The ending of the file's name gives the format: `mp4` (H.264), `webm` (VP9) or `gif` (256 colours a picture, repeated
    /// for ever). In MP4 and WebM, a side with an odd number of pixels loses the last one.
    ///
    /// # Errors
    /// If the ending is another one, ffmpeg cannot be started, or the GIF cannot be created.
    pub fn start(path: &Path, size: [u32; 2], rate: f64) -> Result<Film, FilmError> {
        let writer = match path.extension().and_then(|ending| ending.to_str()) {
            Some("mp4") => {
                let codec = ["-c:v", "libx264", "-crf", "18", "-movflags", "+faststart"];
                Writer::Ffmpeg(Box::new(ffmpeg(path, size, rate, &codec)?))
            }
            Some("webm") => {
                let codec = ["-c:v", "libvpx-vp9", "-crf", "30", "-b:v", "0"];
                Writer::Ffmpeg(Box::new(ffmpeg(path, size, rate, &codec)?))
            }
            Some("gif") => {
                let gif = Gif::start(path, rate).map_err(|error| failed(path, error))?;
                Writer::Gif(Box::new(gif))
            }
            _ => return Err(FilmError::Format(path.to_owned())),
        };
        Ok(Film {
            path: path.to_owned(),
            writer: Some(writer),
        })
    }

    /// Adds a picture.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, picture: &RgbaImage) -> Result<(), FilmError> {
        let reason = match self.writer.as_mut().expect("the film is not finished") {
            Writer::Gif(gif) => match gif.add(picture) {
                Ok(()) => return Ok(()),
                Err(error) => error.to_string(),
            },
            Writer::Ffmpeg(child) => {
                let pipe = child.stdin.as_mut().expect("the pipe is open");
                if pipe.write_all(picture).is_ok() {
                    return Ok(());
                }
                let said = self.end().err();
                return Err(
                    said.unwrap_or_else(|| failed(&self.path, "ffmpeg accepts no more pictures"))
                );
            }
        };
        Err(failed(&self.path, reason))
    }

    /// Ends the film, and waits until it is written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), FilmError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), FilmError> {
        let mut child = match self.writer.take() {
            // The encoder writes the end of the file when it is dropped.
            None | Some(Writer::Gif(_)) => return Ok(()),
            Some(Writer::Ffmpeg(child)) => child,
        };
        drop(child.stdin.take());
        let mut said = String::new();
        if let Some(errors) = &mut child.stderr {
            let _ = io::Read::read_to_string(errors, &mut said);
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) if said.trim().is_empty() => Err(failed(&self.path, status)),
            Ok(_) => Err(failed(&self.path, said.trim().replace('\n', "; "))),
            Err(error) => Err(failed(&self.path, error)),
        }
    }
}

fn failed(path: &Path, reason: impl ToString) -> FilmError {
    FilmError::Failed {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

/// Starts ffmpeg, which reads raw pictures from its standard input.
///
/// # Errors
/// If it cannot be started.
fn ffmpeg(path: &Path, size: [u32; 2], rate: f64, codec: &[&str]) -> Result<Child, FilmError> {
    let [width, height] = size;
    // Without this prefix, ffmpeg takes a name that begins with a minus sign for an option, and one with a colon for an address.
    let mut file = OsString::from("file:");
    file.push(path);
    let mut command = Command::new("ffmpeg");
    // After Ctrl-C, Rockfall ends the film in order; in a process group of its own, ffmpeg does not stop before that.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .args(["-hide_banner", "-loglevel", "error", "-y"])
        .args(["-f", "rawvideo", "-pixel_format", "rgba"])
        .args(["-video_size", &format!("{width}x{height}")])
        .args(["-framerate", &rate.to_string(), "-i", "-"])
        // Players need even sides, and must be told the colour space.
        .args([
            "-vf",
            "crop=floor(iw/2)*2:floor(ih/2)*2:0:0,\
             scale=out_color_matrix=bt709:out_range=tv,format=yuv420p",
        ])
        .args(["-colorspace", "bt709", "-color_primaries", "bt709"])
        .args(["-color_trc", "iec61966-2-1", "-color_range", "tv"])
        .args(codec)
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(FilmError::NoProgram)
}

impl Gif {
    fn start(path: &Path, rate: f64) -> ImageResult<Gif> {
        let mut encoder = GifEncoder::new_with_speed(File::create(path)?, 10);
        encoder.set_repeat(Repeat::Infinite)?;
        Ok(Gif {
            encoder,
            rate,
            count: 0,
        })
    }

    fn add(&mut self, picture: &RgbaImage) -> ImageResult<()> {
        let hundredths = |count: u32| (100.0 * f64::from(count) / self.rate).round() as u32;
        // Rounding the sum keeps rounding errors from adding up.
        let lasts = hundredths(self.count + 1) - hundredths(self.count);
        let delay = Delay::from_numer_denom_ms(10 * lasts, 1);
        self.count += 1;
        self.encoder
            .encode_frame(Frame::from_parts(picture.clone(), 0, 0, delay))
    }
}

impl Drop for Film {
    fn drop(&mut self) {
        // An unfinished film is useless.
        match self.writer.take() {
            None => return,
            Some(Writer::Gif(_)) => {}
            Some(Writer::Ffmpeg(mut child)) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
        let _ = fs::remove_file(&self.path);
    }
}
