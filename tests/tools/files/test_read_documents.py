import base64
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter

from bridle.tools.files.read import TOOL, ReadInput
from bridle.types.errors import ToolError
from bridle.types.tool import ToolContext, ToolOutput
from tests.fakes.tool_context import make_context


async def read(ctx: ToolContext, path: str, **options: Any) -> ToolOutput:
    input = ReadInput(file_path=path, **options)
    TOOL.check(input, ctx)
    return await TOOL.run(input, ctx)


def blocks(output: ToolOutput, kind: str) -> list[Any]:
    assert isinstance(output.content, list)
    return [block for block in output.content if block["type"] == kind]


def shown(output: ToolOutput) -> Image.Image:
    (block,) = blocks(output, "image")
    return Image.open(io.BytesIO(base64.b64decode(block["source"]["data"])))


def encoded(image: Image.Image, form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def noise(width: int, height: int) -> Image.Image:
    return Image.frombytes("RGB", (width, height), random.Random(7).randbytes(width * height * 3))


def pdf(count: int, **options: Any) -> bytes:
    writer = PdfWriter()
    for number in range(count):
        writer.add_blank_page(100 + number, 100)
    if options:
        writer.encrypt(**options)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def attached(output: ToolOutput) -> PdfReader:
    (block,) = blocks(output, "document")
    return PdfReader(io.BytesIO(base64.b64decode(block["source"]["data"])))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_small_image_is_shown_as_it_is_whatever_its_name(tmp_path: Path, form: str):
    data = encoded(Image.new("RGB", (30, 20), "red"), form)
    (tmp_path / "picture.dat").write_bytes(data)

    output = await read(make_context(tmp_path), "picture.dat")

    media_type, text = f"image/{form.lower()}", base64.b64encode(data).decode()
    assert output.content == [
        {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": text}}
    ]
    size = {"originalWidth": 30, "originalHeight": 20, "displayWidth": 30, "displayHeight": 20}
    assert output.data == {
        "type": "image",
        "file": {"base64": text, "type": media_type, "originalSize": len(data), "dimensions": size},
    }


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_large_image_is_scaled_to_1568_pixels(tmp_path: Path, form: str):
    (tmp_path / "a").write_bytes(encoded(Image.new("RGB", (4001, 2001), "red"), form))

    output = await read(make_context(tmp_path), "a")

    assert max(shown(output).size) == 1568
    assert "4001x2001" in blocks(output, "text")[0]["text"]


async def test_an_image_of_many_bytes_is_made_smaller(tmp_path: Path):
    data = encoded(noise(1500, 1500), "PNG")
    (tmp_path / "a.png").write_bytes(data)

    output = await read(make_context(tmp_path), "a.png")

    assert len(data) > 5_000_000
    assert len(base64.b64decode(output.data["file"]["base64"])) <= 3_750_000
    assert shown(output).size == (1500, 1500)


async def test_a_scaled_photograph_is_turned_upright(tmp_path: Path):
    exif = Image.Exif()
    exif[0x0112] = 6
    (tmp_path / "a.jpg").write_bytes(encoded(Image.new("RGB", (3000, 1000)), "JPEG", exif=exif))

    output = await read(make_context(tmp_path), "a.jpg")

    assert shown(output).size[1] == 1568
    assert output.data["file"]["dimensions"]["originalHeight"] == 3000


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
async def test_every_kind_of_png_can_be_scaled(tmp_path: Path, mode: str):
    (tmp_path / "a.png").write_bytes(encoded(Image.new(mode, (2000, 50)), "PNG"))

    output = await read(make_context(tmp_path), "a.png")

    assert shown(output).size[0] == 1568


async def test_sixteen_bit_grays_keep_their_brightness_when_scaled(tmp_path: Path):
    image = Image.new("I;16", (2000, 50), 0x8000)
    (tmp_path / "a.png").write_bytes(encoded(image, "PNG"))

    output = await read(make_context(tmp_path), "a.png")

    gray = shown(output).convert("L").getpixel((10, 10))
    assert isinstance(gray, int | float) and 120 <= gray <= 135


async def test_an_image_of_too_many_pixels_is_refused_before_it_is_unpacked(tmp_path: Path):
    (tmp_path / "bomb.png").write_bytes(encoded(Image.new("1", (20_000, 20_000)), "PNG"))

    with pytest.raises(ToolError, match="20000x20000"):
        await read(make_context(tmp_path), "bomb.png")


async def test_damaged_images_are_errors(tmp_path: Path):
    for form in ("PNG", "JPEG", "GIF", "WEBP"):
        data = encoded(noise(60, 60), form)
        (tmp_path / "short").write_bytes(data[: len(data) // 2])
        with pytest.raises(ToolError, match="damaged"):
            await read(make_context(tmp_path), "short")


async def test_no_damage_to_an_image_escapes_as_another_error(tmp_path: Path):
    chance = random.Random(3)
    ctx = make_context(tmp_path)
    for form in ("PNG", "JPEG", "GIF", "WEBP"):
        data = encoded(noise(40, 40), form)
        for _ in range(60):
            broken = bytearray(data)
            for _ in range(chance.randint(1, 8)):
                broken[chance.randrange(12, len(broken))] = chance.randrange(256)
            (tmp_path / "broken").write_bytes(broken)
            try:
                await read(ctx, "broken")
            except ToolError:
                pass  # Refusing is as good as showing; anything else would fail the test.


async def test_a_text_named_like_an_image_is_read_as_text(tmp_path: Path):
    (tmp_path / "a.png").write_text("version https://git-lfs.github.com/spec/v1\n")

    assert str((await read(make_context(tmp_path), "a.png")).content).startswith("1\tversion")


async def test_a_short_pdf_is_attached_unchanged(tmp_path: Path):
    data = pdf(3)
    (tmp_path / "a.pdf").write_bytes(data)

    output = await read(make_context(tmp_path), "a.pdf")

    (document,) = blocks(output, "document")
    text = base64.b64encode(data).decode()
    assert document["source"] == {"type": "base64", "media_type": "application/pdf", "data": text}
    assert output.data == {
        "type": "pdf",
        "file": {"filePath": str(tmp_path / "a.pdf"), "base64": text, "originalSize": len(data)},
    }


async def test_a_pdf_of_more_than_ten_pages_needs_pages(tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(pdf(11))

    with pytest.raises(ToolError, match="11 pages"):
        await read(make_context(tmp_path), "a.pdf")


async def test_chosen_pages_of_a_pdf_are_attached_alone(tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(pdf(30))
    ctx = make_context(tmp_path)

    some = await read(ctx, "a.pdf", pages="4-6")
    one = await read(ctx, "a.pdf", pages="30")
    past = await read(ctx, "a.pdf", pages="29-40")

    assert [float(page.mediabox.width) for page in attached(some).pages] == [103, 104, 105]
    assert len(attached(one).pages) == 1
    assert len(attached(past).pages) == 2
    assert "4-6 of 30" in blocks(some, "text")[0]["text"]


@pytest.mark.parametrize("pages", ["0", "5-2", "1-21", "a", "1,2", "-3", "1-"])
def test_a_range_that_makes_no_sense_is_an_error_before_reading(tmp_path: Path, pages: str):
    with pytest.raises(ToolError):
        TOOL.check(ReadInput(file_path="a.pdf", pages=pages), make_context(tmp_path))


async def test_pages_behind_the_end_of_a_pdf_are_an_error(tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(pdf(3))

    with pytest.raises(ToolError, match="only 3 pages"):
        await read(make_context(tmp_path), "a.pdf", pages="7")


async def test_an_empty_pages_field_means_none(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x\n")

    assert (await read(make_context(tmp_path), "a.txt", pages="")).content == "1\tx"


async def test_a_pdf_with_a_password_is_an_error(tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(pdf(2, user_password="secret", algorithm="RC4-128"))

    with pytest.raises(ToolError, match="password"):
        await read(make_context(tmp_path), "a.pdf")


async def test_a_pdf_locked_without_a_password_is_shown_unlocked(tmp_path: Path):
    data = pdf(2, user_password="", owner_password="owner", algorithm="RC4-128")
    (tmp_path / "a.pdf").write_bytes(data)

    output = await read(make_context(tmp_path), "a.pdf")

    assert not attached(output).is_encrypted


async def test_a_damaged_pdf_is_an_error_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    data = pdf(5)
    ctx = make_context(tmp_path)
    chance = random.Random(5)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\nnothing to see\n")
    with pytest.raises(ToolError, match="damaged"):
        await read(ctx, "a.pdf")
    for _ in range(60):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 20)):
            broken[chance.randrange(8, len(broken))] = chance.randrange(256)
        (tmp_path / "a.pdf").write_bytes(broken)
        try:
            await read(ctx, "a.pdf", pages="1-3")
        except ToolError:
            pass  # Refusing is as good as showing; anything else would fail the test.

    assert capfd.readouterr().err == ""


async def test_a_pdf_too_large_to_attach_is_given_as_text(tmp_path: Path):
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.add_attachment("weight.bin", random.Random(1).randbytes(24 * 1024 * 1024))
    buffer = io.BytesIO()
    writer.write(buffer)
    (tmp_path / "a.pdf").write_bytes(buffer.getvalue())

    output = await read(make_context(tmp_path), "a.pdf")

    assert isinstance(output.content, str) and "[page 1]" in output.content
    assert output.data["type"] == "text"


def notebook(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


async def test_a_notebook_is_shown_by_cell_with_ids_and_outputs(tmp_path: Path):
    picture = base64.b64encode(encoded(Image.new("RGB", (4, 4)), "PNG")).decode()
    cells = (
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "metadata": {},
            "execution_count": 3,
            "source": "1/0",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["hi\n", "there"]},
                {"output_type": "display_data", "data": {"image/png": picture, "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mBoom\x1b[0m"]},
            ],
        },
    )
    (tmp_path / "a.ipynb").write_text(notebook(*cells))

    output = await read(make_context(tmp_path), "a.ipynb")

    text, image, rest = output.content
    assert isinstance(text, dict) and text["type"] == "text"
    assert '<cell id="intro" type="markdown">\n# Title\ntext\n</cell>' in text["text"]
    assert '<cell id="cell-1" type="code" executed="3">\n1/0\n</cell>' in text["text"]
    assert "hi\nthere" in text["text"] and "<Figure>" in text["text"]
    assert isinstance(image, dict) and image["type"] == "image"
    assert isinstance(rest, dict) and rest["type"] == "text" and "\nBoom\n" in rest["text"]
    assert output.data["type"] == "notebook"
    assert output.data["file"]["cells"][0] == {
        "cellType": "markdown",
        "source": "# Title\ntext",
        "cell_id": "intro",
    }
    assert output.data["file"]["cells"][1]["outputs"][1]["image"] == {
        "media_type": "image/png",
        "image_data": picture,
    }


async def test_long_outputs_of_a_notebook_are_cut_and_many_cells_are_paged(tmp_path: Path):
    output = {"output_type": "stream", "name": "stdout", "text": "x" * 50_000}
    cell = {
        "cell_type": "code",
        "metadata": {},
        "execution_count": 1,
        "source": "loop()",
        "outputs": [output],
    }
    (tmp_path / "a.ipynb").write_text(notebook(*[cell] * 40))
    ctx = make_context(tmp_path)

    first = await read(ctx, "a.ipynb")
    rest = await read(ctx, "a.ipynb", offset=38, limit=2)

    text = "".join(block["text"] for block in blocks(first, "text"))
    assert len(text) < 105_000
    assert "40,000 more characters" in text and "PARTIAL view" in text and "offset=10" in text
    assert [cell["cell_id"] for cell in rest.data["file"]["cells"]] == ["cell-37", "cell-38"]
    state = ctx.workspace.files.find(str(tmp_path / "a.ipynb"))
    assert state is not None and state.partial


async def test_a_damaged_image_in_a_notebook_does_not_hide_the_rest(tmp_path: Path):
    outputs = [{"output_type": "display_data", "data": {"image/png": "%%%", "text/plain": "fig"}}]
    cell = {"cell_type": "code", "metadata": {}, "source": "plot()", "outputs": outputs}
    (tmp_path / "a.ipynb").write_text(notebook(cell))

    output = await read(make_context(tmp_path), "a.ipynb")

    assert "not shown" in blocks(output, "text")[0]["text"]


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"cells": [1]}', "[" * 100_000])
async def test_what_is_no_notebook_is_an_error(tmp_path: Path, text: str):
    (tmp_path / "a.ipynb").write_text(text)

    with pytest.raises(ToolError):
        await read(make_context(tmp_path), "a.ipynb")
