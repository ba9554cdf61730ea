"""Images made small enough to show to a model."""

import base64
import io
import struct

from msgspec import Struct
from PIL import GifImagePlugin, Image, ImageFile, ImageOps, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from bridle.tools.files.text_files import ImageKind
from bridle.types.block import ImageBlock
from bridle.types.errors import ToolError

_LONGEST_EDGE = 1568
_MOST_SHOWN_BYTES = 3_750_000
_MOST_PIXELS = 40_000_000
_QUALITIES = (85, 70, 50, 30)

# Opening through these classes, and not through Image.open, keeps every other codec away from foreign bytes.
_CODECS: dict[ImageKind, type[ImageFile.ImageFile]] = {
    "png": PngImagePlugin.PngImageFile,
    "jpeg": JpegImagePlugin.JpegImageFile,
    "gif": GifImagePlugin.GifImageFile,
    "webp": WebPImagePlugin.WebPImageFile,
}


# Pillow reports damage with whatever the codec stumbled over.
_DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    OverflowError,
    struct.error,
    Image.DecompressionBombError,
)


class Picture(Struct, frozen=True, kw_only=True):
    media_type: str
    base64: str
    width: int
    height: int
    original_width: int
    original_height: int

    @property
    def resized(self) -> bool:
        return (self.width, self.height) != (self.original_width, self.original_height)

    def block(self) -> ImageBlock:
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": self.media_type, "data": self.base64},
        }


def fit(data: bytes, kind: ImageKind) -> Picture:
    """The image itself when it is small enough, else a smaller copy.

    Raises:
        ToolError: the image is damaged or would need too much memory.
    """
    try:
        with _CODECS[kind](io.BytesIO(data)) as image:
            return _fit(image, data, kind)
    except _DAMAGE as error:
        raise ToolError(f"This {kind.upper()} image is damaged and cannot be shown: {error}.") from error


def decoded(data: str, kind: str, *, most_pixels: int) -> Image.Image | None:
    """The first picture of an image in base64; None if it is damaged, too large or of another kind."""
    codec = next((codec for name, codec in _CODECS.items() if name == kind), None)
    if codec is None:
        return None
    try:
        with codec(io.BytesIO(base64.b64decode(data, validate=True))) as image:
            if image.width * image.height > most_pixels:
                return None
            image.load()
            return _on_white(ImageOps.exif_transpose(image))
    except _DAMAGE:
        return None


def _fit(image: ImageFile.ImageFile, data: bytes, kind: ImageKind) -> Picture:
    width, height = image.size
    if kind == "jpeg":
        image.draft("RGB", (_LONGEST_EDGE, _LONGEST_EDGE))
    if image.width * image.height > _MOST_PIXELS:
        raise ToolError(f"This image has {width}x{height} pixels; make a smaller copy and read that.")
    image.load()
    media_type, shown, size = f"image/{kind}", data, (width, height)
    if max(size) > _LONGEST_EDGE or len(data) > _MOST_SHOWN_BYTES:
        small = _reduced(image)
        if (small.width > small.height) != (width > height):
            width, height = height, width
        media_type, shown = _encode(small, lossless=kind != "jpeg")
        size = small.size
    return Picture(
        media_type=media_type,
        base64=base64.b64encode(shown).decode("ascii"),
        width=size[0],
        height=size[1],
        original_width=width,
        original_height=height,
    )


def _reduced(image: Image.Image) -> Image.Image:
    """A copy of bounded size, turned upright; other modes than these do not scale smoothly."""
    if image.mode.startswith("I;16"):
        image = image.point(lambda value: value / 256).convert("L")
    elif image.mode not in {"L", "LA", "RGB", "RGBA"}:
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.thumbnail((_LONGEST_EDGE, _LONGEST_EDGE))
    return ImageOps.exif_transpose(image)


def _encode(image: Image.Image, *, lossless: bool) -> tuple[str, bytes]:
    if lossless and len(data := _saved(image, "PNG", optimize=True)) <= _MOST_SHOWN_BYTES:
        return "image/png", data
    flat = _on_white(image)
    encoded = (_saved(flat, "JPEG", quality=quality) for quality in _QUALITIES)
    data = next((each for each in encoded if len(each) <= _MOST_SHOWN_BYTES), b"")
    if not data:
        raise ToolError("This image cannot be made small enough to show; make a smaller copy and read that.")
    return "image/jpeg", data


def _saved(image: Image.Image, form: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def _on_white(image: Image.Image) -> Image.Image:
    """JPEG has no transparency, and black behind black drawings shows nothing."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    clear = image.convert("RGBA")
    white = Image.new("RGBA", clear.size, "white")
    return Image.alpha_composite(white, clear).convert("RGB")
