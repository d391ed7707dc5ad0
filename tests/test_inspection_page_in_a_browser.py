"""The page in a real browser: text stays within its box, nothing runs off the page, on wide and narrow screens.

Only a browser knows how wide text is. The page runs no script itself; the tests put one in that measures.
"""

import json
import re
import shutil
import subprocess

import pytest

from batches import Op, batches
from pages import page_of

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no browser here; install chromium to run these")

LONG = "scan kafka clicks -> mapInPandas enrich_with_everything_there_is_to_know -> count by campaign, window"
OPERATORS = {
    LONG: Op([12_345_678] * 2, per_record=0.001),
    "W" * 60: Op([300, 100], feeders=(LONG,), homes=["0", "0"], state=(123_456_789, 98_765_432_100)),
    "日本語の演算子の名前はここにあります": Op([10, 20], feeders=("W" * 60, LONG)),
}

MEASURE = """<script>
const outside = [];
for (const box of document.querySelectorAll("g.operator")) {
  const frame = box.querySelector("rect").getBBox();
  for (const text of box.querySelectorAll("text")) {
    const words = text.getBBox();
    if (words.x + words.width > frame.x + frame.width || words.y + words.height > frame.y + frame.height)
      outside.push(text.textContent);
  }
}
for (const svg of document.querySelectorAll("figure svg")) {
  const whole = svg.viewBox.baseVal, drawn = svg.getBBox();
  const right = drawn.x + drawn.width, bottom = drawn.y + drawn.height;
  if (drawn.x < -1 || drawn.y < -1 || right > whole.width + 1 || bottom > whole.height + 1)
    outside.push(svg.getAttribute("aria-label"));
}
document.title = "measured " + JSON.stringify({
  outside, tasks: document.querySelectorAll("rect.task").length,
  wide: document.documentElement.scrollWidth, seen: window.innerWidth,
}) + " measured";
</script>"""


def measured(html, tmp_path, width):
    """What the script found, on a screen of this width."""
    without_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    file = tmp_path / "page.html"
    file.write_text(without_policy.replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
    ran = subprocess.run(
        [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         f"--window-size={width},1000", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return json.loads(re.search(r"measured (\{.*?\}) measured", ran.stdout)[1].replace("&quot;", '"'))


@pytest.mark.parametrize("width", [1100, 500])
def test_text_stays_in_its_box_and_nothing_runs_off_the_page(tmp_path, width):
    found = measured(page_of(batches(5, OPERATORS, slots=(2, 2))), tmp_path, width)
    assert found["outside"] == []
    assert found["tasks"] == 6
    assert found["wide"] <= found["seen"]
