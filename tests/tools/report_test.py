#!/usr/bin/env python3
"""The report page: whole, self-contained, and readable in a browser on a phone and on a desk.

    report_test.py --programs build/release/bin --source . [--browser] [--keep FOLDER]

--browser opens the page in Chromium; where none is installed it says so and ends with status 77.
--keep leaves page and pictures in FOLDER.
"""

import argparse
import html.parser
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PHONE, DESK = 390, 1280  # CSS pixels
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """What a page holds; elements must nest."""

    def __init__(self):
        super().__init__()
        self.open, self.faults, self.ids, self.tags, self.texts = [], [], [], [], []
        self.references = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "srcset", "data"):
                self.references.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.texts.append(data)


def png_pixels(path):
    """(width, height, number of different bytes in its rows): enough to tell a picture from a blank."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    width, height = struct.unpack(">II", data[16:24])
    packed, at = b"", 8
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    return width, height, len(set(zlib.decompress(packed)))


class WithReport(unittest.TestCase):
    programs = None
    source = None
    keep = None
    browser = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.keep or pathlib.Path(cls.temporary.name)
        job = cls.source / "schedules/reference/tiny-moe.job.json"
        cls.page = cls.folder / "tiny-moe <&>.html"
        cls.scenarios = cls.folder / "scenarios.html"
        for page, options in ((cls.page, ["--compare", "all"]),
                              (cls.scenarios, ["--what-if", "nic 9=0", "--what-if", "spine=4", "--sweep", "nicGBps=24,96"])):
            done = subprocess.run([cls.programs / "reshard-simulate", job, "--report", page, *options],
                                  capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
        cls.text = cls.page.read_text(encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()


class Report(WithReport):
    def test_the_page_is_whole_and_has_its_parts(self):
        page = Page()
        page.feed(self.text)
        page.close()
        self.assertEqual(page.faults, [])
        self.assertEqual(page.open, [])
        for part in ("summary", "comparison", "utilisation", "resources", "cluster", "rounds", "timeline"):
            self.assertIn(part, page.ids)
        self.assertEqual(page.tags.count("svg"), 4)
        self.assertGreaterEqual(page.tags.count("table"), 3)
        words = " ".join(page.texts)
        for word in ("domain 2 ingress", "lower bound", "predicted time", "NIC in", "over bound", "megatron", "predictions of a flow-level simulator"):
            self.assertIn(word, words)
        self.assertNotIn("{{", self.text)

    def test_scenarios_are_on_the_page(self):
        page = Page()
        page.feed(self.scenarios.read_text(encoding="utf-8"))
        page.close()
        self.assertEqual(page.faults, [])
        for part in ("summary", "what-if", "sweep", "utilisation"):
            self.assertIn(part, page.ids)
        self.assertNotIn("comparison", page.ids)
        self.assertEqual(page.tags.count("svg"), 5)
        self.assertEqual(page.texts.count("unchanged"), 2)
        words = " ".join(page.texts)
        for word in ("recompiled", "nic 9=0", "cannot run", "GPU 9: has no NIC", "spine=4", "nicGBps=24"):
            self.assertIn(word, words)

    def test_the_page_needs_nothing_but_itself(self):
        page = Page()
        page.feed(self.text)
        self.assertEqual(page.references, [])
        for tag in ("script", "link", "iframe", "img", "object"):
            self.assertNotIn(tag, page.tags)
        addresses = set(re.findall(r"https?://[^\s\"'<>]+", self.text))
        self.assertEqual(addresses, {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"})
        self.assertNotIn("url(", self.text)
        self.assertNotIn("@import", self.text)
        self.assertIn("width=device-width", self.text)
        self.assertIn("prefers-color-scheme: dark", self.text)


class ReportInBrowser(WithReport):
    def chromium(self, *arguments):
        profile = self.folder / "profile"
        done = subprocess.run(
            [self.browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={profile}", *arguments],
            capture_output=True, text=True, timeout=120)
        shutil.rmtree(profile, ignore_errors=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def test_a_browser_shows_it(self):
        for name, width in (("phone", PHONE), ("desk", DESK)):
            with self.subTest(name):
                picture = self.folder / f"{name}.png"
                self.chromium(f"--screenshot={picture}", f"--window-size={width},1600",
                              self.page.as_uri())
                _, height, colours = png_pixels(picture)
                self.assertGreater(height, 1000)
                self.assertGreater(colours, 50, "the page looks blank")

    def test_it_fits_a_phone_and_a_desk(self):
        self.fits(self.page, 4)

    def test_scenarios_fit_a_phone_and_a_desk(self):
        self.fits(self.scenarios, 5)

    def fits(self, page, drawings):
        # A page around it measures how wide it is, and what of it is seen.
        frame = self.folder / "frame.html"
        for width in (PHONE, DESK):
            frame.write_text(f"""<!DOCTYPE html><iframe width={width} height=900 style="border:0"
src="{page.as_uri()}" onload="const inner = this.contentDocument;
document.title = 'width ' + inner.documentElement.scrollWidth + ' drawings ' +
[...inner.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().height > 100).length">
</iframe>""")
            shown = self.chromium("--allow-file-access-from-files", "--dump-dom",
                                  "--virtual-time-budget=5000", frame.as_uri())
            self.assertIn(f"<title>width {width} drawings {drawings}</title>", shown)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    WithReport.programs = pathlib.Path(arguments.programs).resolve()
    WithReport.source = pathlib.Path(arguments.source).resolve()
    WithReport.keep = pathlib.Path(arguments.keep).resolve() if arguments.keep else None
    WithReport.browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if arguments.browser and WithReport.browser is None:
        print("skipped: no Chromium is installed, so no browser has opened the report")
        sys.exit(77)
    unittest.main(argv=["report_test.py",
                        "ReportInBrowser" if arguments.browser else "Report"])
