"""Pictures and films: arrays of pixels that a notebook displays."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any, Iterator, List, Optional, Tuple, Union

import numpy

from . import _core

PathLike = Union[str, "os.PathLike[str]"]


class Picture(numpy.ndarray):
    """A picture: an array of red, green and blue, uint8, shape (height, width, 3). A notebook displays it."""

    def _pixels(self) -> Tuple[bytes, Tuple[int, int]]:
        if self.dtype != numpy.uint8 or self.ndim != 3 or self.shape[2] != 3 or not self.size:
            raise ValueError(
                f"found an array of {self.dtype} and the shape {self.shape}, expected uint8 and (height, width, 3)"
            )
        return self.tobytes(), (self.shape[1], self.shape[0])

    def png(self) -> bytes:
        """The picture as a PNG file."""
        return _core.png(*self._pixels())

    def save(self, path: PathLike) -> None:
        """Writes the picture to a file, which ends in .png or .jpg.

        Raises ValueError for another ending, and OSError if the file cannot be written.
        """
        _core.save(*self._pixels(), Path(path))

    def _repr_png_(self) -> Optional[bytes]:
        try:
            return self.png()
        except ValueError:
            # A part of a picture, or an array computed from one.
            return None


class Film:
    """A series of pictures. A notebook displays it as a video where ffmpeg is installed, otherwise its last picture.

    Attributes:
        pictures: the frames.
        fps: frames per second.
    """

    pictures: List[Picture]
    fps: float

    def __init__(self, pictures: List[Picture], fps: float):
        self.pictures = pictures
        self.fps = fps

    def __repr__(self) -> str:
        return f"<Film of {len(self)} pictures, {len(self) / self.fps:.3g} s>"

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: Any) -> Any:
        return self.pictures[index]

    def __iter__(self) -> Iterator[Picture]:
        return iter(self.pictures)

    def save(self, path: PathLike) -> None:
        """Writes the film to a file, which ends in .gif, .mp4 or .webm.

        Raises ValueError for another ending. The formats .mp4 and .webm need the program ffmpeg; without it, raises
        FileNotFoundError.
        """
        height, width = self.pictures[0].shape[:2]
        film = _core.Film(Path(path), (width, height), self.fps)
        for picture in self.pictures:
            film.add(picture.tobytes())
        film.finish()

    def _repr_png_(self) -> Optional[bytes]:
        return self.pictures[-1]._repr_png_()

    def _repr_html_(self) -> Optional[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "film.mp4"
            try:
                self.save(path)
            except (OSError, _core.RockfallError):
                # The last picture stands in for it.
                return None
            video = base64.b64encode(path.read_bytes()).decode("ascii")
        return f'<video controls loop autoplay muted src="data:video/mp4;base64,{video}"></video>'
