//! Films, by way of the program ffmpeg.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use image::RgbaImage;

/// A film that is being written.
pub struct Film {
    path: PathBuf,
    ffmpeg: Child,
}

/// Why there is no film; its text is a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum FilmError {
    /// The name of the file says no format.
    #[error(
        "the file {0} has no ending that names a format of films; end its name with .mp4 or .webm"
    )]
    Format(PathBuf),
    /// There is no ffmpeg.
    #[error(
        "films are made by the program ffmpeg, and it cannot be started: {0}; install it (on Debian and Ubuntu: apt-get install ffmpeg) and see that it is on the path, or write pictures with --out"
    )]
    NoProgram(io::Error),
    /// It failed.
    #[error("ffmpeg could not write {path}: {reason}")]
    Failed {
        /// The film.
        path: PathBuf,
        /// What ffmpeg said, or its exit code.
        reason: String,
    },
}

impl Film {
    /// Starts a film of pictures of `size` pixels, `rate` of them a second; the ending of the file's
    /// name says which format it has: `mp4` (H.264) or `webm` (VP9). Of a side of odd length, the film
    /// leaves out the last pixel.
    ///
    /// # Errors
    /// If it has another ending, or there is no ffmpeg.
    pub fn start(path: &Path, size: [u32; 2], rate: f64) -> Result<Film, FilmError> {
        let codec: &[&str] = match path.extension().and_then(|ending| ending.to_str()) {
            Some("mp4") => &["-c:v", "libx264", "-crf", "18", "-movflags", "+faststart"],
            Some("webm") => &["-c:v", "libvpx-vp9", "-crf", "30", "-b:v", "0"],
            _ => return Err(FilmError::Format(path.to_owned())),
        };
        let [width, height] = size;
        let mut command = Command::new("ffmpeg");
        // A Ctrl-C is for us: the film is to be ended in order.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let ffmpeg = command
            .args(["-hide_banner", "-loglevel", "error", "-y"])
            .args(["-f", "rawvideo", "-pixel_format", "rgba"])
            .args(["-video_size", &format!("{width}x{height}")])
            .args(["-framerate", &rate.to_string(), "-i", "-"])
            // Players want sides of even length, and to be told what the numbers mean.
            .args([
                "-vf",
                "crop=floor(iw/2)*2:floor(ih/2)*2:0:0,\
                 scale=out_color_matrix=bt709:out_range=tv,format=yuv420p",
            ])
            .args(["-colorspace", "bt709", "-color_primaries", "bt709"])
            .args(["-color_trc", "iec61966-2-1", "-color_range", "tv"])
            .args(codec)
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(FilmError::NoProgram)?;
        Ok(Film {
            path: path.to_owned(),
            ffmpeg,
        })
    }

    /// Adds a picture.
    ///
    /// # Errors
    /// If ffmpeg has given up.
    pub fn add(&mut self, picture: &RgbaImage) -> Result<(), FilmError> {
        let pipe = self.ffmpeg.stdin.as_mut().expect("the pipe is open");
        match pipe.write_all(picture) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.end().err().unwrap_or_else(|| FilmError::Failed {
                path: self.path.clone(),
                reason: "it wants no more pictures".to_owned(),
            })),
        }
    }

    /// Ends the film, and waits until it is written.
    ///
    /// # Errors
    /// If ffmpeg failed.
    pub fn finish(mut self) -> Result<(), FilmError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), FilmError> {
        drop(self.ffmpeg.stdin.take());
        let failed = |reason| FilmError::Failed {
            path: self.path.clone(),
            reason,
        };
        let mut said = String::new();
        if let Some(errors) = &mut self.ffmpeg.stderr {
            let _ = io::Read::read_to_string(errors, &mut said);
        }
        match self.ffmpeg.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) if said.trim().is_empty() => Err(failed(status.to_string())),
            Ok(_) => Err(failed(said.trim().replace('\n', "; "))),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

impl Drop for Film {
    fn drop(&mut self) {
        // A film that was not finished is none.
        if self.ffmpeg.stdin.is_some() {
            let _ = self.ffmpeg.kill();
            let _ = self.ffmpeg.wait();
            let _ = fs::remove_file(&self.path);
        }
    }
}
