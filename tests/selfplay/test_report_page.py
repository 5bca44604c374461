"""Pages about runs: what stands on them, whatever state the run is in, in a browser and from a server."""

import html
import json
import re
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from games.config import GameConfig
from selfplay.__main__ import compare
from selfplay.config import InitialConfig
from selfplay.recorded import FORMAT
from selfplay.report import serve
from selfplay.report.__main__ import main
from selfplay.report.charts import charts
from selfplay.report.contents import Logged, read_run, seconds_by_stage
from selfplay.report.deals import sample_deals
from selfplay.report.page import page, sample, write_comparison, write_page
from selfplay.report.serve import LivePage, server
from selfplay.run_directory import RunDirectory
from tests.learner.material import flip
from tests.search.browsers import launched, needs_chromium
from tests.selfplay import material
from tests.selfplay.material import remove, tiny_config


def state(run: Path, stage: str) -> None:
    """Let a run be in this stage of iteration 2."""
    RunDirectory(str(run)).write_state(2, stage)


def without_plotly(text: str) -> str:
    return re.sub(r"<script>/\*\*.*?</script>", "", text, flags=re.DOTALL)


def text_of(path: str | Path) -> str:
    """What people read on a page, entities resolved, its long script left out."""
    return html.unescape(without_plotly(Path(path).read_text(encoding="utf-8")))


# ---- what stands on a page


def test_a_page_has_curves_tables_deals_settings_and_asks_no_network_for_anything(copy: Path) -> None:
    shutil.copy(copy / "results/tournament.json", copy / "iterations/001/gate.json")
    written = write_page(str(copy), deals=2)
    assert written == f"{copy}/results/report.html"
    raw = without_plotly(Path(written).read_text(encoding="utf-8"))
    keys = ["curve", "losses", "illegal", "rates", "idle", "time"]
    assert re.findall(r'<figure id="chart-(\w+)">', raw) == keys
    for wanted in ("finished: iterations 0 to 2", "imitation (A)", "95 % interval", "Wilcoxon p", "<h2>Gate</h2>"):
        assert wanted in raw
    assert raw.count('<article class="deal"') == 2 and "selfplay.games_per_iteration" in raw
    assert not re.search(r'(src|href)="(?!#)', raw) and "default-src 'none'" in raw and "connect-src" not in raw


def test_the_curve_has_points_intervals_and_iterations_of_the_tournaments(finished: Path) -> None:
    run = read_run(str(finished))
    (curve, *_) = charts({"x": run})
    (trace,) = json.loads(curve.json)["data"]
    pairs = [run.curve[i][0].columns[-1].comparisons[0] for i in (0, 1, 2)]
    assert trace["x"] == [0, 1, 2] and trace["y"] == [pair.advantage for pair in pairs]
    assert trace["name"] == "argmax_val against random, 2 deals"


def test_time_counts_for_the_stage_that_logs_and_not_while_nobody_works() -> None:
    log = [
        Logged(0, 100.0, {"iteration": 0}),
        Logged(8, 103.0, {"games_total": 8, "decisions_total": 9}),  # its step is the games of the run
        Logged(0, 104.0, {"games_per_second": 2, "decisions_per_second": 3}),
        Logged(20, 110.0, {"loss": 2.0}),
        Logged(0, 5000.0, {"iteration": 0}),  # the run was resumed
        Logged(20, 5002.0, {"loss": 2.0}),
        Logged(0, 5003.0, {"evaluator_decisions_per_second": 7}),
        Logged(1, 5003.0, {"iteration": 1}),
        Logged(40, 5006.0, {"loss": 1.0}),
        Logged(40, 5007.0, {"validation_loss": 1.0}),
    ]
    assert seconds_by_stage(log) == {0: {"self-play": 4.0, "training": 8.0, "tournaments": 1.0}, 1: {"training": 4.0}}


def test_deals_are_the_same_every_time_and_tell_policy_values_and_visits(finished: Path) -> None:
    run = read_run(str(finished))
    (deal,) = sample_deals(run, 1, searched=1)
    assert sample_deals(run, 1)[0].seed == deal.seed
    expected = [step.expected for step in deal.steps]
    decisions = [step for step, network in zip(deal.steps, expected, strict=True) if network and network.actions]
    assert len(decisions) >= 13 and len(deal.steps) >= 54
    for step in decisions:
        actions = step.expected.actions if step.expected else ()
        assert sum(hint.probability for hint in actions) == pytest.approx(1, abs=1e-5)
        assert [hint.token for hint in actions].count(step.came) == 1 and len(step.chosen) == step.scene.needed
        assert bool(step.visits) == (len(actions) > 1) and step.visits.keys() <= {hint.token for hint in actions}
        assert not step.visits or sum(each.visits for each in step.visits.values()) > 0
    assert all(network and network.next_tokens for network in expected[:-1]) and expected[-1] is None


def page_about(game: str, directory: Path, deals: int) -> str:
    """What stands on the page of a run of another game that nobody has measured, but for the end."""
    config = tiny_config(str(directory))
    config.game, config.selfplay.initial, config.selfplay.iterations = GameConfig(game), InitialConfig(), 0
    config.learner.loss.outcome_positions, config.evaluation.curve = 2, []
    material.run(config)
    return text_of(write_page(config.run.dir, deals=deals))


@pytest.mark.slow
def test_a_game_without_cards_is_told_in_words(tmp_path: Path) -> None:
    text = page_about("openspiel:leduc_poker", tmp_path, deals=1)
    assert '<pre class="table">' in text and 'id="chart-curve"' not in text


@pytest.mark.slow
def test_skat_is_drawn_as_a_table_of_three_with_the_words_of_the_auction(tmp_path: Path) -> None:
    text = page_about("skat", tmp_path, deals=3)
    assert text.count('class="table seats-3"') > 30 and '<pre class="table">' not in text
    for wanted in ("forehand", "The auction begins", "Your hand</span>: <span", "(+", "by games and seats"):
        assert wanted in text
    assert '<span class="word chosen"' in text


# ---- runs that are unfinished, damaged, or none


def test_a_run_that_has_just_begun_says_what_is_missing(copy: Path) -> None:
    remove(*(copy / name for name in ("iterations", "results", "metrics.jsonl", "state.json")))
    text = text_of(write_page(str(copy)))
    for wanted in ("not begun", "Nothing has been measured yet", "have not been played", "There is no network"):
        assert wanted in text


def test_an_unfinished_iteration_shows_what_has_been_logged_and_the_network_before_it(copy: Path) -> None:
    remove(copy / "iterations/002/checkpoint", copy / "iterations/002/metrics.json")
    state(copy, "train")
    with (copy / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "ti')  # being written
    text = text_of(write_page(str(copy), deals=1))
    assert "iteration 2 of 2, train" in text and "under way, or stopped" in text and "of iteration 1 in" in text
    assert "cannot be read" not in text


def test_damaged_files_are_named_and_the_rest_is_shown(copy: Path) -> None:
    (copy / "metrics.jsonl").write_bytes(b"\xa0{}\n" + (copy / "metrics.jsonl").read_bytes())
    (copy / "results/tournament.json").write_text("[{")
    (copy / "iterations/001/tournament.json").write_text('[{"format": 2}]')
    flip(copy / "iterations/002/checkpoint/model.safetensors")
    text = text_of(write_page(str(copy)))
    for wanted in (
        "metrics.jsonl: 1 of its lines cannot be read",
        "results/tournament.json: cannot be read",
        "001/tournament.json: cannot be read",
        "The network of iteration 2 cannot play",
    ):
        assert wanted in text
    assert "chart-curve" in text and "model.safetensors" in text


def test_names_from_files_are_never_markup(copy: Path) -> None:
    evil = copy.rename(copy.with_name("<u>run<script>alert(1)<"))
    path = evil / "iterations/000/tournament.json"
    path.write_text(path.read_text().replace("argmax_val", "<img src=x onerror=alert(2)>"))
    state(evil, "</script><q>")
    raw = without_plotly(Path(write_page(str(evil), deals=0)).read_text(encoding="utf-8"))
    assert not re.search(r"<(u|q|img|script>alert)\b", raw)
    assert "\\u0026lt;img" in raw or "&lt;img" in raw


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-directory"], "no-such-directory: no run lies there"),
        (["{shards}"], "no run lies there"),
        (["{run}", "--deals", "-1"], "--deals -1: must be at least 0"),
        (["{run}", "--out", "{run}"], "is a directory; name the file"),
        (["{run}", "--out", "/proc/nowhere/page.html"], "/proc/nowhere"),
        (["{run}", "--serve", "--port", "70000"], "--port 70000: must be at most 65535"),
        (["{run}", "{run}", "--serve"], "--serve shows one run"),
        (["{run}", "{run}", "--player", "imitation"], "--game and --player say who plays the deals of one run"),
        (["ftp://host/run"], "ftp://host/run"),
    ],
)
def test_bad_input_is_one_line(arguments, message, finished, tmp_path, capsys) -> None:
    (tmp_path / "config.yaml").write_text(f"format: {FORMAT}\ngame: {{name: hearts}}\nout: x\ngames: 3\n")
    assert main([argument.format(run=finished, shards=tmp_path) for argument in arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1 and printed.out == ""


# ---- several runs


def test_a_comparison_has_every_run_also_those_that_failed(copy: Path, finished: Path, tmp_path: Path) -> None:
    settings = (copy / "config.yaml").read_text()
    (copy / "config.yaml").write_text(settings.replace("learning_rate: 0.001", "learning_rate: 0.25"))
    state(copy, "train")
    (tmp_path / "failed").mkdir()
    text = text_of(write_comparison([str(copy), str(finished), f"{tmp_path}/failed"], str(tmp_path / "c.html")))
    assert "<td>learner.learning_rate</td><td>0.25</td><td>0.001</td>" in text and "3 runs" in text
    assert "under way, or stopped" in text and "cannot be read" in text and "failed: no run lies there" in text
    assert "copy: argmax_val against random" in text and "finished: argmax_val against random" in text


def test_the_page_of_a_sweep_has_a_line_for_a_point_without_a_directory(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    shutil.copytree(finished, tmp_path / "sweep/begun")
    compare(f"{tmp_path}/sweep/", [f"{tmp_path}/sweep/begun", f"{tmp_path}/sweep/refused"])
    text = text_of(f"{tmp_path}/sweep/comparison.html")
    assert "2 runs" in text and "refused" in text and "cannot be read" in text


# ---- in a browser


@pytest.fixture
def window() -> Iterator[Any]:
    """A page of a browser, 1200 pixels wide."""
    with launched() as browser:
        yield browser.new_page(viewport={"width": 1200, "height": 900})


@pytest.mark.slow
@needs_chromium
def test_a_browser_draws_the_charts_and_shows_the_step_that_the_address_names(finished, tmp_path, window) -> None:
    run = read_run(str(finished))
    sampled = sample(run, 2, 0)
    path = tmp_path / "browser.html"
    path.write_text(page(run, sampled), encoding="utf-8")
    window.goto(f"file://{path}#deal=2&step=5")
    step = sampled.deals[1].steps[4]
    assert window.locator("#where").inner_text() == f"5 / {len(sampled.deals[1].steps)}"
    words = " ".join(window.locator("section.step:visible").first.text_content().split())
    assert step.scene.title in words and all(name in words for name in ("You", "West", "North", "East"))
    assert step.expected is not None and f"V(h) {step.expected.value:+.3f}" in words
    assert window.locator("article.deal:visible").count() == 1 and window.locator("svg.main-svg").count() >= 5
    for width in (500, 1200):
        window.set_viewport_size({"width": width, "height": 900})
        window.reload()
        assert window.evaluate("document.documentElement.scrollWidth") <= width, "something lies beside the window"


# ---- live


@contextmanager
def served(live: LivePage) -> Iterator[str]:
    """The address of a server of this page."""
    with server(live, 0) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}"
        finally:
            serving.shutdown()
            thread.join()


@pytest.mark.slow
@needs_chromium
def test_an_open_page_reloads_when_the_run_has_gone_on_and_stays_at_its_step(copy: Path, window) -> None:
    with served(LivePage(str(copy), deals=1, searched=0)) as address:
        window.goto(f"{address}/#deal=1&step=9")
        assert "gone on" not in window.inner_text("body")
        state(copy, "gone on")
        window.get_by_text("iteration 2 of 2, gone on").wait_for()
        window.get_by_text(re.compile(r"^9 / ")).wait_for()  # the script writes it once the charts are drawn


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def test_the_files_of_a_run_are_read_again_only_where_one_has_changed(copy: Path, monkeypatch) -> None:
    read = list[str]()
    monkeypatch.setattr(serve, "read_run", lambda root: (read.append(root), read_run(root))[1])
    live = LivePage(str(copy), deals=0, searched=0)
    first = live.version()
    assert live.version() == first and len(read) == 1
    (copy / "iterations/001/shards/new.parquet").write_bytes(b"1")
    assert live.version() == first and len(read) == 2
    state(copy, "train")
    assert live.version() != first and len(read) == 3


def test_a_served_page_changes_with_the_run(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(LivePage(str(copy), deals=0, searched=0)) as address:
        version = get(f"{address}/version")
        assert f'data-version="{version}"' in get(address) and get(f"{address}/version") == version
        state(copy, "train")
        assert get(f"{address}/version") != version and "iteration 2 of 2, train" in get(address)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(f"{address}/config.yaml")
        port = address.rpartition(":")[2]
        assert main([str(copy), "--serve", "--port", port]) == 2
        assert f"--port {port}: " in capsys.readouterr().err
        shutil.rmtree(copy)
        with pytest.raises(urllib.error.HTTPError, match="500"):
            get(address)
